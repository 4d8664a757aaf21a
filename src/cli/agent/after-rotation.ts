import { dirname } from "node:path";
import type { KeptName } from "../../credentials/credential-event.ts";
import { plainText } from "../../credentials/join-error.ts";
import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";
import type { Args } from "../command.ts";
import type { Io } from "../io.ts";

const timeoutMs = 30_000;
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What `--after-rotation` asks for: the command is run after each renewal, and what came of it is logged. Undefined where it is not given. */
export function afterRotation(
  args: Args,
  io: Io,
  log: (entry: LogEntry) => void,
): ((name: KeptName) => Promise<void>) | undefined {
  const words = (args.text("after-rotation") ?? "").split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return undefined;
  return async ({ kind, path }) => {
    const env = {
      PATH: io.env["PATH"] ?? systemPath,
      PRATIQUE_KIND: kind,
      PRATIQUE_FILE: path,
      PRATIQUE_DIR: dirname(path),
    };
    const { kind: end, code, output } = await io.runChild(words, { env, timeoutMs });
    const answer = plainText(output, 1000);
    const details = { command: words.join(" "), file: path, ...(answer === "" ? {} : { output: answer }) };
    if (end === "ended" && code === 0)
      return log(logEntry("RotationCommandRun", "the agent ran the command of --after-rotation", { ...details }));
    const why = {
      ended: `ended with code ${code}`,
      killed: "was killed",
      late: `was killed after ${timeoutMs / 1000} seconds`,
      missing: "cannot be started",
    };
    log(logEntry("RotationCommandFailed", `the command of --after-rotation ${why[end]}`, { ...details }));
  };
}
