import { celError } from "../cel/cel-error.ts";
import { compileCel, type CelProgram } from "../cel/compile.ts";
import { functionTable, type CelEnvironment, type CelFunction } from "../cel/environment.ts";
import { standardFunctions } from "../cel/standard-library.ts";
import type { CelType } from "../cel/types.ts";
import { urlFunctions } from "./go-url.ts";
import { listExtensions, listFunctions } from "./list-functions.ts";
import { literalIssues } from "./literal-issues.ts";
import { formatFunctions } from "./named-formats.ts";
import { networkFunctions } from "./network-functions.ts";
import { quantityFunctions } from "./quantity.ts";
import { regexFunctions } from "./regex-functions.ts";
import { semverFunctions } from "./semver.ts";

/** Kubernetes' additions to CEL for every expression: quantities, networks, URLs, versions, named formats, lists and patterns. */
export const kubernetesFunctions: readonly CelFunction[] = [
  ...formatFunctions,
  ...listExtensions,
  ...listFunctions,
  ...networkFunctions,
  ...quantityFunctions,
  ...regexFunctions,
  ...semverFunctions,
  ...urlFunctions,
];

const library = functionTable([...standardFunctions, ...kubernetesFunctions]);

/**
 * Parses and checks an expression as Kubernetes does: with its functions, with the functions and types of the calling context,
 * and with its literals checked.
 * @throws CelError when it cannot be used; the message is what a client should see
 */
export function compileKubernetesCel(
  source: string,
  variables: Readonly<Record<string, CelType>>,
  { functions = [], ...more }: Partial<Pick<CelEnvironment, "functions" | "messageType">> = {},
): CelProgram {
  const program = compileCel(source, { variables, library, functions, ...more });
  const issues = literalIssues(program.ast);
  if (issues.length > 0) throw celError("type", source, issues);
  return program;
}
