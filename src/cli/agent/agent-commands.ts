import { type Command, defineCommand, defineOptions, type Operand, type Option } from "../command.ts";
import { logOptions } from "../shared-options.ts";
import { outputOption } from "../output.ts";

/** For every command about kept credentials. */
const agentFolders = defineOptions({
  "--dir DIR...":
    "where `pratique request` or `pratique join` has put them; everything up to two folders below counts too, and there may be several (default: /var/lib/pratique for root, else ~/.pratique)",
});

/** Where the hub is. */
const hubOperand: Operand = {
  name: "HOST:PORT|URL",
  required: false,
  many: false,
  description: "where the hub is; not with --discovery-file or --bootstrap-kubeconfig, which say so themselves",
};

/** How a hub is found and proven, for every command that joins. */
const discoveryOptions = defineOptions({
  "--token TOKEN": "the bootstrap token; --token-file is the better place for it",
  "--token-file FILE": "a file that holds the bootstrap token and nothing else; - for standard input",
  "--discovery-token-ca-cert-hash PIN...": "sha256:<hex> of the public key of the hub's CA; may be given several times",
  "--discovery-token-unsafe-skip-ca-verification":
    "trust any server that knows the token, without a pin: another holder of the token could pose as the hub",
  "--discovery-file FILE|URL": "a kubeconfig that vouches for the hub, as a file or at an https:// URL",
  "--bootstrap-kubeconfig FILE": "a kubelet's bootstrap kubeconfig: address, CA and credential",
});

/** Where the hub is and what the cluster is, for every command that works as a cluster's agent. */
export const klusterletOptions: readonly Option[] = defineOptions({
  "--bootstrap-kubeconfig FILE...":
    "address, CA and first credential of the hub, as `pratique cluster token` writes it; with several, the next hub is taken when one fails or denies",
  "--cluster-name NAME": "the name of this cluster on the hub (default: a random one, kept)",
  "--spoke-kubeconfig FILE": "the API of this cluster, where it has one: its health, size and claims are reported",
  "--namespace NAMESPACE = open-cluster-management-agent": "where in this cluster Secret hub-kubeconfig-secret is kept",
  "--dir DIR":
    "where key and certificate are kept without --spoke-kubeconfig, and laid out as well with it (default without: /var/lib/pratique/klusterlet for root, else ~/.pratique/klusterlet)",
  "--external-server URL...": "where the API of this cluster can be reached from outside, for the hub to know",
  "--certificate-duration DURATION": "how long certificates shall last, 1h or more (default: as the hub decides)",
});

/** `pratique join`. */
export const joinCommand: Command = defineCommand({
  name: "join",
  summary: "Join this machine to a hub: find it, prove the token, get a certificate",
  details: [
    "Nothing secret leaves the machine before the hub has proven itself: its cluster-info must be signed with the token, and its CA must have the pinned key. The private key is made here and stays here.",
    "If no approver decides in time, run the same command again to resume with the same key. A machine that has joined stays as it is, unless --force is given.",
    "The process list shows a token given as --token to every user of this machine; --token-file keeps it out of there.",
  ],
  operands: [hubOperand],
  options: [
    ...discoveryOptions,
    ...defineOptions({
      "--node-name NAME": "the name of this machine at the hub (default: its host name in lower case)",
      "--cert-dir DIR":
        "where key and certificate go (default: /var/lib/kubelet/pki for root, else ~/.pratique/agent/pki)",
      "--kubeconfig FILE":
        "the kubeconfig to write (default: /etc/kubernetes/kubelet.conf for root, else ~/.pratique/agent/kubelet.conf)",
      "--serving":
        "let the agent ask for a certificate to serve with, too, for the addresses of this machine; see docs/serving-certificates.md for who approves it",
      "--serving-address ADDRESS...":
        "an address for that certificate, in place of the machine's own; implies --serving",
      "--serving-name NAME...": "a DNS name for that certificate; implies --serving",
      "--timeout DURATION = 15m": "how long to wait for approval and certificate",
      "--discovery-timeout DURATION = 10s": "how long to try to find the hub",
      "--force":
        "join again with a new key although this machine has joined. A join that did not finish continues with its key, unless its request was denied or has failed",
    }),
    outputOption,
  ],
  examples: {
    "with a token and a pin, as `pratique token create --print-join-command` prints it":
      "join hub.example:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:<hex>",
    "with the token in a file":
      "join hub.example:6443 --token-file /run/token --discovery-token-ca-cert-hash sha256:<hex>",
  },
  run: async (args, io) => (await import("./run-join.ts")).runJoin(args, io),
});

