import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bundledDefinitions } from "../../bundle-options.mjs";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { spawnProcess, type PeerProcess } from "../kits/peers-process.ts";
import type { Attacked, AttackStart } from "./attacker-program.ts";
import { corpus } from "./corpus.ts";

/** kube-apiserver's `/livez` stays below 80 ms under the first of these requests. */
const maxWaitMs = 100;
const maxMegabytes = 256;
const runMs = 900_000;
/** Where there is one core only, clients share it with the hub, and what they wait for is no longer the hub alone. */
const [hubCore, clientCore] = allowedCores();
const tokens = { user: "user-token-0123456789", tenant: "tenant-token-0123456789", admin: "admin-token-0123456789" };

let dir: string;
let program: PratiqueProgram;
let hub: PeerProcess;
let attacks: readonly Attacked[];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "stall-"));
  program = await pratiqueProgram();
  for (const name of ["attacker-program", "prober-program"]) {
    await build({
      entryPoints: [join(import.meta.dirname, `${name}.ts`)],
      outfile: join(dir, `${name}.mjs`),
      bundle: true,
      format: "esm",
      platform: "node",
      plugins: [bundledDefinitions],
      logLevel: "error",
    });
  }
  const tokenFile = join(dir, "tokens.csv");
  const lines = [`${tokens.user},user,1`, `${tokens.tenant},tenant,2`, `${tokens.admin},root,3,"system:masters"`];
  await writeFile(tokenFile, `${lines.join("\n")}\n`, { mode: 0o600 });
  const dataDir = join(dir, "data");
  // The hub has one core to itself, and all of its threads share it.
  hub = spawnProcess(
    "taskset",
    [
      "-c",
      String(hubCore),
      program.executable,
      "hub",
      "--data-dir",
      dataDir,
      "--secure-port",
      "0",
      "--token-auth-file",
      tokenFile,
    ],
    { home: dir, deadlineMs: runMs },
  );
  const [url] = await hub.until(/https:\/\/127\.0\.0\.1:\d+/);
  await hub.until(/ready|admin\.kubeconfig/);
  attacks = await attacked({ url, caFile: join(dataDir, "pki", "ca.crt") });
}, runMs);

afterAll(async () => {
  await hub.stop();
  await program.remove();
  await rm(dir, { recursive: true, force: true });
});

async function attacked(at: Pick<AttackStart, "url" | "caFile">): Promise<readonly Attacked[]> {
  const start: AttackStart = {
    ...at,
    hubPid: hub.pid,
    proberProgram: join(dir, "prober-program.mjs"),
    tokens,
    maxWaitMs,
  };
  await writeFile(join(dir, "start.json"), JSON.stringify(start), { mode: 0o600 });
  const args = [
    "-c",
    String(clientCore ?? hubCore),
    process.execPath,
    join(dir, "attacker-program.mjs"),
    join(dir, "start.json"),
  ];
  const { code, printed } = await spawnProcess("taskset", args, { home: dir, deadlineMs: runMs }).done;
  if (code !== 0) throw new RangeError(`the attacker ended with ${code}: ${printed}`);
  return printed
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Attacked);
}

/** The processors that this process may use. Source: Linux's proc(5), Cpus_allowed_list. */
function allowedCores(): readonly [number, number | undefined] {
  const [, list = "0"] = /Cpus_allowed_list:\s+(\S+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  const cores = list.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  const [first = 0, second] = cores;
  return [first, second];
}

const shown = ({ name, livez, lease, clockMs, worseMs, ms, megabytes, statuses, message }: Attacked): string =>
  `${name}: livez ${livez.toFixed(0)} ms, lease ${lease.toFixed(0)} ms, by the clock ${clockMs.toFixed(0)} ms${worseMs.map((wait) => ` (${wait.toFixed(0)} ms another time)`).join("")}, answered in ${ms.toFixed(0)} ms, ${megabytes.toFixed(0)} MB, ${[...new Set(statuses)].join(" ")} ${message}`;

it("every request of the corpus was sent, and others were answered meanwhile", () => {
  process.stdout.write(`${attacks.map(shown).join("\n")}\n`);
  expect(attacks.map(({ name }) => name)).toEqual(corpus.map(({ name }) => name));
  expect(attacks.filter(({ probes, failures }) => probes < 10 || failures.length > 0).map(shown)).toEqual([]);
});

it("each is answered with a status that it may have", () => {
  const wrong = attacks.filter(({ statuses, allowed }) => !statuses.every((status) => allowed.includes(status)));
  expect(wrong.map(shown)).toEqual([]);
});

it.skipIf(clientCore === undefined)(`no other request waits longer than ${maxWaitMs} ms meanwhile`, () => {
  expect(attacks.filter(({ livez, lease }) => Math.max(livez, lease) > maxWaitMs).map(shown)).toEqual([]);
});

it(`the hub takes at most ${maxMegabytes} MB more than at rest`, () => {
  expect(attacks.filter(({ megabytes }) => megabytes > maxMegabytes).map(shown)).toEqual([]);
});
