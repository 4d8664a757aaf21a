import { DecodeError, type DecodeErrorCode } from "./decode-error.ts";
import { isJsonArray, isJsonObject, jsonProblem, maxDepth, type JsonObject } from "./json-value.ts";
import {
  propertySchema,
  type ArraySchema,
  type BooleanSchema,
  type IntegerSchema,
  type MapSchema,
  type NumberSchema,
  type ObjectSchema,
  type Schema,
  type StringSchema,
} from "./schema.ts";
import {
  parseBase64,
  parseDurationText,
  parseMicroTime,
  parseQuantity,
  parseTime,
  type Parsed,
} from "./string-format.ts";
import { truncate } from "./truncate.ts";

/** An object of known fields and right types, and the paths of unknown fields, which are left out, at most 100. */
export interface Decoded {
  readonly object: JsonObject;
  readonly unknown: readonly string[];
}

/**
 * Reads a parsed JSON value as an object of `schema`, as Go's typed decoding does: fields that are null, undefined or unknown are left out,
 * nulls in lists and maps become the empty value of their type, times and durations take their canonical form. The result is a new object,
 * except for values without a schema, and never has a key `__proto__`. Enumerations and required fields are not checked.
 * @throws DecodeError
 */
export function decodeObject(schema: ObjectSchema, value: unknown): Decoded {
  const state: State = { root: schema, path: [], depth: 0, unknown: [] };
  if (!isJsonObject(value)) throw mismatch(state, schema, value);
  const object = decodeProperties(state, schema, value);
  return { object, unknown: state.unknown };
}

const maxUnknown = 100;

/** The position of the walk: `path` up to `depth` names the current value. */
interface State {
  readonly root: ObjectSchema;
  readonly path: (string | number)[];
  depth: number;
  readonly unknown: string[];
}

function decodeValue(state: State, schema: Schema, value: unknown): unknown {
  switch (schema.type) {
    case "integer":
      return decodeInteger(state, schema, value);
    case "object":
      if (isJsonObject(value)) return decodeProperties(state, schema, value);
      throw mismatch(state, schema, value);
    case "map":
      return decodeMap(state, schema, value);
    case "array":
      return decodeArray(state, schema, value);
    case "any":
      return decodeAny(state, value);
    default:
      return decodeScalar(state, schema, value);
  }
}

function decodeScalar(state: State, schema: StringSchema | NumberSchema | BooleanSchema, value: unknown): unknown {
  if (schema.type === "string" && schema.format !== undefined) return decodeFormat(state, schema, value);
  if (typeof value === schema.type && (typeof value !== "number" || Number.isFinite(value))) return value;
  throw mismatch(state, schema, value);
}

function decodeProperties(state: State, schema: ObjectSchema, value: JsonObject): JsonObject {
  const depth = enter(state);
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    state.path[depth] = key;
    if (key === "__proto__") throw forbiddenKey(state);
    const property = propertySchema(schema, key);
    const member = value[key];
    if (property === undefined) {
      if (state.unknown.length < maxUnknown) state.unknown.push(where(state));
    } else if (member !== null && member !== undefined) {
      result[key] = decodeValue(state, property, member);
    }
  }
  state.depth = depth;
  return result;
}

function decodeMap(state: State, schema: MapSchema, value: unknown): JsonObject {
  if (!isJsonObject(value)) throw mismatch(state, schema, value);
  const depth = enter(state);
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    state.path[depth] = key;
    if (key === "__proto__") throw forbiddenKey(state);
    const member = value[key];
    if (member === undefined) continue;
    result[key] = member === null ? emptyValue(schema.values) : decodeValue(state, schema.values, member);
  }
  state.depth = depth;
  return result;
}

function decodeArray(state: State, schema: ArraySchema, value: unknown): readonly unknown[] {
  if (!isJsonArray(value)) throw mismatch(state, schema, value);
  const depth = enter(state);
  const result: unknown[] = [];
  for (const [index, element] of value.entries()) {
    state.path[depth] = index;
    result.push(element === null ? emptyValue(schema.items) : decodeValue(state, schema.items, element));
  }
  state.depth = depth;
  return result;
}

function decodeAny(state: State, value: unknown): unknown {
  const problem = jsonProblem(value, maxDepth - state.depth);
  if (problem === undefined) return value;
  throw fault(state, problem.includes("__proto__") ? "forbiddenKey" : "tooDeep", `${named(state)}: ${problem}`);
}