/** `pratique request`. */
export const requestCommand: Command = defineCommand({
  name: "request",
  summary: "Ask a hub for access with nothing in hand; the answer is sealed to this machine",
  details: [
    "Makes a key that stays here, posts its public half, and waits for people to decide. What comes back is encrypted to the key; it becomes a kubeconfig in --dir.",
    "With --ca-cert-hash the hub's CA is checked before anything is asked. Without it, read the six words to the approver: they agree only if the connection between this machine and the hub is not intercepted.",
    "If no approver decides in time, run the same command again to resume with the same request. `pratique agent` keeps the token fresh.",
  ],
  operands: [{ name: "HOST:PORT|URL", required: true, many: false, description: "where the hub is" }],
  options: [
    ...defineOptions({
      "--ca-cert-hash PIN...": "sha256:<hex> of the public key of the hub's CA; may be given several times",
      "--profile NAME": "the AccessProfile to ask for; default the hub's default",
      "--name NAME": "the name of the request (default: the host name and five characters, the same each time)",
      "--claim KEY=VALUE...": "something to tell the approver; may be given several times",
      "--dir DIR":
        "where key, token and kubeconfig go (default: /var/lib/pratique/access for root, else ~/.pratique/access)",
      "--key FILE": "a private key of your own, in PEM: Ed25519, EC P-256, or RSA of at least 2048 bits",
      "--wait DURATION = 1h": "how long to wait for an answer",
      "--discovery-timeout DURATION = 10s": "how long to try to find the hub",
    }),
    outputOption,
  ],
  examples: {
    "with the pin that the hub prints at its start": "request hub.example:6443 --ca-cert-hash sha256:<hex>",
    "for a profile, with something for the approver to see": "request hub.example:6443 --profile pods --claim rack=7",
  },
  run: async (args, io) => (await import("./run-request.ts")).runRequest(args, io),
});

/** `pratique agent`. */
export const agentCommand: Command = defineCommand({
  name: "agent",
  summary: "Keep the credentials of this machine fresh: renew them before they end",
  details: [
    "Each is renewed with itself between 70 and 90 % of its life, and its file replaced in one stroke: a reader of the kubeconfig always finds a valid one. A certificate gets a new key each time. Failures are tried again with growing pauses, or as the server asks.",
    "The agent requests a new credential in place of an expired one with the key of this machine, and approvers or policies of the hub decide: docs/recovery.md. What the hub refuses before its end cannot be renewed; the agent asks about it every ten minutes, and says so: docs/rotation.md. One that is lost leaves the others alone; when none is left the agent ends, unless --ask-again lets it request access again, which approvers must approve again.",
    "As a service it reports its status to systemd where `systemd-notify` is there: `Type=notify`, `NotifyAccess=all`, and `WatchdogSec` if wanted.",
  ],
  options: [
    ...agentFolders,
    ...defineOptions({
      "--key FILE": "the private key, where `pratique request` was given one; for --ask-again",
      "--once":
        "renew what is due, ask the hub whether it accepts each credential, and end: with code 3 if the hub cannot be reached, and 4 if it refuses one",
      "--status":
        "ask the hub about each credential, for 5 seconds at most, print how they stand and end: with code 0 if all are good and accepted, 1 if one has ended or cannot be read, 4 if the hub refuses one, 3 if they are good and the hub cannot be reached",
      "--ask-again": "request access again also when the hub rejects a token before it expires",
      "--after-rotation COMMAND":
        "run this after each renewal, without a shell: words at blanks, 30 seconds at most, with PRATIQUE_KIND, PRATIQUE_FILE and PRATIQUE_DIR in its environment",
      "--owner USER[:GROUP]": "whose the files of credentials are; for root only",
      "--mode MODE": "who may read them: 0600 (default), 0400, 0640 or 0440",
      "--health-address HOST:PORT":
        "where to answer GET /livez, and /readyz with 200 while all credentials are good and the hub takes them, over plain HTTP; default nowhere",
    }),
    outputOption,
    ...logOptions,
  ],
  examples: {
    "stay, and renew": "agent --dir /var/lib/pratique",
    "for a health check": "agent --dir /var/lib/pratique --status",
  },
  run: async (args, io) => (await import("./run-agent.ts")).runAgent(args, io),
});

