// Real Kubernetes (etcd, kube-apiserver, kube-controller-manager) by the kube-up script, where it and the programs are on the machine.
import { accessSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { root } from "./bundle.mjs";
import { peerProgram } from "./kload.mjs";

const parts = ["etcd", "apiserver", "kcm"];
const programs = ["etcd", "kube-apiserver", "kube-controller-manager", "kubeadm", "kubectl"];
const stopMs = 10_000;

/** What is missing for a real control plane, in words; undefined when nothing is. */
export function kubeMissing() {
  const absent = programs.filter((name) => peerProgram(name) === undefined);
  if (absent.length > 0) return `${absent.join(", ")} not found (PEERS_DIR)`;
  return kubeUp() === undefined ? "no kube-up script (KUBE_UP)" : undefined;
}

function kubeUp() {
  const path = process.env["KUBE_UP"] ?? resolve(root, "../shared/peers/kube-up");
  try {
    accessSync(path);
    return path;
  } catch {
    return undefined;
  }
}

/** Starts a control plane with its state in `dir`; what is there already is kept. `apiServerArgs` are more flags of kube-apiserver. `readyMs` is kube-up's: from the apiserver's spawn to /readyz. */
export async function startKube(stage, dir, apiServerArgs = []) {
  const port = await freePorts(4);
  const env = { ...process.env, KUBE_PORT: String(port), APISERVER_ARGS: apiServerArgs.join(" ") };
  // A second start keeps its certificates and kubeconfigs, which name the port.
  const kept = /server: https:\/\/127\.0\.0\.1:(\d+)/.exec(readOr(join(dir, "admin.conf"), ""))?.[1];
  if (kept !== undefined) env.KUBE_PORT = kept;
  const stop = () => stopParts(dir);
  stage.onClear(stop);
  const starting = stage.start("bash", [kubeUp(), dir], { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  starting.child.stderr.setEncoding("utf8").on("data", (part) => (said = `${said}${part}`.slice(-4000)));
  const { error, code, signal } = await starting.exited;
  if (code !== 0) throw new Error(`kube-up: ${error?.message ?? `exit ${code ?? signal}`} ${said}`);
  return {
    side: "kubernetes",
    kubeconfig: join(dir, "admin.conf"),
    readyMs: Number(readFileSync(join(dir, "ready-ms"), "utf8")),
    pids: () => parts.map((part) => pidOf(dir, part)),
    stop,
  };
}

/** Stops the three processes in the order in which they depend on each other; their data stays. */
async function stopParts(dir) {
  for (const part of parts.toReversed()) {
    const pid = pidOf(dir, part);
    if (pid === undefined) continue;
    if (signal(pid, "SIGTERM")) {
      const end = performance.now() + stopMs;
      while (signal(pid, 0) && performance.now() < end) await new Promise((next) => setTimeout(next, 50));
      signal(pid, "SIGKILL");
    }
    await rm(join(dir, `${part}.pid`), { force: true });
  }
}

function pidOf(dir, part) {
  const text = readOr(join(dir, `${part}.pid`), "").trim();
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Whether the process was there to get it. */
function signal(pid, name) {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

/** The first of `count` free ports in a row, away from kube-up's default ones, which somebody else may be using. */
export async function freePorts(count) {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const first = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
  throw new Error("no free ports");
}

function isFree(port) {
  return new Promise((answer) => {
    const server = createServer();
    server.once("error", () => answer(false));
    server.listen(port, "127.0.0.1", () => server.close(() => answer(true)));
  });
}
