import { agentFoldersOption } from "./agent-folders-option.ts";
import type { Command } from "./command.ts";
import { logOptions } from "./log-options.ts";
import { outputOption } from "./output.ts";

/** `pratique agent`. */
export const agentCommand: Command = {
  name: "agent",
  summary: "Keep access that was granted: renew the token before it ends, again and again",
  details: [
    "Asks for the next token with the one that is there, between 70 and 90 % of its life, and replaces the file in one stroke; whoever reads the kubeconfig always finds a valid one. Failures are tried again with growing pauses.",
    "A token that the hub refuses cannot be renewed: the agent ends, unless --ask-again lets it ask for access anew, which people must approve again.",
    "As a service it needs no more than `Type=simple` and `Restart=on-failure`.",
  ],
  operands: [],
  options: [
    agentFoldersOption,
    {
      name: "key",
      kind: "text",
      value: "FILE",
      completes: "file",
      description: "the private key, where `pratique request` was given one; for --ask-again",
    },
    { name: "once", kind: "boolean", default: "false", description: "renew if it is time to, and end" },
    {
      name: "status",
      kind: "boolean",
      default: "false",
      description: "print how it stands and end, with code 0 if the token is good and 1 if not; asks nobody",
    },
    {
      name: "ask-again",
      kind: "boolean",
      default: "false",
      description: "ask for access anew, under a new name, when the token is refused",
    },
    outputOption,
    ...logOptions,
  ],
  examples: [
    { note: "stay, and renew", line: "agent --dir /var/lib/pratique/access" },
    { note: "for a health check", line: "agent --dir /var/lib/pratique/access --status" },
  ],
  run: async (args, io) => (await import("./run-agent.ts")).runAgent(args, io),
};
