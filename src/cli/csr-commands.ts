import type { Command, Operand, Option } from "./command.ts";
import { outputOption } from "./output.ts";
import { serverOptions } from "./server-options.ts";

const requests: Operand = {
  name: "csr/NAME",
  required: false,
  many: true,
  description: "the request, with or without csr/ before its name",
};

const decisionOptions: readonly Option[] = [
  { name: "all", kind: "boolean", default: "false", description: "decide on every undecided request; needs --expect" },
  {
    name: "expect",
    kind: "integer",
    value: "N",
    description: "how many requests --all must find; with any other number nothing is done",
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
  summary: "List the certificate requests that wait for a decision, with who asks for what",
  details: [
    "A request with contents that need care is marked with ! and explained below the table. Everything that comes from a requester is printed with control characters escaped.",
    "Before approving a machine, compare FINGERPRINT with the one that `pratique join` shows there.",
  ],
  operands: [],
  options: [outputOption, ...serverOptions],
  examples: [],
  run: async (args, io) => (await import("./pending.ts")).pending(args, io),
};

/** `pratique approve`. */
export const approveCommand: Command = {
  name: "approve",
  summary: "Approve certificate requests",
  details: [
    "A request that is approved already stays so; one that was denied cannot be approved any more. --all passes over nothing: if a request has contents that need care, it must be named.",
  ],
  operands: [requests],
  options: [...decisionOptions, ...serverOptions],
  examples: [
    { note: "one request", line: "approve csr/node-csr-x" },
    { note: "all that wait, if they are exactly three", line: "approve --all --expect 3" },
  ],
  run: async (args, io) => (await import("./decide.ts")).decide("Approved", args, io),
};

/** `pratique deny`. */
export const denyCommand: Command = {
  name: "deny",
  summary: "Deny certificate requests",
  details: [],
  operands: [requests],
  options: [
    {
      name: "reason",
      kind: "text",
      value: "REASON",
      default: "PratiqueDeny",
      description: "why, in one word; the requester sees it",
    },
    {
      name: "message",
      kind: "text",
      value: "TEXT",
      default: "This CSR was denied by pratique deny.",
      description: "why, in a sentence; the requester sees it",
    },
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: [{ note: "with a reason", line: "deny csr/node-csr-x --reason UnknownMachine" }],
  run: async (args, io) => (await import("./decide.ts")).decide("Denied", args, io),
};
