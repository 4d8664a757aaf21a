import type { Command, CommandGroup, Option } from "./command.ts";
import { outputOption } from "./output.ts";

const dataDir: Option = {
  name: "data-dir",
  kind: "text",
  value: "DIR",
  default: "./pratique-data",
  completes: "directory",
  description: "the data directory of the hub, on its machine",
};

const how =
  "It works on the files of the hub's data directory; a hub that runs takes it up within a few seconds, and no restart is needed.";

function step(name: "prepare" | "abandon" | "switch", summary: string, details: readonly string[]): Command {
  return {
    name: `ca ${name}`,
    summary,
    details: [...details, how],
    operands: [],
    options: [dataDir],
    examples: [{ line: `ca ${name} --data-dir /var/lib/pratique`, note: summary.toLowerCase() }],
    run: async (args, io) => (await import("./run-ca.ts")).caStep(name, args, io),
  };
}

/** `pratique ca …`. */
export const caCommands: CommandGroup = {
  name: "ca",
  summary: "Change the CA of a hub without losing a machine",
  commands: [
    {
      name: "ca status",
      summary: "Show the CAs of a hub, and how far a change has come",
      details: [],
      operands: [],
      options: [dataDir, outputOption],
      examples: [{ line: "ca status --data-dir /var/lib/pratique", note: "which CA signs, and what comes next" }],
      run: async (args, io) => (await import("./run-ca.ts")).caStatus(args, io),
    },
    step("prepare", "Make the next CA, which is believed already and signs nothing yet", [
      "From now on cluster-info, kube-root-ca.crt and everything that is handed out name both CAs. The present CA vouches for the next, so that machines which know the present one alone can follow.",
    ]),
    step("abandon", "Drop a next CA that was prepared", ["Only until it is switched to."]),
    step("switch", "Let the next CA sign; the one before is believed still", [
      "The serving certificate and admin.kubeconfig are made anew. Certificates of the CA before stay good until it is retired.",
    ]),
  ],
};
