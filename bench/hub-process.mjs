// Our hub as a process of its own, from dist/ or from the sources.
import { access } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { bundle, root } from "./bundle.mjs";
import { adminOf } from "./kubeconfig.mjs";

const startMs = 30_000;
/** One generator asks for all machines. */
const wideDoor = ["per-address", "per-minute", "pending"].flatMap((which) => [`--access-requests-${which}`, "1000000"]);

/** The script whose `hub` command is to be started: the built command line, or the sources bundled for this run. */
export async function hubProgram(stage, { fromSource = false } = {}) {
  if (fromSource) return bundle(stage, "src/cli/main.ts");
  const built = join(root, "dist/bin/pratique.js");
  try {
    await access(built);
  } catch {
    throw new Error("dist/bin/pratique.js is missing: run `npm run build` first (or give --from-source)");
  }
  return built;
}

/** The options that `npm start` gives to Node, so that what is measured is what people run. */
function startOptions() {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return /\bnode\s+((?:--\S+\s+)*)\S+\.js\b/.exec(scripts.start)?.[1].split(/\s+/).filter(Boolean) ?? [];
}

/**
 * Starts the hub and waits until `/readyz` says ok. `readyMs` counts from just before the process is spawned.
 * `args` go to the hub, `nodeArgs` to Node; with `ipc` the child has a message channel.
 */
export async function startHub(stage, { program, dataDir, port = 0, args: more = [], nodeArgs = [], ipc = false }) {
  const begun = performance.now();
  const args = [
    ...startOptions(),
    ...nodeArgs,
    program,
    "hub",
    "--data-dir",
    dataDir,
    "--secure-port",
    String(port),
    ...wideDoor,
    ...more,
  ];
  const running = stage.start(process.execPath, args, {
    cwd: root,
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe", ...(ipc ? ["ipc"] : [])],
  });
  const { url, said } = await firstUrl(running);
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  const admin = adminOf(readFileSync(kubeconfig, "utf8"));
  while (!(await isReady(url, admin.ca))) {
    if (performance.now() - begun > startMs) throw new Error(`the hub is not ready after ${startMs} ms: ${said()}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return {
    side: "pratique",
    url,
    kubeconfig,
    readyMs: performance.now() - begun,
    pids: () => [running.child.pid],
    child: running.child,
    stop: running.stop,
  };
}

async function firstUrl({ child, exited }) {
  let text = "";
  const said = () => text.slice(-2000);
  child.stderr.setEncoding("utf8").on("data", (part) => (text = `${text}${part}`.slice(-20_000)));
  const seen = new Promise((resolve) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (part) => {
      output = `${output}${part}`.slice(-20_000);
      const url = /https:\/\/[\w.[\]:-]+:\d+/.exec(output)?.[0];
      if (url !== undefined) resolve(url);
    });
  });
  const gone = exited.then(({ error, code, signal }) => ({ gone: error?.message ?? `exit ${code ?? signal}` }));
  const late = new Promise((resolve) =>
    setTimeout(() => resolve({ gone: `no address after ${startMs} ms` }), startMs).unref(),
  );
  const url = await Promise.race([seen, gone, late]);
  if (typeof url !== "string") throw new Error(`the hub did not start (${url.gone}): ${said()}`);
  return { url, said };
}

function isReady(url, ca) {
  return new Promise((resolve) => {
    const asking = request(`${url}/readyz`, { ca, agent: false, timeout: 2000 }, (reply) => {
      reply.resume();
      reply.once("end", () => resolve(reply.statusCode === 200));
    });
    asking.once("timeout", () => asking.destroy(new Error("timeout")));
    asking.once("error", () => resolve(false));
    asking.end();
  });
}
