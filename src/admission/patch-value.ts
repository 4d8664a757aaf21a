import { isJsonArray, type JsonObject } from "../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../apimachinery/step-budget.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { isMap, mapGet, mapKeys, messageOf } from "../policy/cel/equality.ts";
import { celToJson } from "../policy/cel/to-json.ts";
import { fromJson, type CelMap } from "../policy/cel/values.ts";

/** What an expression makes cannot be a patch. */
export class PatchValueError extends Error {
  override readonly name = "PatchValueError";
  readonly code = "value";
}

/** How many values one patch may hold. An expression may use a large value many times over, which costs it nothing. */
const maxValues = 100_000;
/** How many characters the keys and texts of one patch may have together: what a request may have. */
const maxCharacters = 3 << 20;
const maxDepth = 100;

interface Walk {
  readonly pace: Pace;
  values: number;
  characters: number;
  /** The objects whose types are not named after the fields in which they stand. */
  readonly misnamed: string[];
}

/**
 * A value of CEL as JSON. Objects that the expression made must be named after the path of their fields, from the outermost on.
 * @throws PatchValueError where they are not, or the value is too large or has no form in JSON.
 * Source: apiserver pkg/cel/mutation/dynamic CheckTypeNamesMatchFieldPathNames.
 */
export function* patchValue(value: unknown, pace: Pace): Steps<unknown> {
  const walk: Walk = { pace, values: 0, characters: 0, misnamed: [] };
  const outermost = isMap(value) ? messageOf(value) : undefined;
  const made = yield* jsonOf(walk, value, { path: outermost, depth: maxDepth });
  if (walk.misnamed.length > 0) throw new PatchValueError(`type mismatch: ${walk.misnamed.join("\n")}`);
  return made;
}

interface Place {
  /** The name that an object here must have; undefined where its name says nothing. */
  readonly path: string | undefined;
  readonly depth: number;
}

function* jsonOf(walk: Walk, raw: unknown, { path, depth }: Place): Steps<unknown> {
  if (endsStep(walk.pace)) yield;
  count(walk, typeof raw === "string" ? raw.length : 0);
  if (depth === 0) throw new PatchValueError(`the patch nests deeper than ${maxDepth} levels`);
  const value = fromJson(raw);
  if (isJsonArray(value)) {
    const list: unknown[] = [];
    for (const element of value) list.push(yield* jsonOf(walk, element, { path, depth: depth - 1 }));
    return list;
  }
  if (isMap(value)) return yield* objectOf(walk, value, { path, depth });
  const scalar = celToJson(value);
  if (scalar === undefined)
    throw new PatchValueError("the expression evaluated to a type that could not marshal to JSON");
  return scalar;
}

function* objectOf(walk: Walk, map: JsonObject | CelMap, { path, depth }: Place): Steps<JsonObject> {
  const name = messageOf(map);
  if (name !== undefined && path !== undefined && name !== path && walk.misnamed.length < maxMisnamed) {
    const expected = `expected ${JSON.stringify(path)}, which matches field name path from root Object type`;
    walk.misnamed.push(`unexpected type name ${JSON.stringify(name)}, ${expected}`);
  }
  const entries: [string, unknown][] = [];
  for (const key of mapKeys(map)) {
    if (typeof key !== "string") throw new PatchValueError(`map key ${JSON.stringify(celToJson(key))} is not a string`);
    count(walk, key.length);
    const inner = name === undefined || path === undefined ? path : `${path}.${key}`;
    entries.push([key, yield* jsonOf(walk, mapGet(map, key), { path: inner, depth: depth - 1 })]);
  }
  return Object.fromEntries(entries);
}

/** More than these say nothing new. */
const maxMisnamed = 20;

function count(walk: Walk, characters: number): void {
  walk.values += 1;
  walk.characters += characters;
  if (walk.values > maxValues) throw new PatchValueError(`the patch holds more than ${maxValues} values`);
  if (walk.characters > maxCharacters)
    throw new PatchValueError(`the patch holds more than ${maxCharacters} characters`);
}
