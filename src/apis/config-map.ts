import { type FieldError, invalid, tooLong } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageColumn } from "./age-column.ts";
import { maxDataBytes, validateDataKeys, validateImmutableData } from "./data-keys.ts";
import { fieldsAt } from "./json-fields.ts";
import { type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Small configuration data. Source: api/core/v1 ConfigMap. */
export interface ConfigMap extends ApiObject {
  readonly immutable?: boolean;
  readonly data?: Readonly<Record<string, string>>;
  /** Values in base64; its keys are never those of `data`. */
  readonly binaryData?: Readonly<Record<string, string>>;
}

export const configMaps: Resource = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  singular: "configmap",
  shortNames: ["cm"],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.core.v1.ConfigMap");
  },
  columns: [
    {
      name: "Data",
      type: "string",
      description: "How many keys the ConfigMap holds.",
      cell: (object) =>
        Object.keys(fieldsAt(object, "data")).length + Object.keys(fieldsAt(object, "binaryData")).length,
    },
    ageColumn,
  ],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validateConfigMap(object),
  validateUpdate: (next, stored) => validateImmutableData(next, stored, ["data", "binaryData"]),
};

function validateConfigMap(object: ApiObject): readonly FieldError[] {
  const data = fieldsAt(object, "data");
  const binaryData = fieldsAt(object, "binaryData");
  const twice = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  const size = bytesOf(data, "utf8") + bytesOf(binaryData, "base64");
  return [
    ...validateDataKeys("data", data),
    ...twice.map((key) => invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
    ...validateDataKeys("binaryData", binaryData),
    ...(size > maxDataBytes ? [tooLong("", maxDataBytes)] : []),
  ];
}

function bytesOf(values: Readonly<Record<string, unknown>>, encoding: "utf8" | "base64"): number {
  return Object.values(values).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value, encoding) : 0),
    0,
  );
}
