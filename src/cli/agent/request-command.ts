import type { Command } from "../command.ts";
import { outputOption } from "../output.ts";

/** `pratique request`. */
export const requestCommand: Command = {
  name: "request",
  summary: "Ask a hub for access with nothing in hand; the answer is sealed to this machine",
  details: [
    "Makes a key that stays here, posts its public half, and waits for people to decide. What comes back is encrypted to the key; it becomes a kubeconfig in --dir.",
    "With --ca-cert-hash the hub's CA is checked before anything is asked. Without it, read the six words to the approver: they agree only if the connection between this machine and the hub is not intercepted.",
    "If no approver decides in time, run the same command again to resume with the same request. `pratique agent` keeps the token fresh.",
  ],
  operands: [{ name: "HOST:PORT|URL", required: true, many: false, description: "where the hub is" }],
  options: [
    {
      name: "ca-cert-hash",
      kind: "list",
      value: "PIN",
      description: "sha256:<hex> of the public key of the hub's CA; may be given several times",
    },
    {
      name: "profile",
      kind: "text",
      value: "NAME",
      description: "the AccessProfile to ask for; default the hub's default",
    },
    {
      name: "name",
      kind: "text",
      value: "NAME",
      description: "the name of the request (default: the host name and five characters, the same each time)",
    },
    {
      name: "claim",
      kind: "list",
      value: "KEY=VALUE",
      description: "something to tell the approver; may be given several times",
    },
    {
      name: "dir",
      kind: "text",
      value: "DIR",
      completes: "directory",
      description:
        "where key, token and kubeconfig go (default: /var/lib/pratique/access for root, else ~/.pratique/access)",
    },
    {
      name: "key",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "a private key of your own, in PEM: Ed25519, EC P-256, or RSA of at least 2048 bits",
    },
    { name: "wait", kind: "duration", value: "DURATION", default: "1h", description: "how long to wait for an answer" },
    {
      name: "discovery-timeout",
      kind: "duration",
      value: "DURATION",
      default: "10s",
      description: "how long to try to find the hub",
    },
    outputOption,
  ],
  examples: [
    {
      note: "with the pin that the hub prints at its start",
      line: "request hub.example:6443 --ca-cert-hash sha256:<hex>",
    },
    {
      note: "for a profile, with something for the approver to see",
      line: "request hub.example:6443 --profile pods --claim rack=7",
    },
  ],
  run: async (args, io) => (await import("./run-request.ts")).runRequest(args, io),
};
