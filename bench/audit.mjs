// What the audit log costs a simple request: processor time of the hub for each GET, with the log of every hub and without it.
// node bench/audit.mjs [--requests 20000] [--rounds 4]
import { readFileSync, statSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hubProgram, startHub } from "./hub-process.mjs";
import { adminOf } from "./kubeconfig.mjs";
import { processorTime } from "./process-figures.mjs";
import { openStage } from "./stage.mjs";

const options = { requests: { type: "string", default: "20000" }, rounds: { type: "string", default: "4" } };
const { values } = parseArgs({ options });
const requests = Number(values.requests);
const path = "/api/v1/namespaces/default";
const sides = { off: ["--audit-log-path", "none"], on: [] };

const stage = openStage();
try {
  const program = await hubProgram(stage);
  const folder = await stage.folder("pratique-bench-audit");
  const hubs = {};
  for (const [name, args] of Object.entries(sides)) {
    const dataDir = join(folder, name);
    hubs[name] = { ...(await startHub(stage, { program, dataDir, args })), dataDir };
    await load(hubs[name], 5000, 8);
  }
  for (const atOnce of [1, 16]) {
    const sums = { off: 0, on: 0 };
    // In turns, so that what else the machine does meets both.
    for (let round = 0; round < Number(values.rounds); round += 1) {
      for (const name of Object.keys(sides)) sums[name] += await load(hubs[name], requests, atOnce);
    }
    const each = (name) => (sums[name] * 1000) / (requests * Number(values.rounds));
    const [off, on] = [each("off"), each("on")];
    const more = `${(on - off).toFixed(1)} µs more (${(((on - off) / off) * 100).toFixed(0)} %)`;
    process.stdout.write(`${atOnce} at once: ${off.toFixed(1)} µs off, ${on.toFixed(1)} µs on: ${more}\n`);
  }
  const { size } = statSync(join(hubs.on.dataDir, "audit", "audit.log"));
  process.stdout.write(`audit.log: ${(size / 1e6).toFixed(1)} MB\n`);
} finally {
  await stage.clear();
}

/** Processor time that so many requests took, in milliseconds. */
async function load({ kubeconfig, pids }, count, atOnce) {
  const admin = adminOf(readFileSync(kubeconfig, "utf8"));
  const session = connect(admin.server, { ca: admin.ca, cert: admin.cert, key: admin.key });
  await new Promise((resolve, reject) => session.once("connect", resolve).once("error", reject));
  const before = processorTime(pids());
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await get(session);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const spent = processorTime(pids()) - before;
  session.close();
  return spent;
}

function get(session) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path });
    stream.once("error", reject).once("end", resolve).resume().end();
  });
}
