import { isJsonArray, isJsonObject, type JsonObject } from "../apimachinery/json-value.ts";
import { appliedProblem } from "../apimachinery/managed-fields/check-applied.ts";
import { mergeObjects } from "../apimachinery/managed-fields/merge-objects.ts";
import { fieldElement, elementText } from "../apimachinery/managed-fields/path-element.ts";
import { namedField, shapeOf } from "../apimachinery/managed-fields/shape.ts";
import { endsStep, type Pace } from "../apimachinery/step-budget.ts";
import { PatchError } from "../apimachinery/patch-error.ts";
import type { Schema } from "../apimachinery/schema.ts";
import type { Steps } from "../apimachinery/steps.ts";

/**
 * The object with a configuration merged into it; the owners of its fields stay the same. Source: apiserver
 * pkg/admission/plugin/policy/mutating/patch ApplyStructuredMergeDiff.
 * @throws PatchError failed where the configuration does not fit the schema, or holds values that are replaced as a whole.
 */
export function* applyConfiguration(
  schema: Schema,
  { object, configuration }: { readonly object: JsonObject; readonly configuration: JsonObject },
  pace: Pace,
): Steps<JsonObject> {
  const problem = yield* appliedProblem(schema, configuration);
  if (problem !== undefined) throw failed(`failed to convert patch object to typed object: ${problem}`);
  const atomics: string[] = [];
  yield* findAtomics({ atomics, pace }, schema, { value: configuration, path: "" });
  if (atomics.length > 0) {
    throw failed(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`);
  }
  return yield* mergeObjects(schema, { live: object, applied: configuration }, pace);
}

interface Walk {
  readonly atomics: string[];
  readonly pace: Pace;
}

/** Values that would be replaced as a whole, which a configuration that names some of their fields does not intend. */
function* findAtomics(
  walk: Walk,
  schema: Schema,
  { value, path }: { readonly value: unknown; readonly path: string },
): Steps<void> {
  if (endsStep(walk.pace)) yield;
  if (!isJsonObject(value) && !isJsonArray(value)) return;
  if (shapeOf(schema, value) === "leaf") walk.atomics.push(path);
  if (isJsonArray(value)) {
    if (schema.type !== "array") return;
    for (const [index, item] of value.entries()) {
      yield* findAtomics(walk, schema.items, { value: item, path: `${path}[${index}]` });
    }
    return;
  }
  for (const key of Object.keys(value)) {
    const entry = value[key];
    const field = namedField(schema, key);
    if (field === undefined) continue;
    yield* findAtomics(walk, field.schema, { value: entry, path: path + elementText(fieldElement(key)) });
  }
}

function failed(message: string): PatchError {
  return new PatchError("failed", `error applying patch: ${message}`);
}
