import { isJsonArray, isJsonObject } from "../json-value.ts";
import type { ArraySchema, Schema, StringSchema } from "../schema.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { elementText, fieldElement } from "./path-element.ts";
import { indexList, namedField, entrySchema, shapeOf } from "./shape.ts";
import { truncate } from "../truncate.ts";

/**
 * The errors that prevent an apply, as Kubernetes words them: fields that the schema does not have, values of other types, and
 * list items without a distinct key; undefined where there are none. Source: structured-merge-diff typed.Validate.
 */
export function* appliedProblem(schema: Schema, object: unknown): Steps<string | undefined> {
  const problems: string[] = [];
  yield* check({ problems, path: () => "", pace: { places: 0 } }, schema, object);
  if (problems.length < 2) return problems[0];
  return ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n");
}

interface Walk {
  readonly problems: string[];
  /** Joined for a problem only, since most values have none. */
  readonly path: () => string;
  readonly pace: Pace;
}

/** More problems would add no information. */
const maxProblems = 20;

function complain({ problems, path }: Walk, problem: string): void {
  if (problems.length >= maxProblems) return;
  const at = path();
  problems.push(at === "" ? problem : `${at}: ${problem}`);
}

function* check(walk: Walk, schema: Schema, value: unknown): Steps<void> {
  if (endsStep(walk.pace)) yield;
  if (value === null) return;
  switch (schema.type) {
    case "object":
    case "map":
      return yield* checkEntries(walk, schema, value);
    case "array":
      return yield* checkItems(walk, schema, value);
    case "any":
      return;
    default:
      return checkScalar(walk, schema, value);
  }
}

function* checkEntries(walk: Walk, schema: Schema, value: unknown): Steps<void> {
  if (!isJsonObject(value)) return complain(walk, `expected map, got ${goValue(value)}`);
  for (const key of Object.keys(value)) {
    const entry = value[key];
    const inner = { ...walk, path: () => walk.path() + elementText(fieldElement(key)) };
    const closed = schema.type === "object" && schema.open !== true;
    if (closed && namedField(schema, key) === undefined) complain(inner, "field not declared in schema");
    else yield* check(inner, entrySchema(schema, key), entry);
  }
}

function* checkItems(walk: Walk, schema: ArraySchema, value: unknown): Steps<void> {
  if (!isJsonArray(value)) return complain(walk, `expected list, got ${goValue(value)}`);
  const granular = shapeOf(schema, value) === "list";
  const indexed = granular
    ? yield* indexList(schema, value, walk.pace)
    : { elements: value.map((_item, index) => `i:${index}`) };
  if ("problem" in indexed) return complain(walk, indexed.problem);
  const seen = new Set<string>();
  for (const [index, element] of indexed.elements.entries()) {
    if (seen.has(element)) complain(walk, `duplicate entries for key ${elementText(element)}`);
    seen.add(element);
    yield* check({ ...walk, path: () => walk.path() + elementText(element) }, schema.items, value[index]);
  }
}

function checkScalar(walk: Walk, schema: Schema, value: unknown): void {
  switch (schema.type) {
    case "integer":
    case "number":
      if (typeof value !== "number") complain(walk, `expected numeric (int or float), got ${goType(value)}`);
      return;
    case "boolean":
      if (typeof value !== "boolean") complain(walk, `expected boolean, got ${goValue(value)}`);
      return;
    case "string":
      return checkText(walk, schema, value);
    default:
      return;
  }
}

function checkText(walk: Walk, { format }: StringSchema, value: unknown): void {
  if (format === "quantity" || format === "int-or-string") {
    if (typeof value === "object") complain(walk, `expected any scalar, got ${goValue(value)}`);
  } else if (typeof value !== "string") {
    complain(walk, `expected string, got &value.valueUnstructured{Value:${shown(value)}}`);
  }
}

function goValue(value: unknown): string {
  return `&{${shown(value)}}`;
}

function goType(value: unknown): string {
  if (isJsonArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return truncate(text, 64);
}
