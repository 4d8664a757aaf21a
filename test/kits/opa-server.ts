import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { ofThisTest, spawnProcess } from "./peers-process.ts";

/** What OPA says when it is asked for a document. */
export interface OpaAnswer {
  /** The document; undefined where there is none. */
  readonly result?: unknown;
  readonly code?: string;
  readonly errors?: readonly { readonly code: string; readonly message: string }[];
}

/** Why OPA refuses modules: the code of its first error, by the position of the module. */
export type Refused = ReadonlyMap<number, string>;

/** Modules under OPA, and those that it refused. */
export interface OpaServer {
  readonly refused: Refused;
  /** Asks for the document at a path, such as `/a/b`. */
  readonly ask: (path: string, input: unknown) => Promise<OpaAnswer>;
}

const fileName = (at: number): string => `m${String(at).padStart(6, "0")}.rego`;

/** Starts OPA with all modules that it takes, for the test that runs. */
export async function startOpa(opa: string, modules: readonly string[]): Promise<OpaServer> {
  const home = await mkdtemp(join(tmpdir(), "pratique-opa-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const refused = new Map<number, string>();
  for (;;) {
    const folder = join(home, `round-${refused.size}`);
    await mkdir(folder);
    const kept = modules.flatMap((text, at) => (refused.has(at) ? [] : [writeFile(join(folder, fileName(at)), text)]));
    await Promise.all(kept);
    // What is refused is mostly told at once: the second time, starting tells as much as another check.
    const errors = refused.size === 0 ? await check(opa, folder, home) : [];
    const ask = errors.length === 0 ? await serve(opa, folder, home) : undefined;
    if (ask !== undefined) return { refused, ask };
    const told = errors.length === 0 ? await check(opa, folder, home) : errors;
    for (const { at, code } of told) if (!refused.has(at)) refused.set(at, code);
  }
}

async function check(
  opa: string,
  folder: string,
  home: string,
): Promise<readonly { readonly at: number; readonly code: string }[]> {
  const ran = spawnProcess(opa, ["check", "--format", "json", "--max-errors", "1000000", folder], { home });
  const { code, printed } = await ran.done;
  if (code === 0) return [];
  const read: unknown = JSON.parse(printed);
  type Told = { readonly code: string; readonly location?: { readonly file: string } };
  const { errors } = read as { readonly errors: readonly Told[] };
  const found = errors.flatMap((error) => {
    const at = /m(\d{6})\.rego$/.exec(error.location?.file ?? "")?.[1];
    return at === undefined ? [] : [{ at: Number(at), code: error.code }];
  });
  if (found.length === 0) throw new Error(`opa check: ${printed.slice(0, 2000)}`);
  return found;
}

async function serve(opa: string, folder: string, home: string): Promise<OpaServer["ask"] | undefined> {
  const socketPath = join(folder, "opa.sock");
  const quiet = ["--log-level-request", "debug", "--skip-version-check"];
  const server = spawnProcess(opa, ["run", "--server", "--addr", `unix://${socketPath}`, ...quiet, folder], {
    home,
    deadlineMs: 120_000,
  });
  ofThisTest(server);
  const isServing = await Promise.race([server.until(/Initializing server/), server.done]).then(
    (first) => !("code" in first),
    () => false,
  );
  if (!isServing) return undefined;
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const ask: OpaServer["ask"] = (path, input) =>
    new Promise((resolve, reject) => {
      const call = request({ socketPath, agent, method: "POST", path: `/v1/data${path}` }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.once("end", () => resolve(text === "" ? {} : (JSON.parse(text) as OpaAnswer)));
      });
      call.once("error", reject);
      call.end(JSON.stringify({ input }));
    });
  const isUp = async (): Promise<boolean> => {
    try {
      await ask("", {});
      return true;
    } catch {
      return false;
    }
  };
  while (!(await isUp())) await pause(20);
  return ask;
}
