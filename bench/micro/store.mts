// The stores in memory and on disk: rates and latencies of writes from many writers, reads, lists, opening, replay and compaction.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openLmdb } from "../../src/storage/lmdb.ts";
import { openMemory } from "../../src/storage/memory.ts";
import type { Store } from "../../src/storage/store.ts";
import { isQuick, print, rounded } from "./measure.mts";

const { values } = parseArgs({
  strict: false,
  options: { dir: { type: "string" }, writes: { type: "string" }, writers: { type: "string" } },
});
const writes = Number(values["writes"] ?? (isQuick() ? 5000 : 60_000));
const writers = Number(values["writers"] ?? 64);
const lists = isQuick() ? 20 : 200;
const payload = Buffer.alloc(1024, "x");

// A disk in memory would flatter: --dir names another place.
const work = mkdtempSync(join(typeof values["dir"] === "string" ? values["dir"] : tmpdir(), "bench-store-"));
// The bench that started this ends it with a signal, and the folder must go all the same.
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.once(signal, () => {
    rmSync(work, { recursive: true, force: true });
    process.exit(1);
  });
}
try {
  await measure("memory", openMemory);
  await measure("lmdb", () => openLmdb({ dir: join(work, "store") }));
  say("lmdb", "size", { fileMegabytes: rounded(statSync(join(work, "store", "data.mdb")).size / 1e6) });
} finally {
  rmSync(work, { recursive: true, force: true });
}

async function measure(driver: string, open: () => Promise<Store>): Promise<void> {
  let store = await open();
  const revisions: number[] = [];
  const key = (index: number): string => `/registry/bench/things/${String((index * 7919) % writes).padStart(7, "0")}`;
  let watched = 0;
  const stop = new AbortController();
  const watching = (async () => {
    for await (const { events } of store.watch("/registry/", { fromRevision: 0, signal: stop.signal })) {
      watched += events.length;
    }
  })();
  await load(driver, "create", async (index) => {
    const result = await store.create(key(index), payload);
    revisions[index] = result.kind === "created" ? result.revision : 0;
  });
  await load(driver, "update", async (index) => {
    await store.update(key(index), payload, { ifRevision: revisions[index] ?? 0 });
  });
  stop.abort();
  await watching;
  await load(driver, "get", (index) => store.get(key(index)));
  const listing = await timed(async () => {
    for (let index = 0; index < lists; index += 1) await store.list("/registry/", { limit: 400, after: key(index) });
  });
  say(driver, "list 400", { perSecond: rounded((lists / listing) * 1000) });
  let listed = 0;
  const whole = await timed(async () => {
    listed = (await store.list("/registry/")).values.length;
  });
  say(driver, "list all", { values: listed, ms: rounded(whole), watched });
  if (driver === "lmdb") store = await reopened(driver, store, open);
  const begun = performance.now();
  const longest = await longestBlock(() => store.compact(2 * writes - 100));
  say(driver, "compact", { ms: rounded(performance.now() - begun), longestBlockMs: rounded(longest) });
  await store.close();
}

async function reopened(driver: string, store: Store, open: () => Promise<Store>): Promise<Store> {
  await store.close();
  let next = store;
  const opening = await timed(async () => {
    next = await open();
  });
  say(driver, "open again", { revisions: await next.currentRevision(), ms: rounded(opening) });
  const stop = new AbortController();
  let events = 0;
  const replaying = await timed(async () => {
    for await (const batch of next.watch("/registry/", { fromRevision: 0, signal: stop.signal })) {
      events += batch.events.length;
      if (events === 2 * writes) stop.abort();
    }
  });
  say(driver, "replay", { perSecond: rounded((events / replaying) * 1000) });
  return next;
}

async function load(driver: string, name: string, one: (index: number) => Promise<unknown>): Promise<void> {
  const latencies: number[] = [];
  let next = 0;
  const cpu = threadCpuMicros();
  const writer = async (): Promise<void> => {
    while (next < writes) {
      const index = next;
      next += 1;
      const began = performance.now();
      await one(index);
      latencies.push(performance.now() - began);
    }
  };
  const ms = await timed(() => Promise.all(Array.from({ length: writers }, writer)));
  latencies.sort((a, b) => a - b);
  say(driver, name, {
    count: writes,
    perSecond: rounded((writes / ms) * 1000),
    p50Ms: rounded(latencies[Math.floor(writes * 0.5)] ?? 0),
    p99Ms: rounded(latencies[Math.floor(writes * 0.99)] ?? 0),
    mainThreadMicrosEach: cpu === undefined ? undefined : rounded(((threadCpuMicros() ?? 0) - cpu) / writes),
  });
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

async function longestBlock(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = performance.now();
  let going = true;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (going) setImmediate(tick);
  };
  setImmediate(tick);
  await run();
  going = false;
  return longest;
}

function threadCpuMicros(): number | undefined {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1000;
  } catch {
    return undefined;
  }
}

function say(driver: string, name: string, numbers: Readonly<Record<string, unknown>>): void {
  print({ bench: "store", driver, load: name, ...numbers });
}
