#!/usr/bin/env node
// Everything else is loaded once this Node is known to be new enough: an older one fails at the first import that it does not know.
import { nodeProblem } from "../../supported-node.mjs";

const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const { runProcess } = await import("./process-io.ts");
  await runProcess();
} else {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
