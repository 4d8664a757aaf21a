import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLmdb } from "../../src/storage/lmdb.ts";
import type { Store, StoreEvent } from "../../src/storage/store.ts";
import { bundleProgram, type Program } from "./bundle-program.ts";

interface Acknowledged {
  readonly type: "put" | "delete";
  readonly key: string;
  readonly text?: string;
  readonly revision: number;
}

const rounds = 24;
const root = mkdtempSync(join(tmpdir(), "crash-test-"));
const dir = join(root, "store");
let program: Program;

beforeAll(async () => {
  program = await bundleProgram("writer.ts");
});
afterAll(() => {
  program.remove();
  rmSync(root, { recursive: true, force: true });
});

describe("a store whose process is killed in the middle of concurrent writes", () => {
  it("has every acknowledged write and an unbroken revision log, time after time", { timeout: 120_000 }, async () => {
    const latest = new Map<string, Acknowledged>();
    let acknowledged = 0;
    let last = 0;
    let compactions = 0;
    for (let round = 0; round < rounds; round += 1) {
      // Every sixth round dies while it opens; the others after a random number of acknowledgements.
      const writes = await killAfter(round % 6 === 5 ? 0 : 1 + Math.floor(Math.random() * 1500), round);
      acknowledged += writes.length;
      for (const write of writes)
        if (write.revision > (latest.get(write.key)?.revision ?? 0)) latest.set(write.key, write);
      const store = await openLmdb({ dir });
      try {
        const compacted = await store.compactedRevision();
        const log = await unbrokenLog(store, compacted);
        expect(losses({ writes, log, compacted })).toEqual([]);
        expect(await staleKeys(store, latest, log)).toEqual([]);
        expect(await store.currentRevision()).toBeGreaterThanOrEqual(Math.max(last, writes.at(-1)?.revision ?? 0));
        last = await store.currentRevision();
        if (compacted > 0) compactions += 1;
      } finally {
        await store.close();
      }
    }
    expect(acknowledged).toBeGreaterThan(rounds * 100);
    expect(last).toBeGreaterThanOrEqual(acknowledged);
    expect(compactions).toBeGreaterThan(0);
  });
});

/** Runs the writer on the directory, kills it after so many acknowledgements, and returns all that it made. */
async function killAfter(count: number, round: number): Promise<readonly Acknowledged[]> {
  const child = spawn(process.execPath, [program.path, dir, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const writes: Acknowledged[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as Acknowledged | { readonly type: "opening" };
    if (said.type !== "opening") writes.push(said);
    if (writes.length >= count) child.kill("SIGKILL");
  }
  const [, signal] = await exited;
  expect(signal).toBe("SIGKILL");
  return writes;
}

async function unbrokenLog(store: Store, compacted: number): Promise<ReadonlyMap<number, StoreEvent>> {
  const current = await store.currentRevision();
  const log = new Map<number, StoreEvent>();
  const stop = new AbortController();
  if (current === compacted) stop.abort();
  for await (const batch of store.watch("", { fromRevision: compacted, signal: stop.signal })) {
    for (const event of batch.events) log.set(event.revision, event);
    if (batch.revision >= current) stop.abort();
  }
  expect([...log.keys()]).toEqual(Array.from({ length: current - compacted }, (_, index) => compacted + index + 1));
  return log;
}

/** Acknowledged writes above the compacted revision that the log does not have as they were. */
function losses(options: {
  readonly writes: readonly Acknowledged[];
  readonly log: ReadonlyMap<number, StoreEvent>;
  readonly compacted: number;
}): readonly Acknowledged[] {
  const { writes, log, compacted } = options;
  return writes.filter((write) => {
    if (write.revision <= compacted) return false;
    const event = log.get(write.revision);
    const text = event?.type === "put" ? new TextDecoder().decode(event.value) : undefined;
    return event?.type !== write.type || event.key !== write.key || text !== write.text;
  });
}

/** Keys that are not as last acknowledged, and that no later, unacknowledged write explains. */
async function staleKeys(
  store: Store,
  latest: ReadonlyMap<string, Acknowledged>,
  log: ReadonlyMap<number, StoreEvent>,
): Promise<readonly string[]> {
  const newestInLog = new Map([...log.values()].map((event) => [event.key, event.revision]));
  const values = new Map((await store.list("/crash/")).values.map((value) => [value.key, value]));
  return [...latest.values()]
    .filter(({ key, revision, type, text }) => {
      if ((newestInLog.get(key) ?? 0) > revision) return false;
      const value = values.get(key);
      if (type === "delete") return value !== undefined;
      return value?.revision !== revision || new TextDecoder().decode(value.value) !== text;
    })
    .map(({ key }) => key);
}
