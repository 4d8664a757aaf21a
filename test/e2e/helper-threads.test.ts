import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { ofThisTest, spawnProcess } from "../kits/peers-process.ts";
import { reportSkip } from "../kits/report-skip.ts";

let dir: string;
let program: PratiqueProgram;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "helper-threads-"));
  program = await pratiqueProgram();
});
afterAll(async () => {
  await program.remove();
  await rm(dir, { recursive: true, force: true });
});

/** How much lower than this process's priority that of each thread of a hub is that has so many processors. Source: Linux's proc(5), stat. */
async function lowered(processors: string): Promise<readonly number[]> {
  const dataDir = join(dir, processors);
  const args = ["-c", processors, program.executable, "hub", "--data-dir", dataDir, "--secure-port", "0"];
  const hub = ofThisTest(spawnProcess("taskset", args, { home: dir }));
  await hub.until(/https:\/\/127\.0\.0\.1:\d+/);
  const folder = `/proc/${hub.pid}/task`;
  return readdirSync(folder).map((thread) => {
    const stat = readFileSync(join(folder, thread, "stat"), "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]) - getPriority();
  });
}

const count = (all: readonly number[], value: number): number => all.filter((each) => each === value).length;

if (process.platform !== "linux") reportSkip("V8's helper threads", "only Linux gives threads priorities", "linux");

describe.runIf(process.platform === "linux")("V8's helper threads", () => {
  test("have a lower priority than the event loop and the store on one processor", async () => {
    const all = await lowered("0");
    expect([count(all, 10), count(all, 0)]).toEqual([5, all.length - 5]);
    expect(all.length).toBeGreaterThan(6);
  });

  if (availableParallelism() < 2)
    reportSkip("have the same priority on more processors", "this machine has one processor", "processors");
  test.skipIf(availableParallelism() < 2)("have the same priority on more processors", async () => {
    const all = await lowered("0,1");
    expect(count(all, 0)).toBe(all.length);
  });
});
