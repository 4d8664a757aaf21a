import { type Command, defineCommand, defineOptions, type Operand, type Option } from "../command.ts";
import { logOptions } from "../shared-options.ts";
import { outputOption } from "../output.ts";

/** For every command about renewed credentials. */
const agentFolders = defineOptions({
  "--dir DIR...":
    "a directory to which `pratique request` or `pratique join` has written, searched two levels deep; may be given several times (default: /var/lib/pratique for root, else ~/.pratique)",
});

/** The address of the hub. */
const hubOperand: Operand = {
  name: "HOST:PORT|URL",
  required: false,
  many: false,
  description: "the address of the hub; not with --discovery-file or --bootstrap-kubeconfig, which contain it",
};

/** The discovery options of every command that joins. */
const discoveryOptions = defineOptions({
  "--token TOKEN": "the bootstrap token; prefer --token-file",
  "--token-file FILE": "a file that contains only the bootstrap token; - for standard input",
  "--discovery-token-ca-cert-hash PIN...": "sha256:<hex> of the public key of the hub's CA; may be given several times",
  "--discovery-token-unsafe-skip-ca-verification":
    "trust any server that knows the token, without a pin: another holder of the token could pose as the hub",
  "--discovery-file FILE|URL": "a kubeconfig with address and CA of the hub, as a file or at an https:// URL",
  "--bootstrap-kubeconfig FILE": "a kubelet's bootstrap kubeconfig: address, CA and credential",
});

/** The hub and cluster options of every command that runs a cluster's agent. */
export const klusterletOptions: readonly Option[] = defineOptions({
  "--bootstrap-kubeconfig FILE...":
    "the kubeconfig with address and CA of the hub and a bootstrap credential, as `pratique cluster token` writes it; of several, the agent uses the next one if a hub fails or denies the cluster",
  "--cluster-name NAME": "the name of this cluster on the hub (default: a random name, which is stored)",
  "--spoke-kubeconfig FILE": "the kubeconfig of this cluster's API, whose health, size and claims the agent reports",
  "--namespace NAMESPACE = open-cluster-management-agent":
    "the namespace of Secret hub-kubeconfig-secret in this cluster",
  "--dir DIR":
    "the directory of key and certificate without --spoke-kubeconfig, and of a copy with it (default without: /var/lib/pratique/klusterlet for root, else ~/.pratique/klusterlet)",
  "--external-server URL...": "the URL at which the hub can reach the API of this cluster, for the hub's record",
  "--certificate-duration DURATION": "the requested duration of certificates; at least 1h (default: the hub decides)",
});

