import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Client } from "../../src/client/client.ts";
import type { RawReply } from "../../src/client/remote.ts";
import type { ResolvedKubeconfig } from "../../src/client/resolve-kubeconfig.ts";
import type { Io } from "../../src/cli/io.ts";
import { commands } from "../../src/cli/commands.ts";
import { runProgram } from "../../src/cli/program.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";

/** What a command's world holds; all of it may be left out. */
export interface FakeIoOptions extends Partial<Omit<Io, "stdin" | "readFile" | "stdout" | "stderr" | "clock">> {
  readonly stdin?: string;
  /** By absolute path; the working directory is `/here`, the home `/home/ada`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether stdout and stderr are terminals. */
  readonly tty?: boolean;
  /** The API behind every connection. */
  readonly client?: Client;
  /** Answers to `raw`, by path. */
  readonly replies?: Readonly<Record<string, { readonly status: number; readonly body: string }>>;
  readonly clock?: FakeClock;
}

/** An Io whose outputs can be read. */
export interface FakeIo extends Io {
  readonly out: () => string;
  readonly err: () => string;
  /** What SIGTERM would do. */
  readonly interrupt: () => void;
  /** The configurations with which connections were made. */
  readonly connections: ResolvedKubeconfig[];
  /** How many of them were closed. */
  readonly closed: () => number;
}

/** A world in memory. Random bytes count up from 0. */
export function fakeIo(options: FakeIoOptions = {}): FakeIo {
  const { files = {}, stdin = "", tty = false, client, replies = {}, clock = fakeClock(), ...given } = options;
  const written = { out: "", err: "" };
  const stop = new AbortController();
  const connections: ResolvedKubeconfig[] = [];
  let closed = 0;
  let next = 0;
  return {
    program: "pratique",
    stdout: { write: (text) => void (written.out += text), isTty: tty },
    stderr: { write: (text) => void (written.err += text), isTty: tty },
    stdin: () => Promise.resolve(stdin),
    stdinBytes: () => Promise.resolve(Buffer.from(stdin)),
    env: {},
    cwd: "/here",
    home: "/home/ada",
    hostname: "Box-1",
    addresses: () => ["10.0.0.7", "127.0.0.1"],
    isRoot: false,
    clock,
    random: (size) => Uint8Array.from({ length: size }, () => next++ % 252),
    interrupted: () => stop.signal,
    readFile: async (path) => {
      const text = new Map(Object.entries(files)).get(resolve("/here", path));
      if (text === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
      return Buffer.from(text);
    },
    openPermissions: async () => undefined,
    listFolder: async (path) => {
      const below = `${resolve("/here", path)}/`;
      const names = Object.keys(files).filter((file) => file.startsWith(below));
      const entries = names.map((file) => file.slice(below.length).split("/"));
      return entries.map(([name = "", ...more]) => ({ name, isFolder: more.length > 0 }));
    },
    connect: async (config) => {
      connections.push(config);
      if (client === undefined) throw new TypeError("this world has no server");
      return { ...client, raw: async (_method, path) => reply(replies[path]), close: () => void (closed += 1) };
    },
    runChild: () => Promise.reject(new TypeError("this world has no programs")),
    startHub: () => Promise.reject(new TypeError("this world has no hub")),
    probeCredential: async () => ({ kind: "accepted" }),
    runAgent: () => Promise.reject(new TypeError("this world has no agent")),
    machine: () => ({ cpus: 4, memoryBytes: 8_589_934_592 }),
    runKlusterlet: () => Promise.reject(new TypeError("this world has no agent")),
    leaveHub: () => Promise.reject(new TypeError("this world has no agent")),
    requestAccess: () => Promise.reject(new TypeError("this world has no agent")),
    join: () => Promise.reject(new TypeError("this world has no agent")),
    ...given,
    out: () => written.out,
    err: () => written.err,
    interrupt: () => stop.abort(),
    connections,
    closed: () => closed,
  };
}

/** Runs a command line in such a world: the words of `line` are separated by single blanks. */
export async function runLine(line: string | readonly string[], io: FakeIo): Promise<number> {
  return runProgram(commands, typeof line === "string" ? line.split(" ").filter((word) => word !== "") : line, io);
}

/** A kubeconfig for `server` with `caPem`, as a hub writes one. */
export function kubeconfigText(server = "https://hub.example:6443", caPem = ""): string {
  const ca = caPem === "" ? "" : `, certificate-authority-data: ${Buffer.from(caPem).toString("base64")}`;
  return [
    "apiVersion: v1",
    "kind: Config",
    "current-context: c",
    `clusters: [{name: h, cluster: {server: "${server}"${ca}}}]`,
    `users: [{name: u, user: {token: ${createHash("sha256").update("u").digest("hex").slice(0, 16)}}}]`,
    "contexts: [{name: c, context: {cluster: h, user: u}}]",
    "",
  ].join("\n");
}

function reply(given: { readonly status: number; readonly body: string } | undefined): RawReply {
  const { status, body } = given ?? { status: 404, body: "{}" };
  return { status, headers: {}, body: Buffer.from(body) };
}
