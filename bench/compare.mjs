// The hub and real Kubernetes under the same loads, in turn, in the same run.
import { readFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hubProgram, startHub } from "./hub-process.mjs";
import { kubeMissing, startKube } from "./kube-process.mjs";
import { peerProgram, runLoad } from "./kload.mjs";
import { adminOf, createBootstrapToken } from "./kubeconfig.mjs";
import { filling, loads } from "./loads.mjs";
import { processorTime, residentMemory } from "./process-figures.mjs";

/** Everything that can be measured, in order. */
export const measurements = ["start", "memory", "memory-filled", ...loads.map((load) => load.name)];

const startTargetMs = 600;
const memoryTargetMb = 110;
const idleMs = 10_000;
/** What one run leaves to do is done before the next begins. */
const settleMs = 500;

/** Measures what `names` asks for, printing each figure as it comes; returns one result for each measurement. */
export async function compare(stage, options) {
  const { names, print } = options;
  const missing = options.hubOnly ? "left out by --hub-only" : kubeMissing();
  if (missing !== undefined) print({ bench: "skip", what: "kubernetes", why: missing });
  const work = await stage.folder("bench");
  const program = await hubProgram(stage, options);
  const sides = [(dir) => startHub(stage, { program, dataDir: dir })];
  if (missing === undefined) sides.push((dir) => startKube(stage, dir));
  const run = { ...options, stage, work, sides };
  const results = [];
  const done = (found) => {
    for (const result of found) print({ bench: "result", ...result });
    results.push(...found);
  };
  if (names.includes("start")) done(await starts(run));
  const wanted = loads.filter((load) => names.includes(load.name));
  if (wanted.length === 0 && !names.some((name) => name.startsWith("memory"))) return results;

  const servers = [];
  for (const [index, start] of sides.entries()) servers.push(await start(await folder(join(work, `side-${index}`))));
  if (names.includes("memory")) done(await memory(run, servers, idle));
  let filled = false;
  const fill = async () => {
    if (!filled) await fillAll(run, servers);
    filled = true;
  };
  if (names.includes("memory-filled")) {
    await fill();
    done(await memory(run, servers, full));
  }
  const kload = peerProgram("kload");
  if (kload === undefined && wanted.length > 0) {
    print({ bench: "skip", what: wanted.map((load) => load.name).join(", "), why: "kload not found (PEERS_DIR)" });
    return results;
  }
  await createBootstrapToken(adminOf(readFileSync(servers[0].kubeconfig, "utf8")));
  for (const load of wanted) {
    if (load.filled) await fill();
    const sides = load.factor === undefined ? servers.slice(0, 1) : servers;
    done([await underLoad({ ...run, kload }, { load, servers: sides })]);
  }
  return results;
}

/** From nothing to /readyz: with an empty data directory, and once more with what that left behind. */
async function starts({ sides, work, rounds, print }) {
  const figures = new Map();
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, start] of inTurn(sides, round)) {
      const dir = await folder(join(work, `start-${index}-${round}`));
      for (const name of ["start, empty data directory", "start again"]) {
        const server = await start(dir);
        print({ bench: "start", name, round, side: server.side, ms: rounded(server.readyMs) });
        add(figures, `${name}/${server.side}`, server.readyMs);
        await server.stop();
      }
      await rm(dir, { recursive: true, force: true, maxRetries: 5 });
    }
  }
  return ["start, empty data directory", "start again"].map((name) => {
    const ours = median(figures.get(`${name}/pratique`));
    const theirs = figures.has(`${name}/kubernetes`) ? median(figures.get(`${name}/kubernetes`)) : undefined;
    return {
      name,
      unit: "ms",
      pratique: rounded(ours),
      kubernetes: rounded(theirs),
      ratio: rounded(theirs === undefined ? undefined : theirs / ours),
      target: `≤ ${startTargetMs} ms`,
      reached: ours <= startTargetMs,
    };
  });
}

/** Gives both sides the same many objects. */
async function fillAll({ stage, quick, print }, servers) {
  const count = quick ? filling.quick : filling.count;
  for (const { side, kubeconfig } of servers) {
    const { perSecond, errors, firstError } = await runLoad(stage, { kubeconfig, load: filling, count });
    if (errors > 0) throw new Error(`${side} could not be filled: ${firstError}`);
    print({ bench: "fill", side, objects: count, perSecond: rounded(perSecond) });
  }
}

/** When nothing was asked of a side yet. */
const idle = {
  name: "memory, idle",
  target: `≤ ${memoryTargetMb} MB`,
  isReached: (ours) => ours <= memoryTargetMb,
};

