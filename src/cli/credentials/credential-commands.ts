import { defineCommand, defineOptions, type Command } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../shared-options.ts";

/** `pratique credentials`. */
export const credentialsCommand: Command = defineCommand({
  name: "credentials",
  summary: "List what was issued to whom, by whom approved, when it ends, and when its holder was last seen",
  details: [
    "One line for each identity and purpose; certificates of nodes and other clients, serving certificates, and tokens of machines that an access request admitted. Those that need care come first, marked with ! and explained below the table.",
    "An identity renews in a window from 70 to 90 % of the life of its credential. Who was not seen within it is MISSING; who was seen and did not renew is LATE. LAST SEEN is exact to ten minutes, and of credentials that hold for minutes to half a minute.",
    "2 KEYS VALID marks a node with two valid client certificates of different keys, of which the later was not requested by the node itself: one machine joined twice, or two machines use its name.",
  ],
  operands: [{ name: "list", required: false, many: false, choices: ["list"], description: "the same" }],
  options: [...defineOptions({ "--care": "only those that need care" }), outputOption, ...serverOptions],
  examples: { "what will stop working": "credentials --care" },
  run: async (args, io) => (await import("./run-credentials.ts")).runCredentials(args, io),
});

/** `pratique revocations`. */
export const revocationsCommand: Command = defineCommand({
  name: "revocations",
  summary: "List what is revoked, print a signed list of it, or import one",
  details: [
    "list shows what is revoked, by whom and why. To undo one: kubectl delete credentialrevocation NAME.",
    "export prints a list that the hub signs for those who check elsewhere; it counts for a day. jws is all of it, as a JSON Web Signature by the key of ServiceAccount tokens, which /openid/v1/jwks publishes. crl is a revocation list of X.509 by the CA, with the certificates whose serial number is known; users and tokens cannot be in it.",
    "import adds the revocations of a list that the same hub has signed, as jws or crl (PEM or DER), after the hub was restored from an older backup; none is taken away or made shorter. A list that has ended is taken too.",
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
      "--format FORMAT = jws": { choices: ["jws", "crl"], description: "which signed list" },
      "--dry-run": "with import: add nothing, and list what would be added",
    }),
    outputOption,
    ...serverOptions,
  ],
  examples: {
    "kept beside each backup, and newer than it": "revocations export > revocations.jws",
    "after a restore": "revocations import revocations.jws",
    "checked with OpenSSL":
      "revocations export --format crl > pratique.crl && openssl crl -in pratique.crl -CAfile ca.crt -noout -text",
  },
  run: async (args, io) => (await import("./run-revocations.ts")).runRevocations(args, io),
});
