import { agentFoldersOption } from "./agent-folders-option.ts";
import type { Command } from "../command.ts";

/** `pratique credential`. */
export const credentialCommand: Command = {
  name: "credential",
  summary: "Give a program of this machine the credential that the agent keeps fresh",
  details: [
    "An exec credential plugin: kubectl and every client library of Kubernetes run it, and run it again when the credential is renewed or refused. --print-kubeconfig prints a kubeconfig that says so.",
    "It calls no server and writes nothing. It prints a secret: only users who may read the files can run it.",
  ],
  operands: [],
  options: [
    agentFoldersOption,
    {
      name: "kind",
      kind: "text",
      value: "KIND",
      choices: ["certificate", "token"],
      description: "which, where there are both; default the only one that is there",
    },
    {
      name: "print-kubeconfig",
      kind: "boolean",
      default: "false",
      description: "print a kubeconfig whose user is this command, without a secret",
    },
    {
      name: "command",
      kind: "text",
      value: "FILE",
      completes: "file",
      default: "pratique",
      description: "with --print-kubeconfig: how clients are to call this program, by name or by absolute path",
    },
  ],
  examples: [
    { note: "a kubeconfig for others", line: "credential --dir /var/lib/pratique/access --print-kubeconfig" },
    { note: "what kubectl runs", line: "credential --dir /var/lib/pratique/access" },
  ],
  run: async (args, io) => (await import("./run-credential.ts")).runCredential(args, io),
};
