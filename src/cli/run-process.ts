import { commands } from "./commands.ts";
import { logProcessAsJson, wantsJsonLog } from "./json-log.ts";
import { processIo } from "./process-io.ts";
import { runProgram } from "./program.ts";

/** Runs the command line of this process and sets its exit code; ends the process a second later, whatever is still open. */
export async function runProcess(): Promise<void> {
  const words = process.argv.slice(2);
  const io = processIo();
  if (wantsJsonLog(commands, words)) logProcessAsJson(io);
  process.exitCode = await runProgram(commands, words, io);
  // Whatever is still open, a kept connection say, has no more to tell: its time is up, though what is written goes out first.
  setTimeout(() => process.exit(), 1_000).unref();
}
