import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFailed, onTestFinished } from "vitest";
import { requirePeer, type PeerProgram } from "./peers.ts";

/** What a peer program left behind: its exit code (-1 when it was killed) and all it printed, both streams in their order. */
export interface PeerEnd {
  readonly code: number;
  readonly printed: string;
}

/** A program of others that runs. */
export interface PeerProcess {
  /** What it printed so far, both streams. */
  readonly printed: () => string;
  /** Resolves with the match once it is printed. @throws Error with all it printed when it ends or time is up before. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  readonly done: Promise<PeerEnd>;
  /** Kills it, and waits for that; a kubelet that bootstraps does not heed SIGTERM. */
  stop(): Promise<PeerEnd>;
}

export interface PeerStart {
  /** HOME and working folder. */
  readonly home: string;
  readonly env?: Readonly<Record<string, string>>;
  /** When it is killed at the latest; default 45 s. */
  readonly deadlineMs?: number;
}

const defaultDeadlineMs = 45_000;

/** Starts a peer for the test that runs; it is stopped when the test ends, and what it printed is shown when the test fails. */
export function startPeer(program: PeerProgram, args: readonly string[], options: PeerStart): PeerProcess {
  const { home, env, deadlineMs = defaultDeadlineMs } = options;
  const child = spawn(requirePeer(program), [...args], {
    cwd: home,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  const lookers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      printed += chunk;
      for (const look of lookers) look();
    });
  }
  const deadline = setTimeout(() => {
    printed += `\n[killed: ${deadlineMs} ms have passed]\n`;
    child.kill("SIGKILL");
  }, deadlineMs);
  const done = new Promise<PeerEnd>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(deadline);
      resolve({ code: code ?? -1, printed });
    });
  });
  const stop = async (): Promise<PeerEnd> => {
    child.kill("SIGKILL");
    return done;
  };
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const seen = new Promise<void>((resolve) => {
      const look = (): void => {
        if (pattern.test(printed)) resolve();
      };
      lookers.add(look);
      look();
    });
    await Promise.race([seen, done]);
    const match = pattern.exec(printed);
    if (match === null) throw new Error(`${program} ended before it printed ${pattern}:\n${withoutFlags(printed)}`);
    return match;
  };
  onTestFinished(async () => {
    await stop();
  });
  onTestFailed(() => {
    process.stderr.write(`--- ${program} ${args.join(" ")}\n${withoutFlags(printed)}\n---\n`);
  });
  return { printed: () => printed, until, done, stop };
}

/** Without the hundreds of lines in which Kubernetes programs repeat their flags. */
function withoutFlags(printed: string): string {
  return printed.replaceAll(/^.* (?:FLAG: --|feature gates: ).*\n/gm, "");
}

/** Flags as Go programs take them. */
export function goFlags(values: Readonly<Record<string, string | number | boolean>>): readonly string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

/** Runs a peer to its end. */
export async function runPeer(program: PeerProgram, args: readonly string[], options: PeerStart): Promise<PeerEnd> {
  return startPeer(program, args, options).done;
}

/** Asks again until there is an answer. @throws Error that names `what` after 30 s, with the last error */
export async function eventually<T>(what: string, probe: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const end = Date.now() + 30_000;
  let last: unknown = "no answer";
  while (Date.now() < end) {
    try {
      const answer = await probe();
      if (answer !== undefined) return answer;
    } catch (error) {
      last = error;
    }
    await pause(50);
  }
  throw new Error(`waited 30 s for ${what}`, { cause: last });
}