/** `pratique klusterlet`. */
export const klusterletCommand: Command = defineCommand({
  name: "klusterlet",
  summary: "Make this cluster one of a hub's and keep it so: register, beat, report, renew",
  details: [
    "The agent's id and key are made here and kept before the hub hears of them; the key never leaves this cluster. Two people on the hub decide: one approves the certificate, one accepts the cluster. The log says what is waited for and what they type; the agent id is for them to compare.",
    "It stays, renews its certificate with 20 to 25 % of its life left, and follows the hub when that changes its CA or its address. Hubs are ours or those of Open Cluster Management.",
    "With --leave the agent detaches the cluster from the hub and then removes its files here.",
  ],
  options: [
    ...klusterletOptions,
    ...defineOptions({
      "--hub-timeout DURATION = 10m": "with several hubs: how long one may take no heartbeat before the next is tried",
      "--health-address HOST:PORT":
        "where to answer GET /livez, and /readyz with 200 while the cluster is available on its hub, over plain HTTP; default nowhere",
      "--leave": "take this cluster off its hub and end",
      "--force": "with --leave: also when the hub cannot be reached",
      "--status":
        "print cluster, agent id and certificate and end, with code 0 if it is good and 1 if not; asks no hub",
    }),
    outputOption,
    ...logOptions,
  ],
  examples: {
    "for a cluster with an API":
      "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
    "for a machine that has none":
      "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
    "to leave": "klusterlet --leave --dir /var/lib/pratique/klusterlet",
  },
  run: async (args, io) => (await import("./run-klusterlet.ts")).runKlusterlet(args, io),
});

/** `pratique credential`. */
export const credentialCommand: Command = defineCommand({
  name: "credential",
  summary: "Give a program of this machine the credential that the agent keeps fresh",
  details: [
    "An exec credential plugin: kubectl and every client library of Kubernetes run it, and run it again when the credential is renewed or refused. --print-kubeconfig prints a kubeconfig that says so.",
    "It calls no server and writes nothing. It prints a secret: only users who may read the files can run it.",
  ],
  options: [
    ...agentFolders,
    ...defineOptions({
      "--kind KIND": {
        choices: ["certificate", "token"],
        description: "which, where there are both; default the only one that is there",
      },
      "--print-kubeconfig": "print a kubeconfig whose user is this command, without a secret",
      "--command FILE = pratique":
        "with --print-kubeconfig: how clients are to call this program, by name or by absolute path",
    }),
  ],
  examples: {
    "a kubeconfig for others": "credential --dir /var/lib/pratique/access --print-kubeconfig",
    "what kubectl runs": "credential --dir /var/lib/pratique/access",
  },
  run: async (args, io) => (await import("./run-credential.ts")).runCredential(args, io),
});

/** `pratique simulate`. */
export const simulateCommand: Command = defineCommand({
  name: "simulate",
  summary: "Load-test a hub with simulated machines",
  details: [
    "Each machine is the real agent with its files in memory: it joins with the token, rotates its certificate, and renews its Lease as a kubelet does. No Node objects are made. Leases (in kube-node-lease), certificates and their requests stay on the hub, under names that begin with --name-prefix: a second run needs another prefix.",
    "It ends after --duration, or at SIGINT, and prints what the machines have seen, and why machines have not joined. The exit code is 1 where a machine did not come in, was lost, or was given another identity.",
  ],
  operands: [hubOperand],
  options: [
    ...discoveryOptions,
    ...defineOptions({
      "--machines COUNT = 100": "the number of machines; the maximum is 20000",
      "--name-prefix PREFIX = simulated-": "what the names of the machines begin with; a number follows",
      "--beat DURATION = 10s": "how often each renews its Lease",
      "--spread DURATION = 10s": "the time over which they begin to join",
      "--duration DURATION = 1m": "how long they live; 0 until SIGINT",
    }),
    outputOption,
  ],
  examples: {
    "a thousand machines for a quarter of an hour":
      "simulate 127.0.0.1:6443 --token-file token --discovery-token-ca-cert-hash sha256:… --machines 1000 --duration 15m",
  },
  run: async (args, io) => (await import("./run-simulate.ts")).runSimulate(args, io),
});
