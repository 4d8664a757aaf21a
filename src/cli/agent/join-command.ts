import type { Command } from "../command.ts";
import { discoveryOptions, hubOperand } from "./discovery-options.ts";
import { outputOption } from "../output.ts";

/** `pratique join`. */
export const joinCommand: Command = {
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
    {
      name: "node-name",
      kind: "text",
      value: "NAME",
      description: "the name of this machine at the hub (default: its host name in lower case)",
    },
    {
      name: "cert-dir",
      kind: "text",
      value: "DIR",
      completes: "directory",
      description: "where key and certificate go (default: /var/lib/kubelet/pki for root, else ~/.pratique/agent/pki)",
    },
    {
      name: "kubeconfig",
      kind: "text",
      value: "FILE",
      completes: "file",
      description:
        "the kubeconfig to write (default: /etc/kubernetes/kubelet.conf for root, else ~/.pratique/agent/kubelet.conf)",
    },
    {
      name: "serving",
      kind: "boolean",
      default: "false",
      description:
        "let the agent ask for a certificate to serve with, too, for the addresses of this machine; see docs/serving-certificates.md for who approves it",
    },
    {
      name: "serving-address",
      kind: "list",
      value: "ADDRESS",
      description: "an address for that certificate, in place of the machine's own; implies --serving",
    },
    {
      name: "serving-name",
      kind: "list",
      value: "NAME",
      description: "a DNS name for that certificate; implies --serving",
    },
    {
      name: "timeout",
      kind: "duration",
      value: "DURATION",
      default: "15m",
      description: "how long to wait for approval and certificate",
    },
    {
      name: "discovery-timeout",
      kind: "duration",
      value: "DURATION",
      default: "10s",
      description: "how long to try to find the hub",
    },
    {
      name: "force",
      kind: "boolean",
      default: "false",
      description:
        "join again with a new key although this machine has joined. A join that did not finish continues with its key, unless its request was denied or has failed",
    },
    outputOption,
  ],
  examples: [
    {
      note: "with a token and a pin, as `pratique token create --print-join-command` prints it",
      line: "join hub.example:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:<hex>",
    },
    {
      note: "with the token in a file",
      line: "join hub.example:6443 --token-file /run/token --discovery-token-ca-cert-hash sha256:<hex>",
    },
  ],
  run: async (args, io) => (await import("./run-join.ts")).runJoin(args, io),
};
