// A fleet of simulated machines lives on one hub, which is killed and started again in the middle: node bench/fleet.mjs [--machines 1000] [--minutes 14] [--beat 10s] [--from-source]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hubProgram, startHub } from "./hub-process.mjs";
import { adminOf, bootstrapToken, createBootstrapToken } from "./kubeconfig.mjs";
import { processorTime, residentMemory } from "./process-figures.mjs";
import { openStage } from "./stage.mjs";

const { values } = parseArgs({
  options: {
    machines: { type: "string", default: "1000" },
    minutes: { type: "string", default: "14" },
    beat: { type: "string", default: "10s" },
    "from-source": { type: "boolean", default: false },
  },
});
const [machines, minutes] = [Number(values.machines), Number(values.minutes)];
const sampleMs = 1_000;
/** How long after the restart the load is looked at. */
const afterSeconds = 60;

const stage = openStage();
try {
  await live();
} catch (error) {
  if (!stage.closing()) process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
} finally {
  await stage.clear();
}

async function live() {
  const program = await hubProgram(stage, { fromSource: values["from-source"] });
  const work = await stage.folder("bench-fleet");
  const dataDir = join(work, "data");
  const args = ["--cluster-signing-duration", "10m"];
  const first = await startHub(stage, { program, dataDir, args });
  const admin = adminOf(readFileSync(first.kubeconfig, "utf8"));
  await createBootstrapToken(admin);
  const pin = await pinOf(program, dataDir);
  const { port, host } = new URL(first.url);

  const begun = performance.now();
  const fleet = simulate({ program, host, pin });
  const watched = watch(first.child.pid);
  await sleep((minutes * 60_000) / 2);
  const killedAt = Math.round((performance.now() - begun) / 1000);
  const before = watched.stop();
  first.child.kill("SIGKILL");
  const second = await startHub(stage, { program, dataDir, args, port: Number(port) });
  const again = watch(second.child.pid);
  const report = await fleet;
  const after = again.stop();

  const { perSecond, ...counts } = report;
  const steady = mean(perSecond.slice(Math.max(0, killedAt - 60), killedAt));
  const later = perSecond.slice(killedAt, killedAt + afterSeconds);
  const figures = {
    ...counts,
    requestsPerSecond: round(mean(perSecond)),
    busiestSecond: Math.max(...perSecond),
    restart: {
      atSecond: killedAt,
      readyMs: Math.round(second.readyMs),
      steadyBefore: round(steady),
      busiestSecondAfter: Math.max(...later),
      meanOfTheMinuteAfter: round(mean(later)),
    },
    hub: { before, after },
  };
  process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`);
  if (counts.lost + counts.otherIdentity > 0 || counts.joined < machines) process.exitCode = 1;
}

/** The fleet in a process of its own; resolves with its report. */
async function simulate({ program, host, pin }) {
  const args = ["simulate", host, "--token-file", "-", "--discovery-token-ca-cert-hash", pin, "--machines", machines];
  const how = ["--beat", values.beat, "--spread", "30s", "--duration", `${minutes * 60}s`, "-o", "json"];
  const running = stage.start(process.execPath, [program, ...args.map(String), ...how], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  running.child.stdin.end(bootstrapToken);
  let out = "";
  running.child.stdout.setEncoding("utf8").on("data", (part) => (out += part));
  await running.exited;
  return JSON.parse(out);
}

async function pinOf(program, dataDir) {
  const { child, exited } = stage.start(
    process.execPath,
    [program, "ca", "status", "--data-dir", dataDir, "-o", "json"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (part) => (out += part));
  await exited;
  return JSON.parse(out).authorities[0].pin;
}

/** Looks at a process once a second until `stop`: its share of one processor, and its memory in MB. */
function watch(pid) {
  const began = performance.now();
  const cpuBefore = processorTime([pid]);
  let [cpuMs, mostMb] = [0, 0];
  const timer = setInterval(() => {
    try {
      cpuMs = processorTime([pid]) - cpuBefore;
      mostMb = Math.max(mostMb, residentMemory([pid]).total / 1e6);
    } catch {
      // It is gone; the last look counts.
    }
  }, sampleMs);
  return {
    stop: () => {
      clearInterval(timer);
      return { cpuPercent: round((100 * cpuMs) / (performance.now() - began)), mostMb: round(mostMb) };
    },
  };
}

function mean(numbers) {
  return numbers.length === 0 ? 0 : numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

function round(number) {
  return Math.round(number * 10) / 10;
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
