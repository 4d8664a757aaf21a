import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { eventually } from "./peers-process.ts";

/** A command of ours that runs in this process, with the real network, clock and files. */
export interface ProgramRun {
  readonly out: () => string;
  readonly err: () => string;
  /** What SIGTERM would do. */
  readonly interrupt: () => void;
  /** The exit code. */
  readonly done: Promise<number>;
  /** Resolves once it has written that to standard error. @throws Error after 30 s */
  until(pattern: RegExp): Promise<void>;
}

/** Runs a command line; its clock is `aheadMs` milliseconds ahead. */
export function programRun(words: readonly string[], aheadMs = 0): ProgramRun {
  const stop = new AbortController();
  let [out, err] = ["", ""];
  const real = processIo();
  const io = {
    ...real,
    clock: { ...real.clock, now: () => real.clock.now() + aheadMs },
    stdout: { write: (text: string) => void (out += text), isTty: false },
    stderr: { write: (text: string) => void (err += text), isTty: false },
    interrupted: () => stop.signal,
  };
  return {
    out: () => out,
    err: () => err,
    interrupt: () => stop.abort(),
    done: runProgram(commands, words, io),
    until: async (pattern) => {
      await eventually(`${words.join(" ")} to write ${pattern}; it wrote ${err}`, () => pattern.test(err) || undefined);
    },
  };
}
