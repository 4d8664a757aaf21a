// Runs one load against the hub and says where its processor time goes: `node bench/profile.mjs LOAD [-n COUNT] [--top 30] [--from-source] [--keep FILE]`.
import { readFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { summarize } from "./cpu-profile.mjs";
import { hubProgram, startHub } from "./hub-process.mjs";
import { peerProgram, runLoad } from "./kload.mjs";
import { adminOf, createBootstrapToken } from "./kubeconfig.mjs";
import { filling, loads } from "./loads.mjs";
import { threadTimes } from "./process-figures.mjs";
import { openStage } from "./stage.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: "string", short: "n" },
    top: { type: "string", default: "30" },
    "interval-us": { type: "string", default: "500" },
    "from-source": { type: "boolean", default: false },
    keep: { type: "string" },
  },
});
const names = loads.map((load) => load.name);
const chosen = loads.find((load) => load.name === positionals[0]);
const kload = peerProgram("kload");
if (chosen === undefined || kload === undefined) {
  const reason =
    kload === undefined ? "kload is not on this machine (PEERS_DIR)" : `name one load: ${names.join(", ")}`;
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}

const stage = openStage();
try {
  await profile(chosen, Number(values.count ?? chosen.count));
} catch (error) {
  if (!stage.closing()) process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
} finally {
  await stage.clear();
}

async function profile(load, count) {
  const program = await hubProgram(stage, { fromSource: values["from-source"] });
  const work = await stage.folder("bench-profile");
  const window = new URL("profile-window.mjs", import.meta.url).href;
  const hub = await startHub(stage, {
    program,
    dataDir: join(work, "data"),
    nodeArgs: ["--import", window],
    ipc: true,
  });
  await createBootstrapToken(adminOf(readFileSync(hub.kubeconfig, "utf8")));
  const run = (operations) => runLoad(stage, { kload, kubeconfig: hub.kubeconfig, load, count: operations });
  if (load.filled) await runLoad(stage, { kubeconfig: hub.kubeconfig, load: filling, count: filling.count });
  // Compiled by the optimizer first: the steady state is what counts.
  await run(Math.max(20, Math.ceil(count / 4)));

  const before = threadTimes(hub.child.pid);
  await ask(hub.child, { profile: "start", intervalMicros: Number(values["interval-us"]) });
  const result = await run(count);
  const file = join(work, "load.cpuprofile");
  const { utilization, memory } = await ask(hub.child, { profile: "stop", file });
  const threads = threadTimes(hub.child.pid, before);
  const { ms: main, waitMs } = threads.find(({ name }) => name === "main");
  const summary = summarize(JSON.parse(readFileSync(file, "utf8")), main / (main + waitMs));
  if (values.keep !== undefined) await copyFile(file, values.keep);

  const how = load.driver === undefined ? `kload ${load.args(count).join(" ")}` : `driver.mjs ${load.driver} ${count}`;
  print(`# ${load.name}: ${how} (while profiled)`);
  print(JSON.stringify(result));
  // The profiler takes the whole poll for idle time, although sockets, TLS and HTTP/2 frames are worked on in it.
  const polling = {
    key: "(native inside the poll: sockets, TLS, HTTP/2 frames)",
    ms: Math.max(0, main - summary.busyMs),
  };
  print(
    `main thread ${ms(main)} of ${ms(summary.wallMs)}, waiting for a processor ${ms(waitMs)}, loop utilization ${(utilization * 100).toFixed(0)} %,` +
      ` ${micros(main, load, result)} of main thread per operation; heap ${mib(memory.heapUsed)}, RSS ${mib(memory.rss)}`,
  );
  print(`processor time by thread: ${threads.map(({ name, ms: time }) => `${name} ${ms(time)}`).join(", ")}`);
  const top = Number(values.top);
  const withPoll = (rows) => [...rows, polling].sort((a, b) => b.ms - a.ms);
  table("self time by function", withPoll(summary.self), { rows: top, of: main });
  table("self time by folder", withPoll(summary.folders), { rows: 20, of: main });
  table("charged to our folder (with what it makes Node do)", withPoll(summary.chargedFolders), { rows: 20, of: main });
  table("charged to our module", withPoll(summary.charged), { rows: top, of: main });
  table("our functions with everything below them", summary.inclusive, { rows: top, of: main });
}

function ask(child, message) {
  return new Promise((resolve, reject) => {
    child.once("message", ({ result, error }) => (error === undefined ? resolve(result) : reject(new Error(error))));
    child.once("exit", () => reject(new Error("the hub ended while it was profiled")));
    child.send(message);
  });
}

/** Fan-out counts each delivered event as an operation. */
function micros(busyMs, load, result) {
  return `${((busyMs * 1000) / result.ok).toFixed(load.name === "watch" ? 1 : 0)} µs`;
}

function table(title, rows, { rows: limit, of }) {
  print(`\n${title}`);
  for (const { key, ms: time } of rows.slice(0, limit)) {
    print(`${time.toFixed(0).padStart(7)} ms ${((time / of) * 100).toFixed(1).padStart(5)} %  ${key}`);
  }
}

function ms(number) {
  return `${number.toFixed(0)} ms`;
}

function mib(bytes) {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}

function print(line) {
  process.stdout.write(`${line}\n`);
}
