import { DecodeError } from "../../apimachinery/decode-error.ts";
import { decodeObject } from "../../apimachinery/decode.ts";
import { invalid, required, type FieldError } from "../../apimachinery/field-error.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { stringAt, valueAt } from "../json-fields.ts";
import { validateObjectMeta, dns1035LabelProblems } from "../object-validation.ts";
import { publishedMeta } from "../schemas/published.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/**
 * What is wrong with apiVersion, kind and metadata of the embedded resources in a value.
 * Source: apiextensions-apiserver pkg/apiserver/schema/objectmeta.
 */
export function* embeddedErrors(schema: StructuralSchema, value: unknown, path: string): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  yield* collect(schema, value, { path, errors, pace: { places: 0 } });
  return errors;
}

const maximumErrors = 100;
/** What the metadata of an embedded resource costs to check, next to looking at a place. */
const placesOfResource = 16;

interface Walk {
  readonly path: string;
  readonly errors: FieldError[];
  readonly pace: Pace;
}

function* collect(schema: StructuralSchema, value: unknown, walk: Walk): Steps<void> {
  if (!schema.holdsEmbedded || walk.errors.length >= maximumErrors) return;
  if (endsStep(walk.pace, schema.embeddedResource ? placesOfResource : 1)) yield;
  const { path, errors } = walk;
  if (isJsonArray(value) && schema.items !== undefined) {
    for (const [index, element] of value.entries()) {
      if (errors.length >= maximumErrors) return;
      yield* collect(schema.items, element, { ...walk, path: `${path}[${index}]` });
    }
  } else if (isJsonObject(value)) {
    if (schema.embeddedResource) errors.push(...resourceErrors(value, path));
    for (const key of Object.keys(value)) {
      const property = schema.properties.get(key);
      if (property !== undefined) yield* collect(property, value[key], { ...walk, path: child(path, key) });
      else if (typeof schema.additionalProperties === "object") {
        yield* collect(schema.additionalProperties, value[key], { ...walk, path: `${path}[${key}]` });
      }
    }
  }
}

function resourceErrors(value: JsonObject, path: string): readonly FieldError[] {
  return [
    ...nameErrors(value, { path, field: "apiVersion", check: apiVersionProblems }),
    ...nameErrors(value, { path, field: "kind", check: kindProblems }),
    ...metadataErrors(value, path),
  ];
}

function nameErrors(
  value: JsonObject,
  rule: { readonly path: string; readonly field: string; readonly check: (text: string) => readonly string[] },
): readonly FieldError[] {
  const at = child(rule.path, rule.field);
  const text = valueAt(value, rule.field);
  if (text === undefined) return [required(at)];
  if (typeof text !== "string") return [invalid(at, text, "must be a string")];
  if (text === "") return [invalid(at, text, "must not be empty")];
  return rule.check(text).map((problem) => invalid(at, text, problem));
}

function apiVersionProblems(text: string): readonly string[] {
  return text.split("/").length > 2 ? [`unexpected GroupVersion string: ${text}`] : [];
}

function kindProblems(text: string): readonly string[] {
  const problems = dns1035LabelProblems(text.toLowerCase());
  return problems.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${problems.join(",")}`];
}

function metadataErrors(value: JsonObject, path: string): readonly FieldError[] {
  const metadata = valueAt(value, "metadata");
  if (metadata === undefined) return [];
  try {
    const decoded = decodeObject(publishedMeta("ObjectMeta"), metadata).object;
    // A name is not required here, and what is empty would be taken for missing.
    const named = stringAt(decoded, "name") === "" ? { ...decoded, name: "unnamed" } : decoded;
    const object: ApiObject = { apiVersion: "embedded.invalid/v1", kind: "Embedded", metadata: named };
    const scope = stringAt(decoded, "namespace") === "" ? "Cluster" : "Namespaced";
    return validateObjectMeta(object, { group: "embedded.invalid", names: "path", scope }, { isCreate: true }).map(
      (error) => ({ ...error, path: child(path, error.path) }),
    );
  } catch (error) {
    if (error instanceof DecodeError) return [invalid(child(path, "metadata"), metadata, error.message)];
    throw error;
  }
}

function child(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}
