// Many managed clusters register at once with one hub, then more of them, and all beat: node bench/clusters.mjs [--at-once 1000] [--clusters 10000] [--minutes 8] [--beat 60] [--lease 60] [--silent 20] [--no-watches] [--from-source]
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./bundle.mjs";
import { hubProgram, startHub } from "./hub-process.mjs";
import { adminOf, create } from "./kubeconfig.mjs";
import { machine } from "./machine.mjs";
import { processorTime, residentMemory } from "./process-figures.mjs";
import { openStage } from "./stage.mjs";

const { values } = parseArgs({
  options: {
    "at-once": { type: "string", default: "1000" },
    clusters: { type: "string", default: "10000" },
    minutes: { type: "string", default: "8" },
    beat: { type: "string", default: "60" },
    lease: { type: "string", default: "60" },
    silent: { type: "string", default: "20" },
    "no-watches": { type: "boolean", default: false },
    "from-source": { type: "boolean", default: false },
    profile: { type: "string" },
  },
});
const token = { id: "ocmben", secret: "0123456789abcdef" };
const sampleMs = 500;

const stage = openStage();
try {
  await run();
} catch (error) {
  if (!stage.closing()) process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
} finally {
  await stage.clear();
}

async function run() {
  const program = await hubProgram(stage, { fromSource: values["from-source"] });
  const agents = await bundle(stage, "bench/cluster-agents.mts");
  const work = await stage.folder("bench-clusters");
  const rules = join(work, "registration.yaml");
  await writeFile(
    rules,
    `apiVersion: pratique.dev/v1alpha1\nkind: ClusterRegistration\nautoApproval:\n  - user: system:bootstrap:${token.id}\n    clusters: ["bench-*"]\n`,
  );
  const args = ["--managed-clusters", "--registration-config", rules];
  const nodeArgs = values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`];
  const hub = await startHub(stage, { program, dataDir: join(work, "data"), args, nodeArgs });
  const admin = adminOf(readFileSync(hub.kubeconfig, "utf8"));
  await createToken(admin);
  const idle = figuresOf(hub.child.pid, performance.now()).now().mostMb;

  const [atOnce, clusters] = [Number(values["at-once"]), Math.max(Number(values.clusters), Number(values["at-once"]))];
  const running = stage.start(process.execPath, ["--max-old-space-size=8192", agents], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  running.child.stdin.end(
    JSON.stringify({
      server: hub.url,
      ca: admin.ca.toString(),
      token: `${token.id}.${token.secret}`,
      admin: { cert: admin.cert.toString(), key: admin.key.toString() },
      atOnce,
      clusters,
      leaseSeconds: Number(values.lease),
      beatSeconds: Number(values.beat),
      seconds: Number(values.minutes) * 60,
      silent: Number(values.silent),
      watches: !values["no-watches"],
    }),
  );
  const phases = await phasesOf(running, hub.child.pid);
  const wanted = { registered: atOnce, grown: clusters - atOnce, living: clusters };
  process.stdout.write(`${JSON.stringify({ ...machine(), bench: "clusters", idleMb: idle, phases }, undefined, 2)}\n`);
  const living = phases.find(({ phase }) => phase === "living");
  const isWhole = phases.every(({ phase, clusters: count }) => count === wanted[phase]);
  if (!isWhole || living === undefined || living.silent.wronglyUnknown > 0) process.exitCode = 1;
}

/** What the agents report at the end of each phase, with what it cost the hub. */
async function phasesOf({ child, exited }, pid) {
  const phases = [];
  let figures = figuresOf(pid, performance.now());
  const timer = setInterval(() => figures.look(), sampleMs);
  let rest = "";
  child.stdout.setEncoding("utf8").on("data", (part) => {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      phases.push({ ...JSON.parse(line), hub: figures.now() });
      figures = figuresOf(pid, performance.now());
      process.stderr.write(`${phases.at(-1).phase}: done\n`);
    }
  });
  const { error, code, signal } = await exited;
  clearInterval(timer);
  if (error !== undefined || code !== 0) throw new Error(`the agents ended: ${error?.message ?? code ?? signal}`);
  return phases;
}

/** A process's share of one processor from now on, and its memory in MB. */
function figuresOf(pid, began) {
  const cpuBefore = processorTime([pid]);
  let mostMb = 0;
  const look = () => {
    try {
      mostMb = Math.max(mostMb, residentMemory([pid]).total / 1e6);
    } catch {
      // It is gone; the last look counts.
    }
  };
  return {
    look,
    now: () => {
      look();
      const cpuMs = processorTime([pid]) - cpuBefore;
      const cpuPercent = round((100 * cpuMs) / Math.max(performance.now() - began, 1));
      return { cpuPercent, cpuSeconds: round(cpuMs / 1000), mostMb: round(mostMb) };
    },
  };
}

async function createToken(admin) {
  await create(admin, "/api/v1/namespaces/kube-system/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: `bootstrap-token-${token.id}`, namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      "token-id": token.id,
      "token-secret": token.secret,
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": "system:bootstrappers:managedcluster",
    },
  });
}

function round(number) {
  return Math.round(number * 10) / 10;
}