/** `pratique join`. */
export const joinCommand: Command = defineCommand({
  name: "join",
  summary: "Join this machine to a hub: verify the hub, request a certificate, write a kubeconfig",
  details: [
    "The machine sends no secret before it has verified the hub: cluster-info must be signed with the token, and the CA must have the pinned key. The private key is generated on this machine and never leaves it.",
    "If no approver decides in time, run the same command again to resume with the same key. Without --force the command changes nothing on a machine that has joined.",
    "Every user of this machine can read a token given as --token in the process list; use --token-file to prevent that.",
  ],
  operands: [hubOperand],
  options: [
    ...discoveryOptions,
    ...defineOptions({
      "--node-name NAME": "the node name (default: the host name in lower case)",
      "--cert-dir DIR":
        "the directory of key and certificate (default: /var/lib/kubelet/pki for root, else ~/.pratique/agent/pki)",
      "--kubeconfig FILE":
        "the kubeconfig to write (default: /etc/kubernetes/kubelet.conf for root, else ~/.pratique/agent/kubelet.conf)",
      "--serving":
        "let the agent request a serving certificate as well, for the addresses of this machine; docs/serving-certificates.md says how it is approved",
      "--serving-address ADDRESS...":
        "an address for that certificate, in place of the machine's own; implies --serving",
      "--serving-name NAME...": "a DNS name for that certificate; implies --serving",
      "--timeout DURATION = 15m": "the maximum time to wait for approval and certificate",
      "--discovery-timeout DURATION = 10s": "the maximum time to try to reach the hub",
      "--force":
        "join again with a new key if this machine has joined already. An interrupted join continues with its key, unless its request was denied or has failed",
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
  summary: "Request access to a hub without a credential; the answer is encrypted to a key of this machine",
  details: [
    "The command generates a key that never leaves this machine, sends the public key, and waits for an approver. The hub encrypts token and CA to the key; the command writes them as a kubeconfig to --dir.",
    "With --ca-cert-hash the command verifies the hub's CA before it sends the request. Without it, read the six words to the approver: they are equal only if the connection between this machine and the hub is not intercepted.",
    "If no approver decides in time, run the same command again to resume with the same request. `pratique agent` renews the token.",
  ],
  operands: [{ name: "HOST:PORT|URL", required: true, many: false, description: "the address of the hub" }],
  options: [
    ...defineOptions({
      "--ca-cert-hash PIN...": "sha256:<hex> of the public key of the hub's CA; may be given several times",
      "--profile NAME": "the AccessProfile to request (default: the default profile of the hub)",
      "--name NAME": "the name of the request (default: the host name and five characters, the same each time)",
      "--claim KEY=VALUE...": "information for the approver, which the hub does not verify; may be given several times",
      "--dir DIR":
        "the directory of key, token and kubeconfig (default: /var/lib/pratique/access for root, else ~/.pratique/access)",
      "--key FILE": "a private key of your own, in PEM: Ed25519, EC P-256, or RSA of at least 2048 bits",
      "--wait DURATION = 1h": "the maximum time to wait for a decision",
      "--discovery-timeout DURATION = 10s": "the maximum time to try to reach the hub",
    }),
    outputOption,
  ],
  examples: {
    "with the pin of the CA, which the hub prints at its start": "request hub.example:6443 --ca-cert-hash sha256:<hex>",
    "for a profile, with information for the approver": "request hub.example:6443 --profile pods --claim rack=7",
  },
  run: async (args, io) => (await import("./run-request.ts")).runRequest(args, io),
});

/** `pratique agent`. */
export const agentCommand: Command = defineCommand({
  name: "agent",
  summary: "Renew the credentials of this machine before they expire",
  details: [
    "The agent renews each credential with the credential itself after 70 to 90 % of its lifetime, and replaces the file atomically. A certificate gets a new key each time. The agent retries after a failure with growing pauses, or as the Retry-After of the server says.",
    "For an expired credential the agent requests a new one with the key of this machine; an approver or a policy of the hub decides (docs/recovery.md). A credential that the hub rejects before it expires cannot be renewed; the agent asks the hub every ten minutes and logs the answer (docs/rotation.md). The loss of one credential does not affect the others. The agent ends when none is left, unless --ask-again lets it request access again, on which an approver decides.",
    "As a service the agent reports its status to systemd by the program `systemd-notify`: set `Type=notify`, `NotifyAccess=all`, and `WatchdogSec` if wanted.",
  ],
  options: [
    ...agentFolders,
    ...defineOptions({
      "--key FILE": "the private key that `pratique request` was given as --key; for --ask-again",
      "--once":
        "renew what is due, ask the hub whether it accepts each credential, and exit: code 3 if the hub cannot be reached, 4 if it rejects one",
      "--status":
        "ask the hub about each credential, for 5 seconds at most, print the status and exit: code 0 if all are valid and accepted, 1 if one has expired or cannot be read, 4 if the hub rejects one, 3 if they are valid and the hub cannot be reached",
      "--ask-again": "request access again also when the hub rejects a token before it expires",
      "--after-rotation COMMAND":
        "run this command after each renewal, without a shell, split at blanks, for 30 seconds at most, with PRATIQUE_KIND, PRATIQUE_FILE and PRATIQUE_DIR in its environment",
      "--owner USER[:GROUP]": "the owner of the credential files; requires root",
      "--mode MODE": "the mode of the credential files: 0600 (default), 0400, 0640 or 0440",
      "--health-address HOST:PORT":
        "the address that serves /livez, and /readyz (200 while the hub accepts all credentials), over plain HTTP; default none",
    }),
    outputOption,
    ...logOptions,
  ],
  examples: {
    "run and renew": "agent --dir /var/lib/pratique",
    "for a health check": "agent --dir /var/lib/pratique --status",
  },
  run: async (args, io) => (await import("./run-agent.ts")).runAgent(args, io),
});

/** `pratique klusterlet`. */
export const klusterletCommand: Command = defineCommand({
  name: "klusterlet",
  summary: "Register this cluster with a hub, renew its lease and certificate, and report its status",
  details: [
    "The agent generates its id and key and stores them before it sends a request; the key never leaves this cluster. Two approvers decide on the hub: one approves the certificate, one accepts the cluster. The log says what the agent waits for and which commands the approvers type; they compare the agent id.",
    "The agent runs on, renews its certificate when 20 to 25 % of the lifetime are left, and follows a change of the hub's CA or address. It works with hubs of Pratique and of Open Cluster Management.",
    "With --leave the agent detaches the cluster from the hub and then removes its files here.",
  ],
  options: [
    ...klusterletOptions,
    ...defineOptions({
      "--hub-timeout DURATION = 10m":
        "with several hubs: how long a hub may accept no heartbeat before the agent uses the next one",
      "--health-address HOST:PORT":
        "the address that serves /livez, and /readyz (200 while the cluster is available on its hub), over plain HTTP; default none",
      "--leave": "detach this cluster from its hub and exit",
      "--force": "with --leave: also when the hub cannot be reached",
      "--status":
        "print cluster, agent id and certificate and exit: code 0 if the certificate is valid, else 1; does not contact the hub",
    }),
    outputOption,
    ...logOptions,
  ],
  examples: {
    "for a cluster with an API":
      "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name east --spoke-kubeconfig admin.kubeconfig",
    "for a machine without an API":
      "klusterlet --bootstrap-kubeconfig hub.kubeconfig --cluster-name edge-7 --dir /var/lib/pratique/klusterlet",
    "to leave": "klusterlet --leave --dir /var/lib/pratique/klusterlet",
  },
  run: async (args, io) => (await import("./run-klusterlet.ts")).runKlusterlet(args, io),
});

/** `pratique credential`. */
export const credentialCommand: Command = defineCommand({
  name: "credential",
  summary: "Print the credential that the agent renews, as an exec credential plugin",
  details: [
    "kubectl and the client libraries of Kubernetes run this plugin, and run it again when the credential is renewed or rejected. --print-kubeconfig prints a kubeconfig that uses it.",
    "The command contacts no server and writes no file. It prints a secret: only users who may read the credential files can run it.",
  ],
  options: [
    ...agentFolders,
    ...defineOptions({
      "--kind KIND": {
        choices: ["certificate", "token"],
        description: "the kind of credential if there are both; default the only one",
      },
      "--print-kubeconfig": "print a kubeconfig that runs this command, without a secret",
      "--command FILE = pratique":
        "with --print-kubeconfig: the name or absolute path by which clients run this program",
    }),
  ],
  examples: {
    "a kubeconfig for other programs": "credential --dir /var/lib/pratique/access --print-kubeconfig",
    "what kubectl runs": "credential --dir /var/lib/pratique/access",
  },
  run: async (args, io) => (await import("./run-credential.ts")).runCredential(args, io),
});

/** `pratique simulate`. */
export const simulateCommand: Command = defineCommand({
  name: "simulate",
  summary: "Load-test a hub with simulated machines",
  details: [
    "Each machine is the real agent with its files in memory: it joins with the token, rotates its certificate, and renews its Lease as a kubelet does. It creates no Node object. Leases (in kube-node-lease) and certificate requests stay on the hub, under names that begin with --name-prefix: a second run needs another prefix.",
    "The command ends after --duration, or at SIGINT, and prints its measurements and why machines have not joined. The exit code is 1 if a machine did not join, lost its connection, or received another identity.",
  ],
  operands: [hubOperand],
  options: [
    ...discoveryOptions,
    ...defineOptions({
      "--machines COUNT = 100": "the number of machines; the maximum is 20000",
      "--name-prefix PREFIX = simulated-": "the prefix of the names of the machines, before a number",
      "--beat DURATION = 10s": "the interval at which each machine renews its Lease",
      "--spread DURATION = 10s": "the time over which the machines begin to join",
      "--duration DURATION = 1m": "how long the machines run; 0 until SIGINT",
    }),
    outputOption,
  ],
  examples: {
    "a thousand machines for a quarter of an hour":
      "simulate 127.0.0.1:6443 --token-file token --discovery-token-ca-cert-hash sha256:… --machines 1000 --duration 15m",
  },
  run: async (args, io) => (await import("./run-simulate.ts")).runSimulate(args, io),
});
