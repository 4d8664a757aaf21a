import { defineOptions, type Option } from "./command.ts";

/** The options of every command that stays and writes a log to stderr. */
export const logOptions: readonly Option[] = defineOptions({
  "--log-format FORMAT = text": {
    choices: ["text", "json"],
    description:
      "how log lines on stderr look; with json, errors, warnings and faults of the program are lines of JSON too",
  },
  "--log-level LEVEL = info": { choices: ["debug", "info", "warn", "error"], description: "the least that is logged" },
});
