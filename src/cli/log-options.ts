import type { Option } from "./command.ts";

/** The options of every command that stays and writes a log to stderr. */
export const logOptions: readonly Option[] = [
  {
    name: "log-format",
    kind: "text",
    value: "FORMAT",
    choices: ["text", "json"],
    default: "text",
    description:
      "how log lines on stderr look; with json, errors, warnings and faults of the program are lines of JSON too",
  },
  {
    name: "log-level",
    kind: "text",
    value: "LEVEL",
    choices: ["debug", "info", "warn", "error"],
    default: "info",
    description: "the least that is logged",
  },
];
