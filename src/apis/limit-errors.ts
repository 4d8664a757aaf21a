import { invalid, notSupported, tooLong, tooMany, type FieldError } from "../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../apimachinery/json-value.ts";
import {
  type ArraySchema,
  type IntegerSchema,
  type Schema,
  type StringSchema,
  type ObjectSchema,
} from "../apimachinery/schema.ts";
import { collectErrors } from "./field-rules.ts";

/**
 * Violations of the limits of a schema, in Kubernetes' wording for a custom kind; types were checked before. `path` is
 * that of the value, empty for a whole object. Source: kube-openapi validate.
 */
export function limitErrors(schema: Schema, value: unknown, path = ""): readonly FieldError[] {
  switch (schema.type) {
    case "integer":
      return typeof value === "number" ? numberErrors(schema, value, path) : [];
    case "string":
      return typeof value === "string" ? textErrors(schema, value, path) : [];
    case "array":
      return isJsonArray(value) ? listErrors(schema, value, path) : [];
    case "object":
      return isJsonObject(value) ? memberErrors(schema, value, path) : [];
    default:
      return [];
  }
}

function memberErrors({ properties }: ObjectSchema, value: JsonObject, path: string): readonly FieldError[] {
  return Object.entries(properties).flatMap(([key, field]) =>
    limitErrors(field.schema, ownValue(value, key), path === "" ? key : `${path}.${key}`),
  );
}

function numberErrors({ minimum, maximum }: IntegerSchema, value: number, path: string): readonly FieldError[] {
  if (minimum !== undefined && value < minimum) {
    return [invalid(path, value, `${path} in body should be greater than or equal to ${minimum}`)];
  }
  if (maximum === undefined || value <= maximum) return [];
  return [invalid(path, value, `${path} in body should be less than or equal to ${maximum}`)];
}

function textErrors({ enum: values, maxLength }: StringSchema, value: string, path: string): readonly FieldError[] {
  if (values !== undefined && !values.includes(value)) return [notSupported(path, value, values)];
  const isLong = maxLength !== undefined && value.length > maxLength && Array.from(value).length > maxLength;
  return isLong ? [tooLong(path, maxLength)] : [];
}

function listErrors({ items, maxItems }: ArraySchema, list: readonly unknown[], path: string): readonly FieldError[] {
  // The items of a list that is too long are skipped: that is the purpose of the limit.
  if (maxItems !== undefined && list.length > maxItems) return [tooMany(path, list.length, maxItems)];
  return collectErrors(list, (item, index) => limitErrors(items, item, `${path}[${index}]`));
}
