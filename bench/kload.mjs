// Runs a load generator, the same for both sides: kload, or the driver beside this file for what kload does not know.
import { accessSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const peersBin = join(process.env["PEERS_DIR"] ?? join(homedir(), ".cache/pratique-peers"), "bin");

/** Path of a peer program, or undefined where it is absent. */
export function peerProgram(name) {
  const path = join(peersBin, name);
  try {
    accessSync(path);
    return path;
  } catch {
    return undefined;
  }
}

/** One run of a load of `loads.mjs`, as kload reports it; `errors` counts operations that failed. @throws Error when kload itself fails. */
export async function runLoad(stage, { kload, kubeconfig, load, count }) {
  const running = stage.start(...commandOf(load, { kload, kubeconfig, count }), { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  running.child.stdout.setEncoding("utf8").on("data", (part) => (out += part));
  running.child.stderr.setEncoding("utf8").on("data", (part) => (err = `${err}${part}`.slice(-4000)));
  const closed = new Promise((resolve) => running.child.once("close", resolve));
  const { error, code, signal } = await running.exited;
  if (error === undefined) await closed;
  if (code !== 0) throw new Error(`load ${load.name}: ${error?.message ?? `exit ${code ?? signal}`} ${err}`);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const result = lines.find((line) => line.mode === (load.mode ?? load.driver ?? load.args(1)[0]));
  if (result === undefined) throw new Error(`load ${load.name}: no result in ${out.slice(0, 500)}`);
  return result;
}

function commandOf(load, { kload, kubeconfig, count }) {
  if (load.driver !== undefined) {
    return [process.execPath, [join(import.meta.dirname, "driver.mjs"), kubeconfig, load.driver, String(count)]];
  }
  return [kload, ["-kubeconfig", kubeconfig, ...load.args(count).map(String)]];
}
