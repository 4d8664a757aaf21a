import { defineCommand, defineOptions, type Command, type Operand, type Option } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

const requests: Operand = {
  name: "csr/NAME|accessrequest/NAME",
  required: false,
  many: true,
  description:
    "the request; a name without a kind is a certificate request; accessrequest (areq) without a name requires --all or -l",
};

/** Which requests a decision is about; `those` names them, as in `pending requests`. */
const decisionOptions = (those: string): readonly Option[] =>
  defineOptions({
    "--all": `decide on all ${those}; requires --expect`,
    "--selector LABELS": {
      short: "l",
      description: `decide on the ${those} with these labels, such as rack=7; requires --expect. Approvers set labels, machines cannot`,
    },
    "--expect N":
      "the number of requests that --all or -l must find; with any other number the command changes nothing",
    "--dry-run": "let the server check the change without storing it",
  });

const pendingOutput: Option = {
  ...outputOption,
  choices: ["table", "wide", "json", "yaml"],
  description: "the output format; wide adds a column with the marks of names",
};

/** `pratique pending`. */
export const pendingCommand: Command = defineCommand({
  name: "pending",
  summary: "List pending requests with their requesters and what they request",
  details: [
    "A request that needs care is marked with ! and explained below the table. Control characters in text of a requester are escaped.",
    "Managed clusters are listed with both decisions, and accepted with `pratique cluster accept`; the certificate requests of their agents are listed there only.",
    "Before you approve a machine, compare FINGERPRINT with the one that `pratique join` prints on the machine. The column SAYS contains unverified claims of the machine.",
    "Names are marked as well: NameInUse, another key has the name; NameContested, another key requests it at the same time; NameRecentlyDenied, a request for it was denied in the last 24 hours. With -o json and yaml the marks are under nameMarks. Access requests are compared by host name, which the machine chooses.",
    "If you may not list a kind of request, the command skips it with a note on standard error.",
    "--watch continues after a lost connection, prints what has changed meanwhile, and exits with code 0 at Ctrl-C. With -o json and yaml it prints one document for each request that is new or has changed.",
  ],
  options: [
    pendingOutput,
    ...defineOptions({
      "--watch": {
        short: "w",
        description: "print the requests, then each one that is new or has changed, until a signal",
      },
      "--watch-only": "as --watch, without the requests that are pending at the start",
    }),
    ...serverOptions,
  ],
  examples: { "pending requests, and then new ones": "pending --watch" },
  run: async (args, io) => (await import("./pending.ts")).pending(args, io),
});

/** `pratique approve`. */
export const approveCommand: Command = defineCommand({
  name: "approve",
  summary: "Approve certificate requests and access requests",
  details: [
    "With --words the command compares the six words of the machine with those of the request in the API and the CA of your kubeconfig. If they differ it approves nothing, because the connection may be intercepted. Without --words it approves the request and prints the words to compare.",
    "Approving a request again changes nothing; a denied request cannot be approved. If a request that --all or -l finds needs care, the command approves nothing: approve or deny that request by name first.",
  ],
  operands: [requests],
  options: [
    ...defineOptions({
      "--words WORDS": "the six pairing words that the machine prints; for one access request",
      "--reason REASON": "the reason, stored with the decision on an access request",
      "--wait DURATION": "the maximum time to wait until access is issued",
    }),
    ...decisionOptions("pending requests of the kind"),
    ...serverOptions,
  ],
  examples: {
    "one request": "approve csr/node-csr-x",
    "an access request, with the words of the machine":
      'approve accessrequest/vm-1 --words "apple bird cloud door eagle farm"',
    "all machines of a rack, if there are exactly 24": "approve accessrequest -l rack=7 --expect 24",
    "all pending certificate requests, if there are exactly three": "approve --all --expect 3",
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
      "--reason REASON":
        "the reason in one word; the requester sees it (for a certificate request default PratiqueDeny)",
      "--message TEXT": "the reason in a sentence; the requester sees it",
    }),
    ...decisionOptions("pending requests of the kind"),
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
    "For an access request the server deletes account, bindings and tokens of the machine and ends its watches. You cannot undo that: the machine must create a new request.",
    "For everything else the command creates a CredentialRevocation with exact values. The hub rejects the credential from that moment on, ends its watches, and signs nothing for it. Delete the CredentialRevocation to undo it. docs/revocation.md describes the effect on any other Kubernetes.",
    "csr/NAME revokes the certificate that was issued for the request; node/NAME, user/NAME and serviceaccount/NAMESPACE/NAME every credential of that identity, including future ones; secret/NAMESPACE/NAME the tokens that the Secret contains or that are bound to it.",
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
        description: "the namespace of a ServiceAccount or Secret that is given without one",
      },
      "--reason REASON": "the reason; a machine sees the reason of its access request",
      "--until TIME": "when the revocation of a credential ends, as 2026-12-31T00:00:00Z or 48h; default never",
      "--force": "revoke also the credential that this command uses",
      "--remove-grants":
        "also delete its bindings, certificate requests, token Secrets and ServiceAccount; cannot be undone",
    }),
    ...decisionOptions("approved access requests"),
    ...serverOptions,
  ],
  examples: {
    "a stolen machine": "revoke accessrequest/vm-1 --reason stolen",
    "a node with all its certificates": "revoke node/worker-3 --reason stolen",
    "one certificate": "revoke --fingerprint 9f2c…",
    "a user, for two days": "revoke user/ann --until 48h",
  },
  run: async (args, io) => (await import("../credentials/run-revoke.ts")).revoke(args, io),
});