function decodeInteger(state: State, schema: IntegerSchema, value: unknown): number {
  if (typeof value !== "number") throw mismatch(state, schema, value);
  // Beyond 2^53 a JavaScript number would be returned as another one, which Go clients might reject.
  const limit = schema.format === "int32" ? 2 ** 31 : 2 ** 53;
  if (Number.isInteger(value) && value < limit && value >= -limit) return value === 0 ? 0 : value;
  throw fault(state, "range", `json: cannot unmarshal number ${value} into ${target(state, schema)}`);
}

const formats: Readonly<Record<Exclude<StringSchema["format"], undefined>, (text: string) => Parsed>> = {
  byte: parseBase64,
  "date-time": parseTime,
  "micro-time": parseMicroTime,
  quantity: parseQuantity,
  duration: parseDurationText,
  "int-or-string": (text) => ({ value: text }),
};

function decodeFormat(state: State, schema: StringSchema, value: unknown): unknown {
  const format = schema.format ?? "int-or-string";
  if (typeof value === "number" && format === "int-or-string") {
    return decodeInteger(state, { type: "integer", format: "int32" }, value);
  }
  const text = typeof value === "number" && format === "quantity" ? String(value) : value;
  if (typeof text !== "string") throw mismatch(state, schema, value);
  const parsed = formats[format](text);
  if ("value" in parsed) return parsed.value;
  throw fault(state, "format", `${named(state)}: ${parsed.problem}`);
}

/** The zero value that Go decodes a null to where a value is required. */
function emptyValue(schema: Schema): unknown {
  const { type } = schema;
  if (type === "string") return schema.format === "quantity" ? "0" : schema.format === "int-or-string" ? 0 : "";
  if (type === "integer" || type === "number") return 0;
  if (type === "boolean") return false;
  if (type === "array") return [];
  return type === "any" ? null : {};
}

/** Goes one level down and returns the level to restore. */
function enter(state: State): number {
  const { depth } = state;
  if (depth >= maxDepth) throw fault(state, "tooDeep", "JSON nested too deeply");
  state.depth = depth + 1;
  return depth;
}

function where(state: State): string {
  let text = "";
  for (let level = 0; level < state.depth; level += 1) {
    const step = state.path[level] ?? "";
    if (typeof step === "number") text += `[${step}]`;
    else text += text === "" ? step : `.${step}`;
  }
  return truncate(text, 1024);
}

function fault(state: State, code: DecodeErrorCode, message: string): DecodeError {
  return new DecodeError(code, where(state), message);
}

function forbiddenKey(state: State): DecodeError {
  return fault(state, "forbiddenKey", `${named(state)}: the key "__proto__" is not allowed`);
}

function mismatch(state: State, schema: Schema, value: unknown): DecodeError {
  return fault(state, "type", `json: cannot unmarshal ${jsonType(value)} into ${target(state, schema)}`);
}

function target(state: State, schema: Schema): string {
  if (state.depth === 0) return `Go value of type ${goType(schema)}`;
  return `Go struct field ${named(state)} of type ${goType(schema)}`;
}

/** `Pod.spec.nodeName`, or the path alone where the schema has no name. */
function named(state: State): string {
  const kind = state.root.name?.split(".").at(-1);
  return kind === undefined ? where(state) : `${kind}.${where(state)}`;
}

function jsonType(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (isJsonArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

const goFormats: Readonly<Record<Exclude<StringSchema["format"], undefined>, string>> = {
  byte: "[]uint8",
  "date-time": "v1.Time",
  "micro-time": "v1.MicroTime",
  quantity: "resource.Quantity",
  "int-or-string": "intstr.IntOrString",
  duration: "v1.Duration",
};

function goType(schema: Schema): string {
  switch (schema.type) {
    case "string":
      return schema.format === undefined ? "string" : goFormats[schema.format];
    case "integer":
      return schema.format;
    case "array":
      return `[]${goType(schema.items)}`;
    case "map":
      return `map[string]${goType(schema.values)}`;
    case "object":
      return schema.name?.split(".").slice(-2).join(".") ?? "struct";
    default:
      return goTypes[schema.type];
  }
}

const goTypes = { number: "float64", boolean: "bool", any: "interface {}" };
