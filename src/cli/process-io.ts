import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import {
  availableParallelism,
  homedir,
  hostname,
  networkInterfaces,
  totalmem,
  getPriority,
  setPriority,
} from "node:os";
import { basename, resolve } from "node:path";
import { readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { wallClock } from "../host/system-clock.ts";
import { usageError } from "./cli-error.ts";
import type { Io, Output } from "./io.ts";
import type { RemoteClient } from "../client/remote.ts";
import type { ResolvedKubeconfig } from "../client/resolve-kubeconfig.ts";
import { release } from "./release.ts";
import { commands } from "./commands.ts";
import { logProcessAsJson, wantsJsonLog } from "./log-line.ts";
import { runProgram } from "./program.ts";

/** The environment of a command in this process. What only some commands need is loaded on demand. */
export function processIo(): Io {
  let interruption: AbortSignal | undefined;
  let isStdinRead = false;
  const reportedPaths = new Set<string>();
  return {
    program: basename(process.argv[1] ?? "").startsWith("kubectl-") ? "kubectl pratique" : "pratique",
    stdout: outputTo(process.stdout),
    stderr: outputTo(process.stderr),
    stdin: async () => {
      isStdinRead = true;
      return (await readStdin(mebibyte)).toString("utf8");
    },
    stdinBytes: async () => {
      isStdinRead = true;
      return readStdin(maxBytes);
    },
    env: process.env,
    cwd: process.cwd(),
    home: process.env["HOME"] ?? homedir(),
    hostname: hostname(),
    addresses: () =>
      Object.values(networkInterfaces()).flatMap((list) =>
        (list ?? []).filter(({ internal }) => !internal).map(({ address }) => address),
      ),
    isRoot: process.getuid?.() === 0,
    machine: () => ({ cpus: availableParallelism(), memoryBytes: totalmem() }),
    clock: wallClock,
    random: (size) => randomBytes(size),
    interrupted: () => (interruption ??= onFirstSignal()),
    readFile: async (path) => readFile(resolve(process.cwd(), path)),
    openPermissions: async (path, allowed) => {
      const file = resolve(process.cwd(), path);
      if (reportedPaths.has(file)) return undefined;
      reportedPaths.add(file);
      return (await import("../host/permissions.ts")).openPermissions(file, allowed);
    },
    listFolder: async (path) => {
      const entries = await readdir(resolve(process.cwd(), path), { withFileTypes: true }).catch(() => []);
      return entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }));
    },
    runChild: async (words, run) => (await import("./agent/child-program.ts")).runChild(words, run),
    connect: async (config) => connect(config, () => isStdinRead),
    startHub: async (options) => {
      paceHeap();
      lowerHelperThreads();
      return (await import("../server/hub.ts")).startHub(options);
    },
    probeCredential: async (trust, options) =>
      (await import("../credentials/proof/credential-probe.ts")).probeCredential(trust, options),
    runAgent: async (options) => (await import("../agent/node/agent.ts")).runAgent(options),
    runKlusterlet: async (options) => (await import("../agent/klusterlet/klusterlet.ts")).runKlusterlet(options),
    leaveHub: async (options, force) => (await import("../agent/klusterlet/leave-hub.ts")).leaveHub(options, force),
    requestAccess: async (options, report) =>
      (await import("../agent/access/request-access.ts")).requestAccess(options, report),
    join: async (options, report) => (await import("../agent/join/join.ts")).join(options, report),
  };
}

async function connect(config: ResolvedKubeconfig, isStdinRead: () => boolean): Promise<RemoteClient> {
  const { remoteClient } = await import("../client/remote.ts");
  const { kubeconfigAccess } = await import("../client/kubeconfig-access.ts");
  const { processWorld } = await import("../host/process-world.ts");
  const noTerminal = (): string | undefined =>
    isStdinRead() || !process.stdin.isTTY ? "standard input is not a terminal, or is read by the command" : undefined;
  return remoteClient({
    ...kubeconfigAccess(config, processWorld({ clock: wallClock, noTerminal })),
    userAgent: `pratique/${release} (${process.platform}/${process.arch})`,
    timeoutMs: 30_000,
    clock: wallClock,
    random: Math.random,
  });
}

function outputTo(stream: NodeJS.WriteStream): Output {
  // Once, however many environments there are.
  stream.off("error", readerGone).on("error", readerGone);
  return { write: (text) => void stream.write(text), isTty: stream.isTTY, columns: stream.columns };
}

const signals = { SIGINT: 130, SIGTERM: 143 } as const;

function onFirstSignal(): AbortSignal {
  const controller = new AbortController();
  for (const [signal, code] of Object.entries(signals)) {
    process.on(signal, () => {
      if (controller.signal.aborted) process.exit(code);
      controller.abort();
    });
  }
  return controller.signal;
}

const mebibyte = 1 << 20;
/** The maximum size of a revocation list. */
const maxBytes = 32 * mebibyte;

async function readStdin(limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw usageError(`standard input holds more than ${limit / mebibyte} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A closed reader, as in `| head -1`, is no failure. */
function readerGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

/** Runs the command line of this process and sets its exit code; ends the process a second later, whatever is still open. */
export async function runProcess(): Promise<void> {
  const words = process.argv.slice(2);
  const io = processIo();
  if (wantsJsonLog(commands, words)) logProcessAsJson(io);
  process.exitCode = await runProgram(commands, words, io);
  // Open handles, such as a kept-alive connection, are no longer needed; pending output is flushed first.
  setTimeout(() => process.exit(), 1_000).unref();
}

/**
 * How far the heap may grow, in percent of what was live after a collection, before the next one begins. V8 would let a small heap grow to
 * four times its live objects, so that a burst of large requests takes hundreds of megabytes that are dead already. Measured: a seventh more
 * processor time under such a burst (with 50), and for 8000 small creates 3.8 and 4.5 s instead of 3.6 and 4.0 s. Source: V8's flag --heap-growing-percent.
 */
const growingPercent = 40;

/** Collects garbage earlier than V8 would; for a process that only runs a hub. */
function paceHeap(): void {
  setFlagsFromString(`--heap-growing-percent=${growingPercent}`);
}

/** node starts so many threads for V8 before any other: four that help to collect garbage and to compile, and one that keeps their time. */
const helperThreads = 5;
/** The event loop then has seven tenths of the processor while all four are busy. With more, a thread that the loop waits for may itself have to wait for other programs. */
const niceness = 10;
const lowestPriority = 19;

/**
 * Lowers the priority of V8's helper threads where there is one processor only: while they mark a large heap, the four of them take four
 * fifths of it otherwise, and with 300 MB requests took 250 ms instead of 50. Changes nothing where there are more processors, on other
 * systems than Linux, and where the system denies it. Source: setpriority(2), "C library/kernel differences"; node's
 * src/node_platform.cc, WorkerThreadsTaskRunner.
 */
function lowerHelperThreads(): void {
  if (process.platform !== "linux" || availableParallelism() > 1) return;
  try {
    const others = readdirSync("/proc/self/task")
      .map(Number)
      .filter((thread) => thread !== process.pid);
    // Thread ids ascend in the order of creation.
    for (const thread of others.toSorted((one, other) => one - other).slice(0, helperThreads)) {
      setPriority(thread, Math.min(lowestPriority, getPriority() + niceness));
    }
  } catch {
    // A sandbox may deny it; the hub works without.
  }
}
