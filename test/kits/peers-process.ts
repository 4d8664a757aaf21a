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
  readonly command: string;
  readonly pid: number;
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
  /** When it is killed at the latest; default 150 s. */
  readonly deadlineMs?: number;
}

const defaultDeadlineMs = 150_000;

/** Starts a peer for the test that runs; it is stopped when the test ends, and what it printed is shown when the test fails. */
export function startPeer(program: PeerProgram, args: readonly string[], options: PeerStart): PeerProcess {
  return ofThisTest(spawnProcess(requirePeer(program), args, options));
}

/** Ties a process to the test that runs. */
export function ofThisTest(started: PeerProcess): PeerProcess {
  onTestFinished(async () => {
    await started.stop();
  });
  onTestFailed(() => {
    process.stderr.write(`--- ${started.command}\n${withoutNoise(started.printed())}\n---\n`);
  });
  return started;
}

/** Peers live for a minute: what Go's collector would free of their memory meanwhile is not worth its processor time. */
const largeHeap = { GOGC: "400" };

/** Starts a program; whoever does so stops it. */
export function spawnProcess(path: string, args: readonly string[], options: PeerStart): PeerProcess {
  const { home, env, deadlineMs = defaultDeadlineMs } = options;
  const command = [path, ...args].join(" ");
  const child = spawn(path, [...args], {
    cwd: home,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...largeHeap, ...env },
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
    if (match === null) throw new Error(`${command} ended before it printed ${pattern}:\n${withoutNoise(printed)}`);
    return match;
  };
  return { command, pid: child.pid ?? 0, printed: () => printed, until, done, stop };
}

/** Without the hundreds of lines in which Kubernetes programs repeat their flags and list their goroutines. */
export function withoutNoise(printed: string): string {
  return printed.replaceAll(/^.* (?:FLAG: --|feature gates: ).*\n/gm, "").replaceAll(/^goroutine (?:.+\n)+\n?/gm, "");
}

/** Flags as Go programs take them. */
export function goFlags(values: Readonly<Record<string, string | number | boolean>>): readonly string[] {
  return Object.entries(values).map(([name, value]) => `--${name}=${value}`);
}

/** Runs a peer to its end. */
export async function runPeer(program: PeerProgram, args: readonly string[], options: PeerStart): Promise<PeerEnd> {
  return startPeer(program, args, options).done;
}

/** Asks again until there is an answer. @throws Error that names `what` after so many seconds, 50 unless given, with the last error */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T | undefined> | undefined,
  seconds = 50,
): Promise<T> {
  const end = Date.now() + seconds * 1000;
  let last: unknown = "no answer";
  while (Date.now() < end) {
    try {
      const answer = await probe();
      if (answer !== undefined) return answer;
    } catch (error) {
      if (error instanceof TypeError) throw error;
      last = error;
    }
    await pause(50);
  }
  throw new Error(`waited ${seconds} s for ${what}`, { cause: last });
}
