import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { needOf, peerFolder, peerProgram, type PeerProgram } from "./peers.ts";
import { reportSkip } from "./report-skip.ts";

/** The Open Cluster Management that tests run against ours. */
const ocmVersion = "v1.2.0";

const modulePath = "open-cluster-management.io/ocm";
const apiModule = "open-cluster-management.io/api";
const program = "registration";
const installMs = 15 * 60_000;

/** The original's `registration` program, agent and controller in one, and what its module says that our tests need. */
export interface OcmPeer {
  readonly registration: string;
  /** The definitions of the original's kinds, as YAML, whose files' names match. They are read from its module, and kept nowhere. */
  definitions(wanted: RegExp): Promise<readonly string[]>;
}

/**
 * A group of tests that need the original's program, and `needs` beside it; the program is compiled by the Go toolchain where it is
 * absent: the first time takes minutes. Where that cannot be done the whole group is skipped with one line. To be awaited at the top
 * of a file.
 */
export async function ocmSuite(
  title: string,
  needs: readonly PeerProgram[],
  body: (ocm: OcmPeer) => void,
): Promise<void> {
  const absent = needs.find((name) => peerProgram(name) === undefined);
  const made = absent === undefined ? await ocmPeer() : { missing: `${absent} is not in ${peerFolder()}` };
  if ("missing" in made) reportSkip(title, made.missing, absent === undefined ? "go" : needOf(absent));
  const run = "peer" in made ? describe : describe.skip;
  run(title, () => {
    body("peer" in made ? made.peer : { registration: program, definitions: async () => [] });
  });
}

async function ocmPeer(): Promise<{ readonly peer: OcmPeer } | { readonly missing: string }> {
  const folder = peerFolder();
  const registration = join(folder, `ocm-${ocmVersion}`, program);
  const source = await downloaded(`${modulePath}@${ocmVersion}`, tmpdir());
  if ("why" in source) return { missing: source.why };
  if (!existsSync(registration)) {
    const why = await build(source.dir, registration);
    if (why !== undefined) return { missing: why };
  }
  const api = await downloaded(`${apiModule}@${await requiredVersion(source.dir)}`, tmpdir());
  if ("why" in api) return { missing: api.why };
  const definitions = async (wanted: RegExp): Promise<readonly string[]> => {
    const files = (await readdir(api.dir, { recursive: true })).filter((file) => wanted.test(file)).toSorted();
    return Promise.all(files.map((file) => readFile(join(api.dir, file), "utf8")));
  };
  return { peer: { registration, definitions } };
}

/**
 * Builds in a copy of the module, with what its own go.sum pins: `go install` of a version asks for the list of all versions, which not
 * every proxy gives.
 */
async function build(source: string, target: string): Promise<string | undefined> {
  const copy = await mkdtemp(join(tmpdir(), "pratique-ocm-"));
  try {
    await cp(source, copy, { recursive: true });
    await writable(copy);
    await mkdir(join(target, ".."), { recursive: true });
    // One at a time, as test files run side by side, and only by the first of them; what is half written bears another name.
    const once = 'test -x "$0" || { go build -o "$0.part" "$1" && mv "$0.part" "$0"; }';
    const lock = join(peerFolder(), "ocm.lock");
    const made = await run("flock", [lock, "sh", "-c", once, target, `./cmd/${program}`], copy);
    return made.code === 0 && existsSync(target) ? undefined : whyNot(made);
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}

/** Modules lie in Go's cache such that nobody writes into them. */
async function writable(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o700);
  }
}

async function downloaded(module: string, cwd: string): Promise<{ readonly dir: string } | { readonly why: string }> {
  const listed = await run("go", ["mod", "download", "-json", module], cwd);
  if (listed.code !== 0) return { why: whyNot(listed) };
  const { Dir = "" } = JSON.parse(listed.out) as { readonly Dir?: string };
  return { dir: Dir };
}

/** The version of the kinds that this program was made with. */
async function requiredVersion(source: string): Promise<string> {
  const text = await readFile(join(source, "go.mod"), "utf8");
  const [, version] = /^\s*open-cluster-management\.io\/api (\S+)/m.exec(text) ?? [];
  if (version === undefined) throw new Error(`${modulePath}@${ocmVersion} names no ${apiModule}`);
  return version;
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(command: string, args: readonly string[], cwd: string): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      cwd,
      env: { ...process.env, GOFLAGS: "-modcacherw -mod=readonly -buildvcs=false", CGO_ENABLED: "0" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: installMs,
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    child.once("error", (error) => resolve({ code: -1, out, err: error.message }));
    child.once("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
}

function whyNot({ err }: Ran): string {
  return `${modulePath} ${ocmVersion} cannot be built by go: ${err.trim().split("\n").at(-1) ?? ""}`;
}
