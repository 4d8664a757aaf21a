import type { Command, Operand, Option } from "./command.ts";
import { outputOption } from "./output.ts";
import { serverOptions } from "./server-options.ts";

const requests: Operand = {
  name: "csr/NAME|accessrequest/NAME",
  required: false,
  many: true,
  description: "the request; a name alone is a certificate request, accessrequest (areq) alone goes with --all or -l",
};

const decisionOptions: readonly Option[] = [
  {
    name: "all",
    kind: "boolean",
    default: "false",
    description: "decide on every request of the kind that waits for it; needs --expect",
  },
  {
    name: "selector",
    short: "l",
    kind: "text",
    value: "LABELS",
    description:
      "decide on those with these labels, as in rack=7; needs --expect. People label requests; machines cannot",
  },
  {
    name: "expect",
    kind: "integer",
    value: "N",
    description: "how many requests --all or -l must find; with any other number nothing is done",
  },
  {
    name: "dry-run",
    kind: "boolean",
    default: "false",
    description: "let the server check everything and change nothing",
  },
];

/** `pratique pending`. */
export const pendingCommand: Command = {
  name: "pending",
  summary: "List the requests that wait for a decision, with who asks for what",
  details: [
    "A request with contents that need care is marked with ! and explained below the table. Everything that comes from a requester is printed with control characters escaped.",
    "Before approving a machine, compare FINGERPRINT with the one that `pratique join` shows there. What an access request says of itself, under SAYS, is the machine's own word and proves nothing.",
    "A kind of request that you may not list is passed over, and said so.",
  ],
  operands: [],
  options: [outputOption, ...serverOptions],
  examples: [],
  run: async (args, io) => (await import("./pending.ts")).pending(args, io),
};

/** `pratique approve`. */
export const approveCommand: Command = {
  name: "approve",
  summary: "Approve certificate requests and access requests",
  details: [
    "With --words the six words that the machine shows are compared with those of the API's request and the CA of your kubeconfig; if they differ nothing is approved, since somebody may stand between. Without, access is approved all the same, and the words to compare are printed.",
    "A request that is approved already stays so; one that was denied cannot be approved any more. --all passes over nothing: if a request has contents that need care, it must be named.",
  ],
  operands: [requests],
  options: [
    {
      name: "words",
      kind: "text",
      value: "WORDS",
      description: "the six words that the machine shows; for one access request",
    },
    { name: "reason", kind: "text", value: "REASON", description: "why, kept with the decision on access" },
    {
      name: "wait",
      kind: "duration",
      value: "DURATION",
      description: "wait until access is issued, at most this long",
    },
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: [
    { note: "one request", line: "approve csr/node-csr-x" },
    {
      note: "access for a machine that shows these words",
      line: 'approve accessrequest/vm-1 --words "apple bird cloud door eagle farm"',
    },
    { note: "a rack of machines, if they are exactly 24", line: "approve accessrequest -l rack=7 --expect 24" },
    { note: "all that wait, if they are exactly three", line: "approve --all --expect 3" },
  ],
  run: async (args, io) => (await import("./decide.ts")).decide("Approved", args, io),
};

/** `pratique deny`. */
export const denyCommand: Command = {
  name: "deny",
  summary: "Deny certificate requests and access requests",
  details: [],
  operands: [requests],
  options: [
    {
      name: "reason",
      kind: "text",
      value: "REASON",
      description: "why, in one word; the requester sees it (for a certificate request default PratiqueDeny)",
    },
    {
      name: "message",
      kind: "text",
      value: "TEXT",
      description: "why, in a sentence; the requester sees it",
    },
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: [{ note: "with a reason", line: "deny csr/node-csr-x --reason UnknownMachine" }],
  run: async (args, io) => (await import("./decide.ts")).decide("Denied", args, io),
};

/** `pratique revoke`. */
export const revokeCommand: Command = {
  name: "revoke",
  summary: "Take access back that was approved",
  details: [
    "Account, roles and tokens of the machine are removed, and it is cut off. That cannot be undone: it must ask anew.",
  ],
  operands: [
    {
      name: "accessrequest/NAME",
      required: false,
      many: true,
      description: "the request that was approved, with or without accessrequest/ before its name",
    },
  ],
  options: [
    { name: "reason", kind: "text", value: "REASON", description: "why; the machine sees it" },
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: [{ note: "a machine that was stolen", line: "revoke accessrequest/vm-1 --reason stolen" }],
  run: async (args, io) => (await import("./decide.ts")).decide("Revoked", args, io),
};
