// The example policy with two groups, in process; where OPA is on the machine, the same questions to its data API.
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { homedir } from "node:os";
import { join } from "node:path";
import { compileRego } from "../../src/policy/rego/compile.ts";
import { usualLimits } from "../../src/policy/rego/limits.ts";
import { isQuick, perCpuSecond, print, rounded } from "./measure.mts";

const file = join(process.cwd(), "examples/opa-walk-through/policy/k8s.rego");
const query = "data.k8s.allow";
const count = isQuick() ? 5000 : 100_000;
const targetMs = 1;

const inputs = Array.from({ length: 1024 }, (_, at) => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec: {
    user: `user-${at}`,
    groups: [["admin"], ["conf"], ["devs"]][at % 3]?.concat(["system:authenticated"]),
    resourceAttributes: {
      namespace: `ns-${at % 50}`,
      verb: ["get", "list", "create", "delete", "watch"][at % 5],
      version: "v1",
      resource: "pods",
      name: `pod-${at}`,
    },
  },
}));

const ask = compileRego([{ file: "k8s.rego", text: readFileSync(file, "utf8") }]).prepare(query);
const one = (index: number): unknown => {
  const outcome = ask({ input: inputs[index % inputs.length], limits: usualLimits, now: () => performance.now() });
  return "value" in outcome ? outcome.value : outcome.error;
};
for (let index = 0; index < 20_000; index += 1) one(index);
const allowed = inputs.map((_, index) => one(index));
const times = Array.from({ length: count }, (_, index) => timed(() => one(index)));
print({
  bench: "rego",
  name: "in process",
  ...percentiles(times),
  perCpuSecond: rounded(await perCpuSecond(one, isQuick() ? 50 : 300)),
  target: `p99 < ${targetMs} ms`,
  reached: percentiles(times).p99Ms < targetMs,
});
const opa = opaProgram();
if (opa === undefined) print({ bench: "skip", what: "opa", why: "not found (OPA, PEERS_DIR)" });
else await measureOpa(opa);

function timed(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function percentiles(all: readonly number[]): { readonly p50Ms: number; readonly p99Ms: number } {
  const sorted = [...all].sort((a, b) => a - b);
  const at = (share: number): number => rounded(sorted[Math.floor(sorted.length * share)] ?? 0);
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** `$OPA`, else what tests have installed among the peers. */
function opaProgram(): string | undefined {
  const folder = join(process.env["PEERS_DIR"] ?? join(homedir(), ".cache/pratique-peers"), "bin");
  const installed = existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.startsWith("opa-"))
        .map((name) => join(folder, name, "opa"))
    : [];
  return [process.env["OPA"] ?? "", ...installed].find((path) => path !== "" && existsSync(path));
}

/** OPA tells how long the evaluation alone took; the rest of a request is HTTP and JSON. */
async function measureOpa(program: string): Promise<void> {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const child = spawn(program, ["run", "--server", "--addr", `127.0.0.1:${port}`, "--log-level", "error", file], {
    stdio: "ignore",
  });
  const stop = (): void => void child.kill("SIGKILL");
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => (stop(), process.exit(1)));
  try {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const put = (input: unknown): Promise<OpaReply> => posted(agent, port, input);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await put(inputs[0]);
        break;
      } catch (error) {
        if (attempt === 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    const evaluations: number[] = [];
    const whole: number[] = [];
    for (let index = 0; index < Math.min(count, 10_000); index += 1) {
      const start = performance.now();
      const { result, metrics } = await put(inputs[index % inputs.length]);
      whole.push(performance.now() - start);
      evaluations.push((metrics.timer_rego_query_eval_ns ?? 0) / 1e6);
      if (result !== allowed[index % inputs.length]) throw new TypeError(`another answer to question ${index}`);
    }
    print({ bench: "rego", name: "opa, evaluation alone", ...percentiles(evaluations) });
    print({ bench: "rego", name: "opa, over its data API", ...percentiles(whole) });
    agent.destroy();
  } finally {
    stop();
  }
}

interface OpaReply {
  readonly result?: boolean;
  readonly metrics: { readonly timer_rego_query_eval_ns?: number };
}

function posted(agent: Agent, port: number, input: unknown): Promise<OpaReply> {
  const body = JSON.stringify({ input });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const path = "/v1/data/k8s/allow?metrics=true";
    const asking = request({ agent, port, host: "127.0.0.1", method: "POST", path, headers }, (reply) => {
      let text = "";
      reply.setEncoding("utf8").on("data", (part: string) => (text += part));
      reply.once("end", () => resolve(JSON.parse(text) as OpaReply));
    });
    asking.once("error", reject);
    asking.end(body);
  });
}
