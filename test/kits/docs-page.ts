import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { freePort } from "./peers-kube.ts";
import type { PratiqueProgram } from "./peers-pratique.ts";
import { spawnProcess, type PeerProcess } from "./peers-process.ts";
import { requirePeer } from "./peers.ts";

/** A fenced block of a page; `text` is a picture or a log line and is not run. */
export interface Block {
  readonly heading: string;
  readonly kind: string;
  readonly body: string;
}

/** Words of a page, and what a test types in their place: ports, folders, and names that a program has chosen. */
export type Words = Readonly<Record<string, string>>;

/** A page that is typed block by block, in its order, in a folder of its own with `pratique` and `kubectl` on the path. */
export interface DocsPage {
  readonly dir: string;
  /** The port in place of 6443. */
  readonly port: number;
  /** Adds words that hold from here on. */
  replace(words: Words): void;
  /** The next block, which begins so. @throws Error where the page has another one there */
  next(begins: string): string;
  /** Writes the next block to a file of the folder. */
  save(begins: string, file: string): Promise<void>;
  /** Types the lines of the next block, each of which must succeed; what each printed, by line. */
  run(begins: string, words?: Words): Promise<readonly string[]>;
  /** Types one line. Variables and the folder stay for the next ones. @throws Error with what it printed where it fails */
  type(line: string): Promise<string>;
  /** As `type`, and it may fail. */
  typeAny(line: string): Promise<string>;
  /** Starts a line that runs on until the test ends. */
  start(line: string): PeerProcess;
  /** Starts a hub by a line of the page, on the port and with more flags, and waits until it is ready. */
  hub(line?: string): Promise<PeerProcess>;
  /** The lines of the next block by names of the test. @throws Error where it has more or fewer */
  commands<K extends string>(begins: string, ...names: readonly K[]): Readonly<Record<K, string>>;
  /** The first lines of the blocks that were not typed. */
  left(): readonly string[];
}

const root = resolve(import.meta.dirname, "../..");
const notRun = new Set(["text"]);

/** The blocks of a page below docs/ or of the README. */
export async function pageBlocks(page: string): Promise<readonly Block[]> {
  const text = await readFile(join(root, page === "README.md" ? page : join("docs", page)), "utf8");
  return text.split(/^## /m).flatMap((part) => {
    const heading = part.slice(0, part.indexOf("\n"));
    return [...part.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, kind = "", body = ""]) => ({
      heading,
      kind,
      body,
    }));
  });
}

/** The commands of a block: without comments, with lines that go on in one. */
export function commandsOf(body: string): readonly string[] {
  return body
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s+)# .*$/, "").trim())
    .filter((line) => line !== "");
}

function swapped(text: string, words: Words = {}): string {
  return Object.entries(words).reduce((line, [from, to]) => line.replaceAll(from, to), text);
}

/** Opens a page for the test that runs. */
export async function docsPage(name: string, { executable }: Pick<PratiqueProgram, "executable">): Promise<DocsPage> {
  const blocks = (await pageBlocks(name)).filter(({ kind }) => !notRun.has(kind));
  const dir = await mkdtemp(join(tmpdir(), "pratique-docs-"));
  const port = await freePort();
  const variables = join(dir, ".variables");
  let words: Words = {};
  const running: PeerProcess[] = [];
  let at = 0;
  onTestFinished(async () => {
    for (const one of running.toReversed()) await one.stop();
    await rm(dir, { recursive: true, force: true });
  });
  for (const folder of ["bin", "var/lib", "etc/pratique", "etc/app", "var/backups"]) {
    await mkdir(join(dir, folder), { recursive: true });
  }
  const path = [join(dir, "bin"), dirname(executable), dirname(requirePeer("kubectl")), process.env["PATH"]];
  const replaced = (text: string): string => swapped(text, words);
  const bash = (line: string): PeerProcess =>
    spawnProcess("/bin/bash", ["-c", `[ ! -e ${variables} ] || . ${variables}; cd "$PWD"; ${line}`], {
      home: dir,
      env: { PATH: path.join(delimiter) },
      deadlineMs: 180_000,
    });
  const typed = (line: string): PeerProcess => bash(`trap 'export -p >${variables}' EXIT; ${replaced(line)}`);
  const replace = (more: Words): void => {
    const others = Object.entries(words).filter(([from]) => !Object.hasOwn(more, from));
    words = { ...more, ...Object.fromEntries(others) };
  };
  replace({
    "hub.example:6443": `127.0.0.1:${port}`,
    "127.0.0.1:6443": `127.0.0.1:${port}`,
    "/var/lib/pratique": join(dir, "var/lib/pratique"),
    "/var/backups": join(dir, "var/backups"),
    "/etc/": `${dir}/etc/`,
  });
  const page: DocsPage = {
    dir,
    port,
    replace,
    next: (begins) => {
      const block = blocks[at];
      at += 1;
      if (block?.body.startsWith(begins) !== true) {
        throw new TypeError(`block ${at} of docs/${name} begins with ${JSON.stringify(block?.body.slice(0, 80))}`);
      }
      return block.body;
    },
    save: async (begins, file) => writeFile(join(dir, file), replaced(page.next(begins))),
    run: async (begins, more) => {
      const printed: string[] = [];
      for (const line of commandsOf(page.next(begins))) printed.push(await page.type(swapped(line, more)));
      return printed;
    },
    type: async (line) => {
      const { code, printed } = await typed(line).done;
      if (code !== 0) throw new Error(`${replaced(line)} ended with ${code}: ${printed}`);
      return printed;
    },
    typeAny: async (line) => (await typed(line).done).printed,
    start: (line) => {
      const started = bash(`exec ${replaced(line)}`);
      running.push(started);
      return started;
    },
    hub: async (line = "pratique hub") => {
      const hub = page.start(line.replace("pratique hub", `pratique hub --secure-port ${port}`));
      await hub.until(/^Ready/m);
      return hub;
    },
    commands: <K extends string>(begins: string, ...names: readonly K[]): Readonly<Record<K, string>> => {
      const lines = commandsOf(page.next(begins));
      if (lines.length !== names.length) throw new TypeError(`docs/${name} has ${lines.length} lines there`);
      return Object.fromEntries(names.map((one, index) => [one, lines[index] ?? ""])) as Record<K, string>;
    },
    left: () => blocks.slice(at).map(({ body }) => body.slice(0, body.indexOf("\n"))),
  };
  return page;
}
