import type { CommandGroup } from "./command.ts";
import { outputOption } from "./output.ts";
import { serverOptions } from "./server-options.ts";

/** `pratique revocations …`. */
export const revocationsCommands: CommandGroup = {
  name: "revocations",
  summary: "What is revoked, and the signed list of it for those who check elsewhere",
  commands: [
    {
      name: "revocations list",
      summary: "List what is revoked, by whom and why",
      details: ["To undo one: kubectl delete credentialrevocation NAME."],
      operands: [],
      options: [outputOption, ...serverOptions],
      examples: [],
      run: async (args, io) => (await import("./run-revocations.ts")).listRevocations(args, io),
    },
    {
      name: "revocations export",
      summary: "Print a signed list of what is revoked; it counts for a day",
      details: [
        "jws is all of it, as a JSON Web Signature by the key of ServiceAccount tokens, which /openid/v1/jwks publishes. crl is a revocation list of X.509 by the CA, with the certificates whose serial number is known; users and tokens cannot be in it.",
      ],
      operands: [],
      options: [
        {
          name: "format",
          kind: "text",
          value: "FORMAT",
          choices: ["jws", "crl"],
          default: "jws",
          description: "which list",
        },
        ...serverOptions,
      ],
      examples: [
        {
          note: "checked with OpenSSL",
          line: "revocations export --format crl > pratique.crl && openssl crl -in pratique.crl -CAfile ca.crt -noout -text",
        },
      ],
      run: async (args, io) => (await import("./run-revocations.ts")).exportRevocations(args, io),
    },
  ],
};
