import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import type { Clock } from "../../src/apimachinery/clock.ts";
import { eventually } from "./peers-process.ts";

/** A command of ours that runs in this process, with the real network, clock and files. */
export interface ProgramRun {
  readonly out: () => string;
  readonly err: () => string;
  /** What SIGTERM would do. */
  readonly interrupt: () => void;
  /** The exit code. */
  readonly done: Promise<number>;
  /** Resolves once it has written that to standard error. @throws Error after 50 s */
  until(pattern: RegExp): Promise<void>;
}

/** Runs a command line; its clock is so many milliseconds ahead, or another one. */
export function programRun(words: readonly string[], ahead: number | Clock = 0): ProgramRun {
  const stop = new AbortController();
  let [out, err] = ["", ""];
  const real = processIo();
  const io = {
    ...real,
    clock: typeof ahead === "number" ? { ...real.clock, now: () => real.clock.now() + ahead } : ahead,
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
      const written = eventually(`${words.join(" ")} to write ${pattern}`, () => pattern.test(err) || undefined);
      await written.catch((cause: unknown) => {
        throw new Error(`${words.join(" ")} did not write ${pattern}; it wrote ${err}`, { cause });
      });
    },
  };
}
