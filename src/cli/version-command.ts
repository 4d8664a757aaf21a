import type { Command } from "./command.ts";
import { outputOption } from "./output.ts";
import { serverOptions } from "./server-options.ts";

/** `pratique version`. */
export const versionCommand: Command = {
  name: "version",
  summary: "Print the version of this program, and of the server if there is a kubeconfig",
  details: [],
  operands: [],
  options: [
    { name: "client", kind: "boolean", default: "false", description: "ask no server" },
    outputOption,
    ...serverOptions,
  ],
  examples: [],
  run: async (args, io) => (await import("./run-version.ts")).runVersion(args, io),
};
