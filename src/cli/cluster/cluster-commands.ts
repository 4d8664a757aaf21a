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
      summary: "Write the kubeconfig with which a cluster asks to join",
      details: [
        "The identity in it may create requests and see them, and nothing else; accepting the cluster takes two decisions of approvers. It is tried before the command ends.",
        "With --clusters a rule is printed by which a hub lets this identity join those clusters without a person, and no others; see docs/managed-clusters.md.",
      ],
      options: [
        ...defineOptions({
          "--bootstrap-kubeconfig FILE = bootstrap.kubeconfig": "the file to write, readable by you only; - prints it",
          "--ttl DURATION = 1h": "how long the identity lives",
          "--identity KIND = bootstrap-token": {
            choices: ["bootstrap-token", "service-account"],
            description:
              "a bootstrap token of its own, which can be taken back alone, or a token of the ServiceAccount that Open Cluster Management uses",
          },
          "--clusters NAMES...": "names of clusters, or patterns with one *, to print a rule for",
          "--server URL": "the address at which spokes reach the hub (default: that of your kubeconfig)",
          "--force": "replace the file where there is one",
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
      summary: "Let this cluster join a hub: wait for both decisions and until it is available",
      details: [
        "Key and agent id are made here and kept before the hub hears of them. It shows what it waits for, with the commands that approvers on the hub type; if it is interrupted, the same command resumes.",
        "It does not stay: `pratique klusterlet` with the same options keeps the cluster joined, and may be started at once instead.",
      ],
      options: [
        ...klusterletOptions,
        ...timeout("15m", "how long to wait for both decisions and the cluster's health"),
        outputOption,
      ],
      examples: {
        "for a cluster with an API":
          "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
        "for a machine that has none":
          "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
      },
      run: async (args, io) => (await import("./cluster-join.ts")).clusterJoin(args, io),
    }),
    defineCommand({
      name: "cluster agent",
      summary: "Print what the agent needs to run in this cluster, for kubectl apply -f -",
      details: [
        "Namespace, account, rights and a Deployment of one `pratique klusterlet`. Its rights are to see the API's health, version, nodes and claims, and to write two Secrets that are made here, empty; applying them again empties nothing.",
        "The first credential is Secret bootstrap-hub-kubeconfig, which can be deleted once the cluster has joined. Without --bootstrap-kubeconfig make it: kubectl create secret generic bootstrap-hub-kubeconfig --from-file=kubeconfig=FILE",
      ],
      options: [
        ...defineOptions({
          "--bootstrap-kubeconfig FILE":
            "print that Secret as well, with this file, as `pratique cluster token` writes it: a secret",
        }),
        ...klusterletOptions.filter(({ name }) => placesInCluster.has(name)),
        ...defineOptions({
          "--image IMAGE = pratique:latest": "the container image, whose entry point is pratique",
          "--managed-namespaces":
            "let the agent make and label the namespaces that sets of the hub want on their clusters",
          "--no-workloads": "print no Deployment: the agent runs elsewhere, with this account",
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
        "Waits for the agent to ask, does both halves, and waits until the agent has come in. A user who may do only one half does that one, and sees who may do the other.",
        "Where the requests leave room for doubt nothing is done: several agents ask in one name, the name belongs to a cluster that has an agent, or the requester is not the one to be expected. Compare the id that the agent shows, and give it as --agent-id.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({
          "--agent-id ID": "approve the certificate of this agent only, as it shows its id",
          "--request CSR": "approve this request only, where one agent asked with several keys",
        }),
        ...timeout("5m", "how long to wait for the agent to ask and to come in, for each cluster"),
        ...defineOptions({ "--wait = true": "wait for the agent; with --wait=false what is missing is an error" }),
        ...serverOptions,
      ],
      examples: {
        "once the id is compared": "cluster accept east --agent-id x7k2p",
        several: "cluster accept east west",
      },
      run: async (args, io) => (await import("./cluster-accept.ts")).clusterAccept(args, io),
    }),
    defineCommand({
      name: "cluster deny",
      summary: "Deny managed clusters and their pending certificate requests",
      details: [
        "Rights go at once; on a hub of ours the certificates of its agents are revoked as well. A cluster that never was accepted stays registered: detach removes it.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({ "--reason REASON": "why, for people; the requester sees it" }),
        ...timeout("1m", "how long to wait until the hub has taken the rights back"),
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
      summary: "Take clusters off the hub, with all that belongs to them there",
      details: [
        "Add-ons and works go first, which the spoke has to let go of; the hub waits five minutes for it. --force waits for nothing, for a spoke that is gone for good: what it holds is left behind there.",
      ],
      operands: [clusters],
      options: [
        ...defineOptions({ "--force": "do not wait for the spoke" }),
        ...timeout("6m", "how long to wait until nothing is left; it goes on without waiting"),
        ...serverOptions,
      ],
      examples: { "one whose machines were scrapped": "cluster detach east --force" },
      run: async (args, io) => (await import("./cluster-detach.ts")).clusterDetach(args, io),
    }),
  ],
};
