import type { CommandGroup, Operand, Option } from "../command.ts";
import { klusterletOptions } from "../agent/klusterlet-options.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../server-options.ts";

const clusters: Operand = {
  name: "CLUSTER",
  required: true,
  many: true,
  description: "the name of a managed cluster",
};

function timeout(value: string, description: string): Option {
  return { name: "timeout", kind: "duration", value: "DURATION", default: value, description };
}

const placesInCluster: ReadonlySet<string> = new Set(["cluster-name", "namespace", "external-server"]);

/** `pratique cluster …`. */
export const clusterCommands: CommandGroup = {
  name: "cluster",
  summary: "Managed clusters: clusters that join this hub as a machine does",
  commands: [
    {
      name: "cluster token",
      summary: "Write the kubeconfig with which a cluster asks to join",
      details: [
        "The identity in it may create requests and see them, and nothing else; accepting the cluster takes two decisions of approvers. It is tried before the command ends.",
        "With --clusters a rule is printed by which a hub lets this identity join those clusters without a person, and no others; see docs/managed-clusters.md.",
      ],
      operands: [],
      options: [
        {
          name: "bootstrap-kubeconfig",
          kind: "text",
          value: "FILE",
          default: "bootstrap.kubeconfig",
          completes: "file",
          description: "the file to write, readable by you only; - prints it",
        },
        { name: "ttl", kind: "duration", value: "DURATION", default: "1h", description: "how long the identity lives" },
        {
          name: "identity",
          kind: "text",
          value: "KIND",
          choices: ["bootstrap-token", "service-account"],
          default: "bootstrap-token",
          description:
            "a bootstrap token of its own, which can be taken back alone, or a token of the ServiceAccount that Open Cluster Management uses",
        },
        {
          name: "clusters",
          kind: "list",
          value: "NAMES",
          description: "names of clusters, or patterns with one *, to print a rule for",
        },
        {
          name: "server",
          kind: "text",
          value: "URL",
          description: "the address at which spokes reach the hub (default: that of your kubeconfig)",
        },
        { name: "force", kind: "boolean", default: "false", description: "replace the file where there is one" },
        ...serverOptions,
      ],
      examples: [
        { note: "for one hour", line: "cluster token --bootstrap-kubeconfig east.kubeconfig" },
        {
          note: "for a day, at an address that spokes reach, for one cluster",
          line: "cluster token --ttl 24h --server https://hub.example:6443 --clusters east",
        },
      ],
      run: async (args, io) => (await import("./cluster-token.ts")).clusterToken(args, io),
    },
    {
      name: "cluster join",
      summary: "Let this cluster join a hub: wait for both decisions and until it is available",
      details: [
        "Key and agent id are made here and kept before the hub hears of them. It shows what it waits for, with the commands that approvers on the hub type; if it is interrupted, the same command resumes.",
        "It does not stay: `pratique klusterlet` with the same options keeps the cluster joined, and may be started at once instead.",
      ],
      operands: [],
      options: [
        ...klusterletOptions,
        timeout("15m", "how long to wait for both decisions and the cluster's health"),
        outputOption,
      ],
      examples: [
        {
          note: "for a cluster with an API",
          line: "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
        },
        {
          note: "for a machine that has none",
          line: "cluster join --bootstrap-kubeconfig bootstrap.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
        },
      ],
      run: async (args, io) => (await import("./cluster-join.ts")).clusterJoin(args, io),
    },
    {
      name: "cluster agent",
      summary: "Print what the agent needs to run in this cluster, for kubectl apply -f -",
      details: [
        "Namespace, account, rights and a Deployment of one `pratique klusterlet`. Its rights are to see the API's health, version, nodes and claims, and to write two Secrets that are made here, empty; applying them again empties nothing.",
        "The first credential is Secret bootstrap-hub-kubeconfig, which can be deleted once the cluster has joined. Without --bootstrap-kubeconfig make it: kubectl create secret generic bootstrap-hub-kubeconfig --from-file=kubeconfig=FILE",
      ],
      operands: [],
      options: [
        {
          name: "bootstrap-kubeconfig",
          kind: "text",
          value: "FILE",
          completes: "file",
          description: "print that Secret as well, with this file, as `pratique cluster token` writes it: a secret",
        },
        ...klusterletOptions.filter(({ name }) => placesInCluster.has(name)),
        {
          name: "image",
          kind: "text",
          value: "IMAGE",
          default: "pratique:latest",
          description: "the container image, whose entry point is pratique",
        },
        {
          name: "managed-namespaces",
          kind: "boolean",
          default: "false",
          description: "let the agent make and label the namespaces that sets of the hub want on their clusters",
        },
        {
          name: "no-workloads",
          kind: "boolean",
          default: "false",
          description: "print no Deployment: the agent runs elsewhere, with this account",
        },
      ],
      examples: [
        {
          note: "install",
          line: "cluster agent --cluster-name east --bootstrap-kubeconfig east.kubeconfig | kubectl apply -f -",
        },
      ],
      run: async (args, io) => (await import("./cluster-agent.ts")).clusterAgent(args, io),
    },
    {
      name: "cluster accept",
      summary: "Approve the certificate of the agent and accept the cluster",
      details: [
        "Waits for the agent to ask, does both halves, and waits until the agent has come in. A user who may do only one half does that one, and sees who may do the other.",
        "Where the requests leave room for doubt nothing is done: several agents ask in one name, the name belongs to a cluster that has an agent, or the requester is not the one to be expected. Compare the id that the agent shows, and give it as --agent-id.",
      ],
      operands: [clusters],
      options: [
        {
          name: "agent-id",
          kind: "text",
          value: "ID",
          description: "approve the certificate of this agent only, as it shows its id",
        },
        {
          name: "request",
          kind: "text",
          value: "CSR",
          description: "approve this request only, where one agent asked with several keys",
        },
        timeout("5m", "how long to wait for the agent to ask and to come in, for each cluster"),
        {
          name: "wait",
          kind: "boolean",
          default: "true",
          description: "wait for the agent; with --wait=false what is missing is an error",
        },
        ...serverOptions,
      ],
      examples: [
        { note: "once the id is compared", line: "cluster accept east --agent-id x7k2p" },
        { note: "several", line: "cluster accept east west" },
      ],
      run: async (args, io) => (await import("./cluster-accept.ts")).clusterAccept(args, io),
    },
    {
      name: "cluster deny",
      summary: "Deny managed clusters and their pending certificate requests",
      details: [
        "Rights go at once; on a hub of ours the certificates of its agents are revoked as well. A cluster that never was accepted stays registered: detach removes it.",
      ],
      operands: [clusters],
      options: [
        { name: "reason", kind: "text", value: "REASON", description: "why, for people; the requester sees it" },
        timeout("1m", "how long to wait until the hub has taken the rights back"),
        ...serverOptions,
      ],
      examples: [{ note: "with a reason", line: "cluster deny east --reason 'unknown agent'" }],
      run: async (args, io) => (await import("./cluster-deny.ts")).clusterDeny(args, io),
    },
    {
      name: "cluster list",
      summary: "List the managed clusters: which are accepted, their health, their last heartbeat",
      details: [],
      operands: [],
      options: [outputOption, ...serverOptions],
      examples: [],
      run: async (args, io) => (await import("./cluster-list.ts")).clusterList(args, io),
    },
    {
      name: "cluster detach",
      summary: "Take clusters off the hub, with all that belongs to them there",
      details: [
        "Add-ons and works go first, which the spoke has to let go of; the hub waits five minutes for it. --force waits for nothing, for a spoke that is gone for good: what it holds is left behind there.",
      ],
      operands: [clusters],
      options: [
        { name: "force", kind: "boolean", default: "false", description: "do not wait for the spoke" },
        timeout("6m", "how long to wait until nothing is left; it goes on without waiting"),
        ...serverOptions,
      ],
      examples: [{ note: "one whose machines were scrapped", line: "cluster detach east --force" }],
      run: async (args, io) => (await import("./cluster-detach.ts")).clusterDetach(args, io),
    },
  ],
};
