import type { Command, Operand, Option } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../server-options.ts";

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

const pendingOutput: Option = {
  ...outputOption,
  choices: ["table", "wide", "json", "yaml"],
  description: "how to print the result; wide adds a column with the marks of names",
};

/** `pratique pending`. */
export const pendingCommand: Command = {
  name: "pending",
  summary: "List the requests that wait for a decision, with who asks for what",
  details: [
    "A request with contents that need care is marked with ! and explained below the table. Everything that comes from a requester is printed with control characters escaped.",
    "Managed clusters are shown with both of their decisions, and are accepted with `pratique cluster accept`; the requests of their agents are shown there and not by themselves.",
    "Before approving a machine, compare FINGERPRINT with the one that `pratique join` shows there. What an access request says of itself, under SAYS, is the machine's own word and proves nothing.",
    "A name that needs a second look is marked as well: NameInUse, another key holds it; NameContested, another key asks for it at the same time; NameRecentlyDenied, a request for it was denied in the last 24 hours. With -o json and yaml they stand under nameMarks. Access requests are compared by host name, which is the machine's own word.",
    "A kind of request that you may not list is passed over, and said so on standard error.",
    "--watch goes on after a lost connection, shows then what has changed meanwhile, and ends with status 0 at Ctrl-C. With -o json and yaml it prints one document for each request that is new or has changed.",
  ],
  operands: [],
  options: [
    pendingOutput,
    {
      name: "watch",
      short: "w",
      kind: "boolean",
      default: "false",
      description: "print the requests, then each one that is new or has changed, until a signal",
    },
    {
      name: "watch-only",
      kind: "boolean",
      default: "false",
      description: "as --watch, without those that wait already",
    },
    ...serverOptions,
  ],
  examples: [{ note: "what waits, and what comes", line: "pending --watch" }],
  run: async (args, io) => (await import("./pending.ts")).pending(args, io),
};

/** `pratique approve`. */
export const approveCommand: Command = {
  name: "approve",
  summary: "Approve certificate requests and access requests",
  details: [
    "With --words the six words that the machine shows are compared with those of the API's request and the CA of your kubeconfig; if they differ nothing is approved, since the connection may be intercepted. Without, access is approved all the same, and the words to compare are printed.",
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
      description: "wait until access is issued, up to this time",
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
  summary: "Revoke access or a credential",
  details: [
    "An access request: account, roles and tokens of the machine are removed, and it is cut off. That cannot be undone: it must create a new request.",
    "Everything else is written down as a CredentialRevocation, by exact values. A hub refuses it from that moment on, ends its watches, and signs nothing for it; deleting the revocation undoes it. docs/revocation.md says what holds on a Kubernetes cluster.",
    "csr/NAME is the certificate that was issued for it; node/NAME, user/NAME and serviceaccount/NAMESPACE/NAME every credential of theirs, later ones too; secret/NAMESPACE/NAME the tokens that lie in a Secret or are bound to it.",
  ],
  operands: [
    {
      name: "KIND/NAME",
      required: false,
      many: true,
      description:
        "accessrequest/NAME (or NAME alone), csr/NAME, node/NAME, user/NAME, serviceaccount/NAMESPACE/NAME, secret/NAMESPACE/NAME, bootstraptoken/ID",
    },
  ],
  options: [
    { name: "user", kind: "text", value: "USER", description: "every credential of this user, by its exact name" },
    {
      name: "fingerprint",
      kind: "text",
      value: "SHA256",
      description: "a certificate by its SHA-256, with or without colons",
    },
    { name: "serial", kind: "text", value: "HEX", description: "a certificate by its serial number" },
    {
      name: "issuer",
      kind: "text",
      value: "SHA256",
      description: "with --serial: the SHA-256 of the DER of its issuer's name; default any issuer",
    },
    {
      name: "token",
      kind: "text",
      value: "ID",
      description: "a token by its id: that of a bootstrap token, the jti of a ServiceAccount's, or what whoami shows",
    },
    {
      name: "namespace",
      short: "n",
      kind: "text",
      value: "NAME",
      description: "where a ServiceAccount or Secret lies that is named without one",
    },
    { name: "reason", kind: "text", value: "REASON", description: "why; a machine sees that of its access request" },
    {
      name: "until",
      kind: "text",
      value: "TIME",
      description: "when the revocation of a credential ends, as 2026-12-31T00:00:00Z or 48h; default never",
    },
    {
      name: "force",
      kind: "boolean",
      default: "false",
      description: "also the credential that this command itself uses",
    },
    {
      name: "remove-grants",
      kind: "boolean",
      default: "false",
      description:
        "also remove what gives rights: its bindings, certificate requests, token Secrets, ServiceAccount; cannot be undone",
    },
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: [
    { note: "a machine that was stolen", line: "revoke accessrequest/vm-1 --reason stolen" },
    { note: "a node with all its certificates", line: "revoke node/worker-3 --reason stolen" },
    { note: "one certificate", line: "revoke --fingerprint 9f2c…" },
    { note: "for the weekend", line: "revoke user/ann --until 48h" },
  ],
  run: async (args, io) => (await import("../credentials/run-revoke.ts")).revoke(args, io),
};
