#!/usr/bin/env node
// Everything else is loaded once this version of Node is known to be supported: an older one fails at the first unknown import.
import { nodeProblem } from "../../supported-node.mjs";

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const { runProcess } = await import("./process-io.ts");
  await runProcess();
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
