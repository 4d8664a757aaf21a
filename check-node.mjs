// Ends a script of this checkout with one sentence on a Node that is too old: `node check-node.mjs && …`, or the first import of a program.
import { nodeProblem } from "./supported-node.mjs";

const problem = nodeProblem(process.versions.node);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
