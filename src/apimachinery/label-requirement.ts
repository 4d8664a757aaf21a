import { labelValueProblems, qualifiedNameProblems } from "./names.ts";
import { SelectorError } from "./selector-error.ts";

/** How a requirement relates a key to its values, in the words of apimachinery's selection.Operator. */
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
  switch (operator) {
    case "in":
    case "notin":
      return count > 0 ? undefined : "for 'in', 'notin' operators, values set can't be empty";
    case "=":
    case "==":
    case "!=":
      return count === 1 ? undefined : "exact-match compatibility requires one single value";
    case "exists":
    case "!":
      return count === 0 ? undefined : "values set must be empty for exists and does not exist";
    case "gt":
    case "lt":
      return count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required";
  }
}

/** Whether the requirement holds for an object whose label has `value`; undefined means that it has no such label. */
export function requirementHolds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt": {
      const have = integer(value);
      const bound = integer(values[0]);
      if (have === undefined || bound === undefined) return false;
      return operator === "gt" ? have > bound : have < bound;
    }
  }
}

const symbols: Readonly<Record<LabelOperator, string>> = {
  "=": "=",
  "==": "==",
  "!=": "!=",
  in: " in ",
  notin: " notin ",
  exists: "",
  "!": "",
  gt: ">",
  lt: "<",
};

/** The canonical text of the requirement. */
export function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === "!") return `!${key}`;
  const list = values.join(",");
  return key + symbols[operator] + (operator === "in" || operator === "notin" ? `(${list})` : list);
}

/** A 64-bit integer as Go's ParseInt takes it. */
function integer(text: string | undefined): bigint | undefined {
  if (text === undefined || !/^[+-]?[0-9]{1,63}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value === BigInt.asIntN(64, value) ? value : undefined;
}
