// Measures the hub, and real Kubernetes beside it where that is on the machine: `npm run bench -- [--only NAME] [--rounds N] [--quick] [--hub-only] [--json FILE]`.
// `npm run bench -- store|rbac|node|rego|csr|decode|seal` measures one part alone, `-- webhook` reviews that end at a policy.
import { appendFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { bundle } from "./bundle.mjs";
import { compare, measurements } from "./compare.mjs";
import { machine } from "./machine.mjs";
import { openStage } from "./stage.mjs";
import { resultTable } from "./table.mjs";
import { webhooks } from "./webhook.mjs";

const micro = ["store", "rbac", "node", "rego", "csr", "decode", "seal"];
const usage = `usage: npm run bench -- [MODE] [options]

MODE      ${micro.join(", ")}: one part alone; webhook: reviews that end at a policy in Rego; without: the hub as a process, against real Kubernetes where it is installed
options   --only NAME    one of ${measurements.join(", ")}; may be repeated
          --rounds N     rounds of each load, default 3; the median counts
          --quick        small loads, one round
          --hub-only     without Kubernetes
          --from-source  the sources as they are in place of dist/
          --json FILE    writes the JSON lines there as well
`;

const stage = openStage();
try {
  const { values, positionals } = readArguments();
  if (values.help) process.stdout.write(usage);
  else {
    const print = printer(values.json);
    print(machine());
    for (const mode of positionals) {
      if (mode === "webhook") await runComparison(webhooks, values, print);
      else await runMicro(mode, values, print);
    }
    if (positionals.length === 0) await runComparison(compare, values, print);
  }
} catch (error) {
  if (!stage.closing()) process.stderr.write(`${error.message}\n`);
  process.exitCode = error.code?.startsWith?.("ERR_PARSE_ARGS") ? 2 : 1;
} finally {
  await stage.clear();
}

function readArguments() {
  const parsed = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      "hub-only": { type: "boolean", default: false },
      "from-source": { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const unknown = [
    ...parsed.positionals.filter((mode) => mode !== "webhook" && !micro.includes(mode)),
    ...(parsed.values.only ?? []).filter((name) => !measurements.includes(name)),
  ];
  if (unknown.length > 0) throw new Error(`unknown: ${unknown.join(", ")}\n\n${usage}`);
  return parsed;
}

async function runComparison(measure, values, print) {
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds is a whole number from 1 on");
  const results = await measure(stage, {
    names: values.only ?? measurements,
    rounds,
    quick: values.quick,
    hubOnly: values["hub-only"],
    fromSource: values["from-source"],
    print,
  });
  process.stdout.write(`\n${resultTable(results)}`);
}

async function runMicro(mode, values, print) {
  const script = await bundle(stage, `bench/micro/${mode}.mts`);
  const running = stage.start(process.execPath, ["--expose-gc", script, ...(values.quick ? ["--quick"] : [])], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let rest = "";
  running.child.stdout.setEncoding("utf8").on("data", (part) => {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop();
    for (const line of lines) print(JSON.parse(line));
  });
  const { code, signal } = await running.exited;
  if (code !== 0) throw new Error(`${mode}: exit ${code ?? signal}`);
}

function printer(file) {
  if (file !== undefined) writeFileSync(file, "");
  return (record) => {
    const line = `${JSON.stringify(record)}\n`;
    process.stdout.write(line);
    if (file !== undefined) appendFileSync(file, line);
  };
}
