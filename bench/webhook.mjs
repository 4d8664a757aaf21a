// SubjectAccessReviews that end at the example policy in Rego: server → `pratique authorizer`, for the hub and for real Kubernetes in turn.
import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { join } from "node:path";
import { parse } from "yaml";
import { root } from "./bundle.mjs";
import { underLoad } from "./compare.mjs";
import { hubProgram, startHub } from "./hub-process.mjs";
import { freePorts, kubeMissing, startKube } from "./kube-process.mjs";

const startMs = 30_000;
/** Each question is about somebody else, so that no answer is kept. There is nothing to reach: most of it is the same program. */
const load = { name: "sar-webhook", count: 10_000, quick: 2000, driver: "sar-webhook" };

/** One result, as those of `compare`. */
export async function webhooks(stage, options) {
  const missing = options.hubOnly ? "left out by --hub-only" : kubeMissing();
  if (missing !== undefined) options.print({ bench: "skip", what: "kubernetes", why: missing });
  const work = await stage.folder("bench");
  const program = await hubProgram(stage, options);
  const authorizer = await startAuthorizer(stage, { program, work });
  const flags = [`--authorization-webhook-config-file=${authorizer.kubeconfig}`, "--authorization-webhook-version=v1"];
  const servers = [
    await startHub(stage, {
      program,
      dataDir: join(work, "hub"),
      args: ["--authorization-mode=Node,RBAC,Webhook", ...flags],
    }),
  ];
  // What kube-up names already stays, and stands first.
  const added = ["--authorization-mode=Webhook", ...flags];
  if (missing === undefined) servers.push(await startKube(stage, join(work, "kube"), added));
  // The processor time of the policy counts for both.
  const both = servers.map((server) => ({ ...server, pids: () => [...server.pids(), authorizer.pid] }));
  return [await underLoad({ ...options, stage }, { load, servers: both })];
}

async function startAuthorizer(stage, { program, work }) {
  const port = await freePorts(1);
  const policy = join(root, "examples/opa-walk-through/policy/k8s.rego");
  const args = [program, "authorizer", "--policy", policy, "--query", "data.k8s.allow"];
  const place = ["--cert-dir", join(work, "authorizer"), "--secure-port", String(port)];
  const env = { ...process.env, NO_COLOR: "1" };
  const printing = stage.start(process.execPath, [...args, ...place, "--print-kubeconfig"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  printing.child.stdout.setEncoding("utf8").on("data", (part) => (text += part));
  const { code } = await printing.exited;
  if (code !== 0) throw new Error(`the authorizer printed no kubeconfig: exit ${code}`);
  const kubeconfig = join(work, "authorizer.yaml");
  await writeFile(kubeconfig, text);
  const { child } = stage.start(process.execPath, [...args, ...place], { env, stdio: "ignore" });
  const ca = Buffer.from(parse(text).clusters[0].cluster["certificate-authority-data"], "base64");
  const end = performance.now() + startMs;
  while (!(await isReady(port, ca))) {
    if (performance.now() > end) throw new Error(`the authorizer is not ready after ${startMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { kubeconfig, pid: child.pid };
}

function isReady(port, ca) {
  return new Promise((resolve) => {
    const asking = request({ host: "127.0.0.1", port, path: "/readyz", ca, agent: false }, (reply) => {
      reply.resume();
      reply.once("end", () => resolve(reply.statusCode === 200));
    });
    asking.once("error", () => resolve(false));
    asking.end();
  });
}
