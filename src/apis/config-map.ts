import { type FieldError, invalid, tooLong, forbiddenField } from "../apimachinery/field-error.ts";
import { configMapKeyProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn, column, builtinKind } from "./builtin-kind.ts";
import { collectErrors, fieldErrors, nameErrors } from "./field-rules.ts";
import { fieldsAt, isSameJson, isTrueAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/** Small configuration data. Source: api/core/v1 ConfigMap. */
export interface ConfigMap extends ApiObject {
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  /** Values in base64; its keys are never those of `data`. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export const configMaps: Resource = builtinKind({
  group: "",
  kind: "ConfigMap",
  shortNames: ["cm"],
  scope: "Namespaced",
  schema: "io.k8s.api.core.v1.ConfigMap",
  columns: [
    column(
      "Data",
      "How many keys the ConfigMap holds.",
      (object) => Object.keys(fieldsAt(object, "data")).length + Object.keys(fieldsAt(object, "binaryData")).length,
    ),
    ageColumn,
  ],
  unconditionalUpdate: true,
  validate: validateConfigMap,
  validateUpdate: (next, stored) => validateImmutableData(next, stored, ["data", "binaryData"]),
});

function validateConfigMap(object: ApiObject): readonly FieldError[] {
  const data = fieldsAt(object, "data");
  const binaryData = fieldsAt(object, "binaryData");
  const twice = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  const size = bytesOf(data, "utf8") + bytesOf(binaryData, "base64");
  return fieldErrors(
    validateDataKeys("data", data),
    twice.map((key) => invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
    validateDataKeys("binaryData", binaryData),
    size > maxDataBytes && tooLong("", maxDataBytes),
  );
}

function bytesOf(values: Readonly<Record<string, unknown>>, encoding: "utf8" | "base64"): number {
  return Object.values(values).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value, encoding) : 0),
    0,
  );
}

/** Maximum number of bytes of the values of one Secret or ConfigMap together: 1 MiB. */
export const maxDataBytes: number = 1024 * 1024;

/** Field errors for the keys of one map, e.g. `data[a b]: Invalid value: "a b": …`. */
export function validateDataKeys(path: string, data: Readonly<Record<string, unknown>>): readonly FieldError[] {
  return collectErrors(Object.keys(data), (key) => nameErrors(`${path}[${key}]`, key, configMapKeyProblems));
}

/** Fields that an update may not change once the stored object has `immutable: true`: that field, and the named ones. */
export function validateImmutableData(
  next: ApiObject,
  stored: ApiObject,
  fields: readonly string[],
): readonly FieldError[] {
  if (!isTrueAt(stored, "immutable")) return [];
  const frozen = "field is immutable when `immutable` is set";
  return fieldErrors(
    !isTrueAt(next, "immutable") && forbiddenField("immutable", frozen),
    fields.filter((field) => !isSameJson(next[field], stored[field])).map((field) => forbiddenField(field, frozen)),
  );
}
