import { defineCommand, defineOptions, type Command } from "../command.ts";
import { outputOption } from "../output.ts";
import { serverOptions } from "../server-options.ts";

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
