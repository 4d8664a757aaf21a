import { celError } from "../cel/cel-error.ts";
import { compileCel, type CelProgram } from "../cel/compile.ts";
import type { CelEnvironment } from "../cel/environment.ts";
import type { CelType } from "../cel/types.ts";
import { kubernetesFunctions } from "./functions.ts";
import { literalIssues } from "./literal-issues.ts";

/**
 * Reads and checks an expression as Kubernetes does: with its functions, with the functions and types that only some places have,
 * and with its literals checked.
 * @throws CelError when it cannot be used; the message is what a client should see
 */
export function compileKubernetesCel(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  { functions = [], ...more }: Partial<Pick<CelEnvironment, "functions" | "messageType">> = {},
): CelProgram {
  const program = compileCel(source, { variables, functions: [...kubernetesFunctions, ...functions], ...more });
  const issues = literalIssues(program.ast);
  if (issues.length > 0) throw celError("type", source, issues);
  return program;
}
