import { isJsonObject, ownValue, type JsonObject } from "../json-value.ts";
import type { Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import type { ObjectSchema } from "../schema.ts";
import { appliedProblem } from "./check-applied.ts";
import { compareObjects } from "./compare.ts";
import { difference, noFields, type FieldSet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";

/** The annotation in which kubectl stores the configuration of a client-side apply. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The only manager whose annotation is read and updated. Source: apimachinery managedfields lastAppliedManager. */
export const kubectlManager = "kubectl";

/** The maximum total size of an object's annotations, in bytes. Source: apimachinery api/validation TotalAnnotationSizeLimitB. */
const maxAnnotations = 256 * 1024;

/** The fields of a client-side apply of kubectl that have not changed since: the applier may take them over without force. */
export function* fieldsLastApplied(schema: ObjectSchema, live: JsonObject): Steps<FieldSet> {
  const text = annotationsOf(live)[lastAppliedAnnotation];
  const last = typeof text === "string" && text !== "" ? parsed(text) : undefined;
  if (last === undefined || last["apiVersion"] !== live["apiVersion"]) return noFields;
  if ((yield* appliedProblem(schema, last)) !== undefined) return noFields;
  const pace: Pace = { places: 0 };
  const { removed, modified, added } = yield* compareObjects(schema, { before: last, after: live }, pace);
  let left = yield* fieldsOf(schema, last, pace);
  for (const gone of [removed, modified, added]) left = yield* difference(left, gone, pace);
  return left;
}

/** The object with the annotation set to the applied configuration, where it has that annotation; without it where it would be too large. */
export function withLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const before = annotations[lastAppliedAnnotation];
  const metadata = object["metadata"];
  if (typeof before !== "string" || before === "" || !isJsonObject(metadata)) return object;
  const { [lastAppliedAnnotation]: _before, ...others } = annotations;
  const updated: JsonObject = { ...others, [lastAppliedAnnotation]: lastAppliedText(config) };
  const size = Object.entries(updated).reduce((sum, [key, value]) => sum + key.length + String(value).length, 0);
  return { ...object, metadata: { ...metadata, annotations: size > maxAnnotations ? others : updated } };
}

/** As Go writes a map: keys in order, a line break at the end. */
function lastAppliedText(config: JsonObject): string {
  const metadata = config["metadata"];
  const { [lastAppliedAnnotation]: own, ...annotations } = annotationsOf(config);
  const bare =
    own !== undefined && isJsonObject(metadata) ? { ...config, metadata: { ...metadata, annotations } } : config;
  return `${JSON.stringify(bare, (_key, value: unknown) => (isJsonObject(value) ? inOrder(value) : value))}\n`;
}

function inOrder(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = ownValue(object, "metadata");
  const annotations = isJsonObject(metadata) ? ownValue(metadata, "annotations") : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
