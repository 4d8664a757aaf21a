import { celError } from "../cel/cel-error.ts";
import { compileCel, type CelProgram } from "../cel/compile.ts";
import type { CelFunction } from "../cel/environment.ts";
import type { CelType } from "../cel/types.ts";
import { kubernetesFunctions } from "./functions.ts";
import { literalIssues } from "./literal-issues.ts";

/**
 * Reads and checks an expression as Kubernetes does: with its functions and those that only some places have, and
 * with its literals looked at.
 * @throws CelError when it cannot be used; the message is what a client should see
 */
export function compileKubernetesCel(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  more: readonly CelFunction[] = [],
): CelProgram {
  const program = compileCel(source, { variables, functions: [...kubernetesFunctions, ...more] });
  const issues = literalIssues(program.ast);
  if (issues.length > 0) throw celError("type", source, issues);
  return program;
}
