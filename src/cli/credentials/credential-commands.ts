import { defineCommand, defineOptions, type Command } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

/** `pratique credentials`. */
export const credentialsCommand: Command = defineCommand({
  name: "credentials",
  summary: "List issued credentials with their approver, expiry and when they were last used",
  details: [
    "The table has a row for each identity and purpose: client certificates, serving certificates, and tokens of approved access requests. Credentials that need care come first, marked with ! and explained below the table.",
    "An identity renews after 70 to 90 % of the lifetime of its credential. It is MISSING if the hub has not seen it in that window, and LATE if the hub has seen it and it did not renew. LAST SEEN is exact to ten minutes; for credentials that are valid for minutes, to half a minute.",
    "2 KEYS VALID marks a node with two valid client certificates of different keys, the later of which the node did not request itself: a machine has joined twice, or two machines use the name.",
  ],
  operands: [
    {
      name: "list",
      required: false,
      many: false,
      choices: ["list"],
      description: "list the credentials, as without it",
    },
  ],
  options: [...defineOptions({ "--care": "only credentials that need care" }), outputOption, ...serverOptions],
  examples: { "credentials that need care": "credentials --care" },
  run: async (args, io) => (await import("./run-credentials.ts")).runCredentials(args, io),
});

/** `pratique revocations`. */
export const revocationsCommand: Command = defineCommand({
  name: "revocations",
  summary: "List revocations, export them as a signed list, or import such a list",
  details: [
    "list shows what is revoked, by whom and why. To undo one: kubectl delete credentialrevocation NAME.",
    "export prints a list that the hub has signed, for other services to check; it is valid for a day. jws contains all revocations, as a JSON Web Signature by the key of ServiceAccount tokens, which /openid/v1/jwks publishes. crl is an X.509 revocation list of the CA; it contains certificates with a known serial number, and no users or tokens.",
    "import adds the revocations of a list that the same hub has signed, as jws or crl (PEM or DER), after a restore from an older backup. It never removes or shortens a revocation. It accepts a list that has expired.",
  ],
  operands: [
    {
      name: "list|export|import",
      required: false,
      many: false,
      choices: ["list", "export", "import"],
      description: "what to do; default list",
    },
    {
      name: "FILE",
      required: false,
      many: false,
      description: "the list that import reads; - for stdin, which takes no DER",
    },
  ],
  options: [
    ...defineOptions({
      "--format FORMAT = jws": { choices: ["jws", "crl"], description: "the format of the signed list" },
      "--dry-run": "with import: add nothing, and list what would be added",
    }),
    outputOption,
    ...serverOptions,
  ],
  examples: {
    "before or after each backup": "revocations export > revocations.jws",
    "after a restore": "revocations import revocations.jws",
    "checked with OpenSSL":
      "revocations export --format crl > pratique.crl && openssl crl -in pratique.crl -CAfile ca.crt -noout -text",
  },
  run: async (args, io) => (await import("./run-revocations.ts")).runRevocations(args, io),
});
