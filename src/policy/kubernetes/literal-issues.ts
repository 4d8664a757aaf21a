import { children, type CelExpression, type CelNode } from "../cel/ast.ts";
import type { CelIssue } from "../cel/cel-error.ts";
import type { CelChecked } from "../cel/check.ts";
import { parseDuration, parseTimestamp, timestampOf } from "../cel/time.ts";
import { compilePattern } from "../cel/frame.ts";
import { formatType, type CelType } from "../cel/types.ts";
import { newTypeBindings, unify } from "../cel/unify.ts";
import { isCelFailure } from "../cel/values.ts";

/**
 * Issues of literals whose types are right: invalid patterns, durations and times,
 * and lists and maps of literals whose members differ in type. Source: apiserver cel/environment, AST validators.
 */
export function literalIssues(checked: CelChecked): readonly CelIssue[] {
  const issues: CelIssue[] = [];
  collect(checked, checked.root, issues);
  return issues;
}

/** The format string determines the types of the arguments of `format`. */
const mixing = "format";

function collect(checked: CelChecked, node: CelExpression, issues: CelIssue[]): void {
  const call = node.kind === "call" ? checked.callOf(node) : undefined;
  if (call !== undefined) issues.push(...argumentIssues(call.name, call.args));
  if (node.kind === "list") issues.push(...typeIssues(checked, elementsOf(node)));
  if (node.kind === "map") {
    issues.push(
      ...typeIssues(
        checked,
        node.entries.map(({ key }) => key),
      ),
    );
    issues.push(...typeIssues(checked, elementsOf({ elements: node.entries })));
  }
  for (const child of children(node)) {
    const isExempt = call?.name === mixing && child.kind === "list";
    if (!isExempt) collect(checked, child, issues);
  }
}

/** Optional elements are omitted: their type is that of the value inside. */
function elementsOf({ elements }: Pick<CelNode<"list">, "elements">): readonly CelExpression[] {
  return elements.filter(({ optional }) => !optional).map(({ value }) => value);
}

function argumentIssues(name: string, args: readonly CelExpression[]): readonly CelIssue[] {
  const check = checks.get(name);
  const argument = args[check?.position ?? 0];
  if (check === undefined || argument?.kind !== "literal") return [];
  const { value } = argument;
  const isRight = check.accepts(value);
  return isRight ? [] : [{ offset: argument.offset, message: `invalid ${name} argument` }];
}

interface Check {
  readonly position: number;
  readonly accepts: (literal: CelNode<"literal">["value"]) => boolean;
}

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["matches", { position: 1, accepts: isPattern }],
  ["find", { position: 1, accepts: isPattern }],
  ["findAll", { position: 1, accepts: isPattern }],
  ["duration", { position: 0, accepts: (value) => typeof value !== "string" || !isCelFailure(parseDuration(value)) }],
  ["timestamp", { position: 0, accepts: isTime }],
]);

function isPattern(value: CelNode<"literal">["value"]): boolean {
  return typeof value !== "string" || !isCelFailure(compilePattern(value));
}

function isTime(value: CelNode<"literal">["value"]): boolean {
  if (typeof value === "string") return !isCelFailure(parseTimestamp(value));
  const isNumber = typeof value === "number" || typeof value === "bigint";
  return !isNumber || !isCelFailure(timestampOf(BigInt(value) * 1_000_000_000n));
}

function typeIssues({ typeOf }: CelChecked, members: readonly CelExpression[]): readonly CelIssue[] {
  const [first, ...rest] = members;
  if (first === undefined) return [];
  const expected = typeOf(first);
  const stranger = rest.find((member) => !agree(typeOf(member), expected));
  if (stranger === undefined) return [];
  const message = `expected type '${formatType(expected)}' but found '${formatType(typeOf(stranger))}'`;
  return [{ offset: stranger.offset, message }];
}

function agree(one: CelType, other: CelType): boolean {
  return unify(newTypeBindings(), [one], [other]);
}
