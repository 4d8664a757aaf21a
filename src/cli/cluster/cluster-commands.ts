import { type CommandGroup, defineCommand, defineOptions, type Operand, type Option } from "../command.ts";
import { klusterletOptions } from "../agent/agent-commands.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const clusters: Operand = {
  name: "CLUSTER",
  required: true,
  many: true,
  description: "the name of a managed cluster",
};

function timeout(value: string, description: string): readonly Option[] {
  return defineOptions({ [`--timeout DURATION = ${value}`]: description });
}

const placesInCluster: ReadonlySet<string> = new Set(["cluster-name", "namespace", "external-server"]);

/** `pratique cluster …`. */
export const clusterCommands: CommandGroup = {
  name: "cluster",
  summary: "Managed clusters: clusters that join this hub as a machine does",
  commands: [
    defineCommand({
      name: "cluster token",
      summary: "Write the bootstrap kubeconfig with which a cluster requests to join",
      details: [
        "The identity in the file may only create and read requests; approvers must approve and accept the cluster. The command tries the identity before it ends.",
        "With --clusters the command prints a rule for automatic approval of these clusters by this identity; see docs/managed-clusters.md.",
      ],
      options: [
        ...defineOptions({
          "--bootstrap-kubeconfig FILE = bootstrap.kubeconfig": "the file to write, readable by you only; - prints it",
          "--ttl DURATION = 1h": "the lifetime of the identity",
          "--identity KIND = bootstrap-token": {
            choices: ["bootstrap-token", "service-account"],
            description:
              "a new bootstrap token, which can be revoked alone, or a token of the ServiceAccount that Open Cluster Management uses",
          },
          "--clusters NAMES...": "names of clusters, or patterns with one *, to print a rule for",
          "--server URL": "the address at which spokes reach the hub (default: that of your kubeconfig)",
          "--force": "replace an existing file",
        }),
        ...serverOptions,
      ],
      examples: {
        "for one hour": "cluster token --bootstrap-kubeconfig east.kubeconfig",
        "for a day, at an address that spokes reach, for one cluster":
          "cluster token --ttl 24h --server https://hub.example:6443 --clusters east",
      },
      run: async (args, io) => (await import("./cluster-token.ts")).clusterToken(args, io),
    }),
    defineCommand({
      name: "cluster join",
      summary: "Join this cluster to a hub; wait until it is approved, accepted and available",
      details: [
        "The command generates key and agent id and stores them before it sends a request. It prints what it waits for and which commands the approvers type on the hub. If it is interrupted, run the same command again to resume.",
        "Afterwards run `pratique klusterlet` with the same options, which renews the lease and the certificate. You may also start it at once instead of this command.",
      ],
      options: [
        ...klusterletOptions,
        ...timeout("15m", "the maximum time to wait until the cluster is approved, accepted and available"),
        outputOption,
      ],
      examples: {
        "for a cluster with an API":
          "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
        "for a machine without an API":
          "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
      },
      run: async (args, io) => (await import("./cluster-join.ts")).clusterJoin(args, io),
    }),
    defineCommand({
      name: "cluster agent",
      summary: "Print the manifests of the agent for this cluster, for kubectl apply -f -",
      details: [
        "The output contains namespace, ServiceAccount, rights and a Deployment of one `pratique klusterlet`. The agent may read the API's health, version, nodes and claims, and write two Secrets, which the output contains without data; applying it again keeps their data.",
        "The bootstrap credential is Secret bootstrap-hub-kubeconfig, which can be deleted once the cluster has joined. Without --bootstrap-kubeconfig create it: kubectl create secret generic bootstrap-hub-kubeconfig --from-file=kubeconfig=FILE",
      ],
      options: [
        ...defineOptions({
          "--bootstrap-kubeconfig FILE":
            "print that Secret as well, with this file of `pratique cluster token`; the output is then secret",
        }),
        ...klusterletOptions.filter(({ name }) => placesInCluster.has(name)),
        ...defineOptions({
          "--image IMAGE = pratique:latest": "the container image, whose entry point is pratique",
          "--managed-namespaces": "let the agent create and label the namespaces that cluster sets of the hub request",
          "--no-workloads": "omit the Deployment: the agent runs elsewhere, with this account",
        }),
      ],
      examples: {
        install: "cluster agent --cluster-name east --bootstrap-kubeconfig east.kubeconfig | kubectl apply -f -",
      },
      run: async (args, io) => (await import("./cluster-agent.ts")).clusterAgent(args, io),
    }),
    defineCommand({
      name: "cluster accept",
      summary: "Approve the certificate of the agent and accept the cluster",
      details: [
        "The command waits for the request of the agent, approves its certificate, accepts the cluster, and waits until the agent has connected. If you may make only one of the two decisions, it makes that one and says which role the other one needs.",
        "The command changes nothing if several agents request one name, if the cluster has an agent already, or if the requester is not the expected one. Compare the id that the agent prints, and give it as --agent-id.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({
          "--agent-id ID": "approve the certificate of the agent with this id only",
          "--request CSR": "approve this certificate request only, if an agent has sent several keys",
        }),
        ...timeout("5m", "the maximum time to wait for the request and the connection of the agent, for each cluster"),
        ...defineOptions({ "--wait = true": "wait for the agent; with --wait=false a missing request is an error" }),
        ...serverOptions,
      ],
      examples: {
        "after comparing the agent id": "cluster accept east --agent-id x7k2p",
        several: "cluster accept east west",
      },
      run: async (args, io) => (await import("./cluster-accept.ts")).clusterAccept(args, io),
    }),
    defineCommand({
      name: "cluster deny",
      summary: "Deny managed clusters and their pending certificate requests",
      details: [
        "The hub removes the rights of the cluster at once; a hub of Pratique also revokes the certificates of its agents. The ManagedCluster stays; `cluster detach` deletes it.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({ "--reason REASON": "the reason; the requester sees it" }),
        ...timeout("1m", "the maximum time to wait until the hub has removed the rights"),
        ...serverOptions,
      ],
      examples: { "with a reason": "cluster deny east --reason 'unknown agent'" },
      run: async (args, io) => (await import("./cluster-deny.ts")).clusterDeny(args, io),
    }),
    defineCommand({
      name: "cluster list",
      summary: "List the managed clusters: which are accepted, their health, their last heartbeat",
      options: [outputOption, ...serverOptions],

      run: async (args, io) => (await import("./cluster-list.ts")).clusterList(args, io),
    }),
    defineCommand({
      name: "cluster detach",
      summary: "Delete managed clusters from the hub with all objects that belong to them",
      details: [
        "The hub deletes add-ons and works first and waits five minutes for the spoke to release them. --force skips the wait, for a spoke that no longer exists; its objects stay on the spoke.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({ "--force": "do not wait for the spoke" }),
        ...timeout("6m", "the maximum time to wait until everything is deleted; the hub continues afterwards"),
        ...serverOptions,
      ],
      examples: { "a cluster that no longer exists": "cluster detach east --force" },
      run: async (args, io) => (await import("./cluster-detach.ts")).clusterDetach(args, io),
    }),
  ],
};