/** With the many objects. */
const full = {
  name: "memory, 10,000 objects",
  target: "< half",
  isReached: (ours, theirs) => (theirs === undefined ? undefined : ours < theirs / 2),
};

/** Resident memory of all processes of a side. */
async function memory({ print }, servers, { name, target, isReached }) {
  await sleep(idleMs);
  const [ours, theirs] = servers.map((server) => {
    const { total, anonymous } = residentMemory(server.pids());
    print({
      bench: "memory",
      name,
      side: server.side,
      mb: rounded(total / 1e6),
      anonymousMb: rounded(anonymous / 1e6),
    });
    return total / 1e6;
  });
  return [
    {
      name,
      unit: "MB",
      pratique: rounded(ours),
      kubernetes: rounded(theirs),
      ratio: rounded(theirs === undefined ? undefined : theirs / ours),
      target,
      reached: isReached(ours, theirs),
    },
  ];
}

/** Puts one load on each of the servers, in turn; the ratio is of the first to the second. */
export async function underLoad({ stage, kload, rounds, quick, print }, { load, servers }) {
  const count = quick ? load.quick : load.count;
  const runs = new Map(servers.map((server) => [server.side, []]));
  // Compiled code and warm caches on both sides: a first, small run does not count.
  for (const { kubeconfig } of servers) {
    await runLoad(stage, { kload, kubeconfig, load, count: Math.max(20, Math.ceil(count / 10)) });
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const [, server] of inTurn(servers, round)) {
      await sleep(settleMs);
      const before = processorTime(server.pids());
      const result = await runLoad(stage, { kload, kubeconfig: server.kubeconfig, load, count });
      const figures = {
        perSecond: rounded(result.perSecond),
        p50Ms: rounded(result.p50ms),
        p99Ms: rounded(result.p99ms),
        cpuMicros: rounded(((processorTime(server.pids()) - before) * 1000) / result.ok),
        errors: result.errors,
      };
      print({
        bench: "load",
        name: load.name,
        round,
        side: server.side,
        ...figures,
        ...(result.errors === 0 ? {} : { firstError: result.firstError }),
      });
      runs.get(server.side).push(figures);
    }
  }
  return verdict(load, runs);
}

function verdict(load, runs) {
  const ours = medians(runs.get("pratique"));
  const theirs = runs.has("kubernetes") ? medians(runs.get("kubernetes")) : undefined;
  const ratio = theirs === undefined ? undefined : ours.perSecond / theirs.perSecond;
  // Without the other side there is nothing to say about a ratio.
  const fast =
    load.factor === undefined
      ? load.perSecond === undefined
        ? undefined
        : ours.perSecond >= load.perSecond
      : ratio === undefined
        ? undefined
        : ratio >= load.factor;
  const best = (side) => Math.max(...runs.get(side).map((run) => run.perSecond));
  const slow = load.p99Ms !== undefined && ours.p99Ms >= load.p99Ms;
  const least = load.factor === undefined ? load.perSecond && `${load.perSecond}/s` : `${load.factor} times`;
  const target = least === undefined ? "" : `≥ ${least}${load.p99Ms === undefined ? "" : `, p99 < ${load.p99Ms} ms`}`;
  return {
    name: load.name,
    unit: "/s",
    pratique: ours.perSecond,
    kubernetes: theirs?.perSecond,
    ratio: rounded(ratio),
    // Each side's least disturbed round: what a busy machine hides from the medians.
    bestRatio: theirs === undefined ? undefined : rounded(best("pratique") / best("kubernetes")),
    target,
    reached: fast === undefined ? undefined : fast && !slow && ours.errors === 0,
    ours,
    theirs,
  };
}

function medians(runs) {
  const of = (field) => median(runs.map((run) => run[field]));
  return {
    perSecond: rounded(of("perSecond")),
    p50Ms: rounded(of("p50Ms")),
    p99Ms: rounded(of("p99Ms")),
    cpuMicros: rounded(of("cpuMicros")),
    errors: runs.reduce((sum, run) => sum + run.errors, 0),
  };
}

/** Entries of a list, forwards in odd rounds and backwards in even ones, so that nobody always comes second. */
function inTurn(list, round) {
  const entries = [...list.entries()];
  return round % 2 === 1 ? entries : entries.toReversed();
}

async function folder(dir) {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  return dir;
}

function add(figures, key, value) {
  figures.set(key, [...(figures.get(key) ?? []), value]);
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three digits that matter. */
function rounded(value) {
  if (value === undefined) return undefined;
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
