// npm run demo -- [NAME...]: shows each system of Pratique with real processes, and checks what it shows.
// Exits 1 if a step gives something else than it should. Needs the build in dist/, which `npm ci` makes.
import "../check-node.mjs";
import { existsSync } from "node:fs";
import { DemoError, openStage } from "./stage.mjs";

/** In the order in which they run. Each is a file of that name, with a function `run(stage)`. */
const demos = [
  { name: "access-request", title: "a machine without a credential requests access; an approver grants it" },
  { name: "join", title: "a machine joins with a bootstrap token and the pin of the CA, as with kubeadm" },
  { name: "tls-bootstrap", title: "a kubelet requests its client and serving certificates, and renews them" },
  { name: "cluster", title: "a cluster registers as with Open Cluster Management; two people decide" },
  { name: "authorization", title: "Node, RBAC and a policy in Rego decide; each denial says why" },
];
const list = demos.map(({ name, title }) => `  ${name.padEnd(15)} ${title}\n`).join("");
const usage = `usage: npm run demo -- [NAME...]\n\nWithout a name, all of them run:\n${list}`;

let current;
let isStopping = false;

/** Runs what the command line names; gives the exit code. */
async function main(words) {
  if (words.some((word) => ["--help", "-h", "help"].includes(word))) return print(process.stdout, usage, 0);
  const unknown = words.find((word) => !demos.some(({ name }) => name === word));
  if (unknown !== undefined) return print(process.stderr, `demo: there is no demo "${unknown}"\n\n${usage}`, 2);
  if (!existsSync(new URL("../dist/bin/pratique.js", import.meta.url))) {
    return print(process.stderr, "demo: there is no build in dist/; run `npm ci` first\n", 2);
  }
  const results = [];
  for (const demo of demos) if (words.length === 0 || words.includes(demo.name)) results.push(await result(demo));
  const mark = (passed) => (passed ? "✓" : "✗");
  const line = ({ name, passed, seconds }) =>
    `${mark(passed)} ${name.padEnd(15)} ${seconds.toFixed(1).padStart(5)} s\n`;
  const code = results.every(({ passed }) => passed) ? 0 : 1;
  return print(
    process.stdout,
    `\n${results.map(line).join("")}${code === 0 ? "\nStart a hub of your own: npm start\n" : ""}`,
    code,
  );
}

function print(stream, text, code) {
  stream.write(text);
  return code;
}

/** Runs one demo on a stage of its own, and leaves nothing behind however it ends. */
async function result({ name, title }) {
  const begun = performance.now();
  const stage = await openStage(name);
  current = stage;
  stage.heading(`=== ${name}: ${title}`);
  let passed = false;
  try {
    await (await import(`./${name}.mjs`)).run(stage);
    passed = true;
  } catch (error) {
    // The process exits once the stage is closed.
    if (isStopping) await new Promise(() => undefined);
    stage.failed(`${name}: ${error instanceof DemoError ? error.message : error?.stack}`);
  }
  await stage.close();
  return { name, passed, seconds: (performance.now() - begun) / 1000 };
}

function stop(code) {
  isStopping = true;
  void (current?.close() ?? Promise.resolve()).finally(() => process.exit(code));
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => stop(130));
// The reader has gone, as in `npm run demo | head`.
process.stdout.on("error", () => stop(1));
process.exitCode = await main(process.argv.slice(2));
