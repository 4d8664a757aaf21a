import type { Command } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../server-options.ts";

/** `pratique revocations`. */
export const revocationsCommand: Command = {
  name: "revocations",
  summary: "List what is revoked, or print a signed list of it",
  details: [
    "list shows what is revoked, by whom and why. To undo one: kubectl delete credentialrevocation NAME.",
    "export prints a list that the hub signs for those who check elsewhere; it counts for a day. jws is all of it, as a JSON Web Signature by the key of ServiceAccount tokens, which /openid/v1/jwks publishes. crl is a revocation list of X.509 by the CA, with the certificates whose serial number is known; users and tokens cannot be in it.",
  ],
  operands: [
    {
      name: "list|export",
      required: false,
      many: false,
      choices: ["list", "export"],
      description: "what to do; default list",
    },
  ],
  options: [
    {
      name: "format",
      kind: "text",
      value: "FORMAT",
      choices: ["jws", "crl"],
      default: "jws",
      description: "which signed list",
    },
    outputOption,
    ...serverOptions,
  ],
  examples: [
    {
      note: "checked with OpenSSL",
      line: "revocations export --format crl > pratique.crl && openssl crl -in pratique.crl -CAfile ca.crt -noout -text",
    },
  ],
  run: async (args, io) => (await import("./run-revocations.ts")).runRevocations(args, io),
};
