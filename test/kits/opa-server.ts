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

/** Why OPA refuses modules: the code of its first error, or `types`, by the position of the module. */
export type Refused = ReadonlyMap<number, string>;

/** Modules under OPA, and those that it refused. */
export interface OpaServer {
  readonly refused: Refused;
  /** Asks for the document at a path, such as `/a/b`. */
  readonly ask: (path: string, input: unknown) => Promise<OpaAnswer>;
}

const fileName = (at: number): string => `m${String(at).padStart(6, "0")}.rego`;

/** A module, and whether it is worth being checked with its like first. */
interface OpaModule {
  readonly module: string;
  readonly isOdd: boolean;
}

/** Starts OPA with all modules that it takes, for the test that runs. */
export async function startOpa(opa: string, modules: readonly OpaModule[]): Promise<OpaServer> {
  const home = await mkdtemp(join(tmpdir(), "pratique-opa-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const refused = new Map<number, string>();
  const write = async (name: string, isWanted: (each: OpaModule) => boolean): Promise<string> => {
    const folder = join(home, name);
    await mkdir(folder);
    for (const [at, each] of modules.entries())
      if (isWanted(each) && !refused.has(at)) await writeFile(join(folder, fileName(at)), each.module);
    return folder;
  };
  const refuse = (errors: readonly Report[]): boolean => {
    for (const { at, code } of errors) if (!refused.has(at)) refused.set(at, code);
    return errors.length > 0;
  };
  // OPA tells of one kind of mistake at a time: few modules are checked often, all of them but once.
  for (let round = 0; ; round++) {
    const folder = await write(`odd-${round}`, ({ isOdd }) => isOdd);
    if (!refuse(await check(opa, folder, home))) break;
  }
  for (let round = 0; ; round++) {
    const folder = await write(`all-${round}`, () => true);
    const ask = round === 0 ? undefined : await serve(opa, folder, home);
    if (ask !== undefined) return { refused, ask };
    refuse(await check(opa, folder, home));
  }
}

interface Report {
  readonly at: number;
  readonly code: string;
}

/** What OPA says of expressions that cannot have a value, whatever the input. */
const aboutTypes = /invalid argument|match error|undefined ref|multiple outputs|illegal argument/;

async function check(opa: string, folder: string, home: string): Promise<readonly Report[]> {
  const ran = spawnProcess(opa, ["check", "--format", "json", "--max-errors", "1000000", folder], { home });
  const { code, printed } = await ran.done;
  if (code === 0) return [];
  const read: unknown = JSON.parse(printed);
  type Found = { readonly code: string; readonly message: string; readonly location?: { readonly file: string } };
  const { errors } = read as { readonly errors: readonly Found[] };
  const found = errors.flatMap((error) => {
    const at = /m(\d{6})\.rego$/.exec(error.location?.file ?? "")?.[1];
    return at === undefined ? [] : [{ at: Number(at), code: aboutTypes.test(error.message) ? "types" : error.code }];
  });
  if (found.length === 0) throw new Error(`opa check: ${printed.slice(0, 2000)}`);
  return found;
}

async function serve(opa: string, folder: string, home: string): Promise<OpaServer["ask"] | undefined> {
  const socketPath = join(folder, "opa.sock");
  const quiet = ["--log-level-request", "debug", "--skip-version-check"];
  const server = spawnProcess(opa, ["run", "--server", "--addr", `unix://${socketPath}`, ...quiet, folder], {
    home,
    deadlineMs: 480_000,
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
