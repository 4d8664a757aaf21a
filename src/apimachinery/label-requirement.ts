import { labelValueProblems, qualifiedNameProblems } from "./names.ts";
import { SelectorError } from "./selector-error.ts";

/** How a requirement relates a key to its values, as in apimachinery's selection.Operator. */
export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

/** One requirement; `values` are sorted and without duplicates. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** A checked requirement. @throws SelectorError syntax, naming each rule that key and values break. Source: labels.NewRequirement. */
export function labelRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const problems = qualifiedNameProblems(key);
  const errors = problems.length === 0 ? [] : [`key: Invalid value: ${JSON.stringify(key)}: ${problems.join("; ")}`];
  const unique = [...new Set(values)].sort();
  const count = countProblem(operator, unique.length);
  if (count !== undefined) errors.push(`values: Invalid value: ${JSON.stringify(unique)}: ${count}`);
  for (const [index, value] of unique.entries()) {
    if ((operator === "gt" || operator === "lt") && integer(value) === undefined) {
      errors.push(
        `values[${index}]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    }
    const wrong = labelValueProblems(value);
    if (wrong.length > 0) {
      errors.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`);
    }
  }
  if (errors.length > 0)
    throw new SelectorError("syntax", errors.length === 1 ? errors.join() : `[${errors.join(", ")}]`);
  return { key, operator, values: unique };
}

function countProblem(operator: LabelOperator, count: number): string | undefined {
  const [least, most, problem] = counts[operator];
  return count >= least && count <= most ? undefined : problem;
}

type Count = readonly [least: number, most: number, problem: string];
const some: Count = [1, Infinity, "for 'in', 'notin' operators, values set can't be empty"];
const exact: Count = [1, 1, "exact-match compatibility requires one single value"];
const none: Count = [0, 0, "values set must be empty for exists and does not exist"];
const bound: Count = [1, 1, "for 'Gt', 'Lt' operators, exactly one value is required"];
const counts: Readonly<Record<LabelOperator, Count>> = {
  in: some,
  notin: some,
  "=": exact,
  "==": exact,
  "!=": exact,
  exists: none,
  "!": none,
  gt: bound,
  lt: bound,
};

/** Whether the requirement matches an object whose label has `value`; undefined means that it has no such label. */
export function requirementHolds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt":
      return isBeyond(operator, integer(value), integer(values[0]));
    default: {
      const isAmong = value !== undefined && values.includes(value);
      return operator === "!=" || operator === "notin" ? !isAmong : isAmong;
    }
  }
}

function isBeyond(operator: "gt" | "lt", have: bigint | undefined, limit: bigint | undefined): boolean {
  if (have === undefined || limit === undefined) return false;
  return operator === "gt" ? have > limit : have < limit;
}

/** A 64-bit integer as Go's ParseInt accepts it. */
function integer(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]{1,63}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}
