import { agentFoldersOption } from "./agent-folders-option.ts";
import type { Command } from "../command.ts";
import { logOptions } from "../log-options.ts";
import { outputOption } from "../output.ts";

/** `pratique agent`. */
export const agentCommand: Command = {
  name: "agent",
  summary: "Keep the credentials of this machine fresh: renew them before they end",
  details: [
    "Each is renewed with itself between 70 and 90 % of its life, and its file replaced in one stroke: a reader of the kubeconfig always finds a valid one. A certificate gets a new key each time. Failures are tried again with growing pauses, or as the server asks.",
    "The agent requests a new credential in place of an expired one with the key of this machine, and approvers or policies of the hub decide: docs/recovery.md. What the hub refuses before its end cannot be renewed; the agent asks about it every ten minutes, and says so: docs/rotation.md. One that is lost leaves the others alone; when none is left the agent ends, unless --ask-again lets it request access again, which approvers must approve again.",
    "As a service it reports its status to systemd where `systemd-notify` is there: `Type=notify`, `NotifyAccess=all`, and `WatchdogSec` if wanted.",
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
    {
      name: "once",
      kind: "boolean",
      default: "false",
      description:
        "renew what is due, ask the hub whether it accepts each credential, and end: with code 3 if the hub cannot be reached, and 4 if it refuses one",
    },
    {
      name: "status",
      kind: "boolean",
      default: "false",
      description:
        "ask the hub about each credential, for 5 seconds at most, print how they stand and end: with code 0 if all are good and accepted, 1 if one has ended or cannot be read, 4 if the hub refuses one, 3 if they are good and the hub cannot be reached",
    },
    {
      name: "ask-again",
      kind: "boolean",
      default: "false",
      description: "request access again also when the hub rejects a token before it expires",
    },
    {
      name: "after-rotation",
      kind: "text",
      value: "COMMAND",
      description:
        "run this after each renewal, without a shell: words at blanks, 30 seconds at most, with PRATIQUE_KIND, PRATIQUE_FILE and PRATIQUE_DIR in its environment",
    },
    {
      name: "owner",
      kind: "text",
      value: "USER[:GROUP]",
      description: "whose the files of credentials are; for root only",
    },
    {
      name: "mode",
      kind: "text",
      value: "MODE",
      description: "who may read them: 0600 (default), 0400, 0640 or 0440",
    },
    {
      name: "health-address",
      kind: "text",
      value: "HOST:PORT",
      description:
        "where to answer GET /livez, and /readyz with 200 while all credentials are good and the hub takes them, over plain HTTP; default nowhere",
    },
    outputOption,
    ...logOptions,
  ],
  examples: [
    { note: "stay, and renew", line: "agent --dir /var/lib/pratique" },
    { note: "for a health check", line: "agent --dir /var/lib/pratique --status" },
  ],
  run: async (args, io) => (await import("./run-agent.ts")).runAgent(args, io),
};
