import { nodeProblem } from "../supported-node.mjs";

/** This Node.js is below the floor of package.json. It has no stack, since the sentence says all. */
class UnsupportedNodeError extends Error {
  readonly code = "unsupported-node";
  override readonly name = "UnsupportedNodeError";
  override readonly stack: string = `UnsupportedNodeError: ${this.message}`;
}

const problem = nodeProblem(process.versions.node);
if (problem !== undefined) throw new UnsupportedNodeError(problem);
