import { type FieldError, forbiddenField, invalid } from "../apimachinery/field-error.ts";
import { configMapKeyProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { collectErrors } from "./collect-errors.ts";
import { isSameJson, isTrueAt } from "./json-fields.ts";

/** How many bytes the values of one Secret or ConfigMap may hold together: 1 MiB. */
export const maxDataBytes: number = 1024 * 1024;

/** Field errors for the keys of one map, e.g. `data[a b]: Invalid value: "a b": …`. */
export function validateDataKeys(path: string, data: Readonly<Record<string, unknown>>): readonly FieldError[] {
  return collectErrors(Object.keys(data), (key) =>
    configMapKeyProblems(key).map((why) => invalid(`${path}[${key}]`, key, why)),
  );
}

/** What an update may not touch once the stored object says `immutable: true`: that field, and the fields that are named. */
export function validateImmutableData(
  next: ApiObject,
  stored: ApiObject,
  fields: readonly string[],
): readonly FieldError[] {
  if (!isTrueAt(stored, "immutable")) return [];
  const frozen = "field is immutable when `immutable` is set";
  return [
    ...(isTrueAt(next, "immutable") ? [] : [forbiddenField("immutable", frozen)]),
    ...fields.filter((field) => !isSameJson(next[field], stored[field])).map((field) => forbiddenField(field, frozen)),
  ];
}
