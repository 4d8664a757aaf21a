import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism, homedir, hostname, networkInterfaces, totalmem } from "node:os";
import { basename, resolve } from "node:path";
import { wallClock } from "../host/system-clock.ts";
import { lowerHelperThreads, paceHeap } from "./hub/hub-process.ts";
import { usageError } from "./cli-error.ts";
import type { Io, Output } from "./io.ts";
import { release } from "./release.ts";

/** The world of a command as this process has it. What only some commands need is loaded when it is asked for. */
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
    connect: async (config) => {
      const { remoteClient } = await import("../client/remote.ts");
      const { kubeconfigAccess } = await import("../client/kubeconfig-access.ts");
      const { processWorld } = await import("../host/process-world.ts");
      const noTerminal = (): string | undefined =>
        isStdinRead || !process.stdin.isTTY ? "standard input is not a terminal, or is read by the command" : undefined;
      return remoteClient({
        ...kubeconfigAccess(config, processWorld({ clock: wallClock, noTerminal })),
        userAgent: `pratique/${release} (${process.platform}/${process.arch})`,
        timeoutMs: 30_000,
        clock: wallClock,
        random: Math.random,
      });
    },
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

function outputTo(stream: NodeJS.WriteStream): Output {
  // Once, however many worlds there are.
  stream.off("error", readerGone).on("error", readerGone);
  return { write: (text) => stream.write(text), isTty: stream.isTTY, columns: stream.columns };
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
/** As much as a list of revocations may hold. */
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

/** A reader that has gone, as in `| head -1`, is no failure of ours. */
function readerGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}
