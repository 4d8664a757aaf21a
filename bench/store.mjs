// Measures the embedded store: `node bench/store.mjs [writes] [writers] [--dir DIR]`. Prints one JSON line per load.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const { values, positionals } = parseArgs({ allowPositionals: true, options: { dir: { type: "string" } } });
const writes = Number(positionals[0] ?? 60_000);
const writers = Number(positionals[1] ?? 64);
const payload = Buffer.alloc(1024, "x");

const work = mkdtempSync(join(values.dir ?? tmpdir(), "store-bench-"));
// Inside the project, so that the bundle finds the installed lmdb.
const bundle = mkdtempSync(join(root, "node_modules", ".store-bench-"));
try {
  await build({
    absWorkingDir: root,
    entryPoints: ["src/storage/lmdb.ts", "src/storage/memory.ts"],
    outdir: bundle,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["lmdb"],
  });
  const { openLmdb } = await import(pathToFileURL(join(bundle, "lmdb.mjs")).href);
  const { openMemory } = await import(pathToFileURL(join(bundle, "memory.mjs")).href);
  await measure("memory", openMemory);
  await measure("lmdb", () => openLmdb({ dir: join(work, "store") }));
  print("lmdb", "size", { fileMegabytes: round(statSync(join(work, "store", "data.mdb")).size / 1e6) });
} finally {
  rmSync(work, { recursive: true, force: true });
  rmSync(bundle, { recursive: true, force: true });
}

async function measure(driver, open) {
  let store = await open();
  const revisions = [];
  const key = (index) => `/registry/bench/things/${String((index * 7919) % writes).padStart(7, "0")}`;
  let seen = 0;
  const stop = new AbortController();
  const watching = (async () => {
    for await (const batch of store.watch("/registry/", { fromRevision: 0, signal: stop.signal }))
      seen += batch.events.length;
  })();
  await load(driver, "create", async (index) => {
    revisions[index] = (await store.create(key(index), payload)).revision;
  });
  await load(driver, "update", async (index) => {
    revisions[index] = (await store.update(key(index), payload, { ifRevision: revisions[index] })).revision;
  });
  stop.abort();
  await watching;
  await load(driver, "get", (index) => store.get(key(index)));
  const lists = 200;
  const start = performance.now();
  for (let index = 0; index < lists; index += 1) await store.list("/registry/", { limit: 400, after: key(index) });
  print(driver, "list400", { perSecond: round((lists / (performance.now() - start)) * 1000) });
  const whole = performance.now();
  const { values: all } = await store.list("/registry/");
  print(driver, "listAll", { values: all.length, ms: round(performance.now() - whole), watched: seen });
  if (driver === "lmdb") {
    await store.close();
    const opening = performance.now();
    store = await open();
    print(driver, "reopen", { revisions: await store.currentRevision(), ms: round(performance.now() - opening) });
    const replaying = performance.now();
    const signal = new AbortController();
    let events = 0;
    for await (const batch of store.watch("/registry/", { fromRevision: 0, signal: signal.signal })) {
      events += batch.events.length;
      if (events === 2 * writes) signal.abort();
    }
    print(driver, "replay", { perSecond: round((events / (performance.now() - replaying)) * 1000) });
  }
  const compacting = performance.now();
  const longest = await longestBlock(() => store.compact(2 * writes - 100));
  print(driver, "compact", { ms: round(performance.now() - compacting), longestBlockMs: round(longest) });
  await store.close();
}

async function load(driver, name, one) {
  const latencies = [];
  let next = 0;
  const cpu = threadCpuMicros();
  const start = performance.now();
  const writer = async () => {
    while (next < writes) {
      const index = next;
      next += 1;
      const began = performance.now();
      await one(index);
      latencies.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  const ms = performance.now() - start;
  latencies.sort((a, b) => a - b);
  print(driver, name, {
    count: writes,
    perSecond: round((writes / ms) * 1000),
    p50Ms: round(latencies[Math.floor(writes * 0.5)]),
    p99Ms: round(latencies[Math.floor(writes * 0.99)]),
    mainThreadMicrosEach: cpu === undefined ? undefined : round((threadCpuMicros() - cpu) / writes),
  });
}

async function longestBlock(work) {
  let longest = 0;
  let last = performance.now();
  let going = true;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (going) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  going = false;
  return longest;
}

function threadCpuMicros() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1000;
  } catch {
    return undefined;
  }
}

function round(number) {
  return Math.round(number * 100) / 100;
}

function print(driver, name, numbers) {
  console.log(JSON.stringify({ bench: "store", driver, load: name, ...numbers }));
}
