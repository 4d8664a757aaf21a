import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import type { PratiqueProgram } from "./peers-pratique.ts";
import { requirePeer } from "./peers.ts";
import { spawnProcess, type PeerProcess } from "./peers-process.ts";

/** One command of a page, and all that it must print. */
export interface Vertex {
  readonly command: string;
  readonly printed: string;
}

/** What a section of a page says to type. */
export interface Section {
  /** The lines of `sh` blocks, comments and continuations resolved. */
  readonly setup: readonly string[];
  /** The commands of `console` blocks. */
  readonly vertices: readonly Vertex[];
}

const root = resolve(import.meta.dirname, "../..");

/** The commands below a heading of a page in docs. @throws Error when there are none */
export async function docsSection(page: string, heading: string): Promise<Section> {
  const text = await readFile(join(root, "docs", page), "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind, body = ""]) => ({ kind, body }));
  const of = (kind: string): string => blocks.flatMap((block) => (block.kind === kind ? [block.body] : [])).join("");
  const setup = of("sh")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "");
  const vertex = of("console")
    .split(/^\$ /m)
    .slice(1)
    .map((one) => ({ command: one.slice(0, one.indexOf("\n")), printed: one.slice(one.indexOf("\n") + 1) }));
  if (setup.length === 0 && vertex.length === 0) throw new Error(`docs/${page} has no commands below ${heading}`);
  return { setup, vertices: vertex };
}

/** A shell in a copy of an example's folder, with `pratique` and `kubectl` on its path. */
export interface ExampleShell {
  readonly dir: string;
  /** Runs a line to its end; what it prints, both streams in their order. Its exit code is its own affair. */
  run(line: string, env?: Readonly<Record<string, string>>): Promise<string>;
  /** As `run`. @throws Error with what was printed where it fails */
  ok(line: string): Promise<string>;
  /** Starts a line that goes on; it is stopped at the end. */
  start(line: string): PeerProcess;
  remove(): Promise<void>;
}

/** Copies `examples/<name>`; `replaced` changes words of every line, such as ports that may be taken. */
export async function exampleShell(
  name: string,
  replaced: Readonly<Record<string, string>>,
  program: Pick<PratiqueProgram, "executable">,
): Promise<ExampleShell> {
  const home = await mkdtemp(join(tmpdir(), "pratique-example-"));
  const dir = join(home, name);
  await cp(join(root, "examples", name), dir, { recursive: true });
  const path = [dirname(program.executable), dirname(requirePeer("kubectl")), process.env["PATH"]].join(delimiter);
  const running: PeerProcess[] = [];
  const line = (text: string): string =>
    Object.entries(replaced).reduce((changed, [from, to]) => changed.replaceAll(from, to), text);
  const bash = (text: string, env: Readonly<Record<string, string>> = {}): PeerProcess =>
    spawnProcess("/bin/bash", ["-c", line(text)], { home: dir, env: { PATH: path, ...env }, deadlineMs: 180_000 });
  const run: ExampleShell["run"] = async (text, env) => (await bash(text, env).done).printed;
  return {
    dir,
    run,
    ok: async (text) => {
      const { code, printed } = await bash(text).done;
      if (code !== 0) throw new Error(`${text} ended with ${code}: ${printed}`);
      return printed;
    },
    start: (text) => {
      const started = bash(`exec ${text}`);
      running.push(started);
      return started;
    },
    remove: async () => {
      for (const one of running.toReversed()) await one.stop();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The policies of `examples/opa-walk-through`: how each is named to the authorizer, and whether it gives reasons. */
export const examplePolicies = [
  { title: "Rego v1 with reasons", words: "--query data.k8s.decision --policy policy", reasons: true },
  { title: "Rego v1", words: "--query data.k8s.allow --policy policy", reasons: false },
  { title: "Rego v0 with future.keywords", words: "--query data.k8s.allow --policy policy-v0", reasons: false },
] as const;

/** What is printed where the policy gives no reasons. */
export function withoutReasons(vertex: readonly Vertex[]): readonly Vertex[] {
  return vertex.map(({ command, printed }) => ({
    command,
    printed: printed.replaceAll(/(in the namespace "default"): .*$/gm, "$1").replaceAll(/^no - .*$/gm, "no"),
  }));
}
