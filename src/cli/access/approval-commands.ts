import { defineCommand, defineOptions, type Command, type Operand, type Option } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const requests: Operand = {
  name: "csr/NAME|accessrequest/NAME",
  required: false,
  many: true,
  description: "the request; a name alone is a certificate request, accessrequest (areq) alone goes with --all or -l",
};

const decisionOptions: readonly Option[] = defineOptions({
  "--all": "decide on every request of the kind that waits for it; needs --expect",
  "--selector LABELS": {
    short: "l",
    description:
      "decide on those with these labels, as in rack=7; needs --expect. People label requests; machines cannot",
  },
  "--expect N": "how many requests --all or -l must find; with any other number nothing is done",
  "--dry-run": "let the server check everything and change nothing",
});

const pendingOutput: Option = {
  ...outputOption,
  choices: ["table", "wide", "json", "yaml"],
  description: "how to print the result; wide adds a column with the marks of names",
};

/** `pratique pending`. */
export const pendingCommand: Command = defineCommand({
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
  options: [
    pendingOutput,
    ...defineOptions({
      "--watch": {
        short: "w",
        description: "print the requests, then each one that is new or has changed, until a signal",
      },
      "--watch-only": "as --watch, without those that wait already",
    }),
    ...serverOptions,
  ],
  examples: { "what waits, and what comes": "pending --watch" },
  run: async (args, io) => (await import("./pending.ts")).pending(args, io),
});

/** `pratique approve`. */
export const approveCommand: Command = defineCommand({
  name: "approve",
  summary: "Approve certificate requests and access requests",
  details: [
    "With --words the six words that the machine shows are compared with those of the API's request and the CA of your kubeconfig; if they differ nothing is approved, since the connection may be intercepted. Without, access is approved all the same, and the words to compare are printed.",
    "A request that is approved already stays so; one that was denied cannot be approved any more. --all passes over nothing: if a request has contents that need care, it must be named.",
  ],
  operands: [requests],
  options: [
    ...defineOptions({
      "--words WORDS": "the six words that the machine shows; for one access request",
      "--reason REASON": "why, kept with the decision on access",
      "--wait DURATION": "wait until access is issued, up to this time",
    }),
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: {
    "one request": "approve csr/node-csr-x",
    "access for a machine that shows these words":
      'approve accessrequest/vm-1 --words "apple bird cloud door eagle farm"',
    "a rack of machines, if they are exactly 24": "approve accessrequest -l rack=7 --expect 24",
    "all that wait, if they are exactly three": "approve --all --expect 3",
  },
  run: async (args, io) => (await import("./decide.ts")).decide("Approved", args, io),
});

/** `pratique deny`. */
export const denyCommand: Command = defineCommand({
  name: "deny",
  summary: "Deny certificate requests and access requests",
  operands: [requests],
  options: [
    ...defineOptions({
      "--reason REASON": "why, in one word; the requester sees it (for a certificate request default PratiqueDeny)",
      "--message TEXT": "why, in a sentence; the requester sees it",
    }),
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: { "with a reason": "deny csr/node-csr-x --reason UnknownMachine" },
  run: async (args, io) => (await import("./decide.ts")).decide("Denied", args, io),
});

/** `pratique revoke`. */
export const revokeCommand: Command = defineCommand({
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
    ...defineOptions({
      "--user USER": "every credential of this user, by its exact name",
      "--fingerprint SHA256": "a certificate by its SHA-256, with or without colons",
      "--serial HEX": "a certificate by its serial number",
      "--issuer SHA256": "with --serial: the SHA-256 of the DER of its issuer's name; default any issuer",
      "--token ID": "a token by its id: that of a bootstrap token, the jti of a ServiceAccount's, or what whoami shows",
      "--namespace NAME": {
        short: "n",
        description: "where a ServiceAccount or Secret lies that is named without one",
      },
      "--reason REASON": "why; a machine sees that of its access request",
      "--until TIME": "when the revocation of a credential ends, as 2026-12-31T00:00:00Z or 48h; default never",
      "--force": "also the credential that this command itself uses",
      "--remove-grants":
        "also remove what gives rights: its bindings, certificate requests, token Secrets, ServiceAccount; cannot be undone",
    }),
    ...decisionOptions,
    ...serverOptions,
  ],
  examples: {
    "a machine that was stolen": "revoke accessrequest/vm-1 --reason stolen",
    "a node with all its certificates": "revoke node/worker-3 --reason stolen",
    "one certificate": "revoke --fingerprint 9f2c…",
    "for the weekend": "revoke user/ann --until 48h",
  },
  run: async (args, io) => (await import("../credentials/run-revoke.ts")).revoke(args, io),
});
