import { isUtf8 } from "node:buffer";
import { DecodeError } from "../../apimachinery/decode-error.ts";
import { invalid, invalidObject } from "../../apimachinery/field-error.ts";
import { jsonFault } from "../../apimachinery/json-fault.ts";
import { jsonExcess } from "../../apimachinery/json-scan.ts";
import { isJsonObject, maxDepth, type JsonObject } from "../../apimachinery/json-value.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { StatusError, badRequest } from "../../apimachinery/status.ts";
import { YamlError } from "../../serializer/yaml/yaml-error.ts";
import type { YamlWork } from "../../serializer/yaml/yaml-thread.ts";
import { ProtobufError } from "../../serializer/protobuf/protobuf-error.ts";
import { decodeProtobuf } from "../../serializer/protobuf/protobuf.ts";
import { decodeTyped, type DecodedObject } from "../../registry/decode.ts";
import type { Turn } from "../../registry/turns.ts";
import type { Resource } from "../../apis/resource.ts";
import { maxBodyBytes, tooManyValues } from "./body.ts";
import type { FieldValidation } from "../query-options.ts";
import {
  faultsOfJson,
  faultsOfYaml,
  noDuplicates,
  type StrictFaults,
  handledAs,
  notRegistered,
  unconvertible,
  type Refuse,
} from "./undecodable.ts";
import { parseYamlBody } from "../yaml.ts";
import { truncate } from "../../apimachinery/truncate.ts";

/** A body before it is checked against a schema. */
export interface RawBody {
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
  /** JSON values that it may contain. */
  readonly maxValues: number;
  /** Waits between the parts of a large body; undefined for a small one. */
  readonly turn?: Turn | undefined;
  /** Reads YAML. */
  readonly yaml: YamlWork;
}

const jsonType = "application/json";
const yamlType = "application/yaml";
const protobufType = "application/vnd.kubernetes.protobuf";
const accepted = [jsonType, yamlType, protobufType] as const;
/** The longest text of a body that a message repeats, in characters. */
const maxShownCharacters = 200;

/** A parsed body: plain values, typed already where it was protobuf. */
export interface ParsedBody {
  readonly value: JsonObject;
  readonly typed: boolean;
  /** What Strict refuses, and Warn warns of. */
  readonly faults: StrictFaults;
}

/** The media type without its parameters, in lower case. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Parses a body by its Content-Type; null is an empty object. @throws StatusError UnsupportedMediaType, RequestEntityTooLarge, or what `refuse` returns for a body that cannot be read. */
export async function parseBody(
  raw: RawBody,
  schemaOf: (apiVersion: string, kind: string) => ObjectSchema | undefined,
  refuse: Refuse = badRequest,
): Promise<ParsedBody> {
  const type = mediaType(raw.contentType);
  switch (type) {
    case "":
    case jsonType:
      return parseJson(raw, refuse);
    case yamlType:
    case "application/x-yaml":
    case "text/yaml":
      return parseYaml(raw, refuse);
    case protobufType:
      return parseProtobuf(raw, schemaOf, refuse);
    default:
      throw unknownFormat(accepted);
  }
}

/** @throws StatusError UnsupportedMediaType for a body in protobuf, which not every kind has. */
export function refuseProtobuf(contentType: string | undefined): void {
  if (mediaType(contentType) === protobufType) throw unknownFormat([jsonType, yamlType]);
}

/** The 415 for a body of another media type than these. */
export function unknownFormat(types: readonly string[]): StatusError {
  const message = `the body of the request was in an unknown format - accepted media types include: ${types.join(", ")}`;
  return new StatusError("UnsupportedMediaType", message);
}

/** A body as text; invalid UTF-8 is refused, since replacing it would store something else than was sent. @throws StatusError BadRequest. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badRequest("the body is not valid UTF-8");
  return bytes.toString();
}

/** Any JSON, nested at most as deep as objects may be. @throws SyntaxError in the words of Go; StatusError RequestEntityTooLarge. */
export function jsonOf(text: string, maxValues: number): unknown {
  const excess = jsonExcess(text, { maxDepth, maxValues });
  if (excess === "depth") throw new SyntaxError("JSON nested too deeply");
  if (excess === "values") throw tooManyValues(maxValues);
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError(jsonFault(text) ?? "unexpected end of JSON input");
  }
}

async function parseJson({ bytes, maxValues, turn }: RawBody, refuse: Refuse): Promise<ParsedBody> {
  const text = textOf(bytes);
  if (turn !== undefined) await turn();
  const value = objectIn(() => jsonOf(text, maxValues), refuse);
  if (turn !== undefined) await turn();
  return { value, typed: false, faults: faultsOfJson(text) };
}

/** The Go type into which Kubernetes reads a body before it knows its kind. */
const typeOfKind = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

function objectIn(read: () => unknown, refuse: Refuse): JsonObject {
  let value: unknown;
  try {
    value = read();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw refuse(`couldn't get version/kind; json parse error: ${error.message}`);
  }
  if (value === null) return {};
  if (isJsonObject(value)) return value;
  const why = `json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${typeOfKind}`;
  throw refuse(`couldn't get version/kind; json parse error: ${why}`);
}

/** The type of a JSON value as Go names it. */
export function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}

async function parseYaml({ bytes, yaml, maxValues }: RawBody, refuse: Refuse): Promise<ParsedBody> {
  try {
    const { value, duplicates } = await parseYamlBody(yaml, textOf(bytes), { maxValues });
    return { value: objectIn(() => value, refuse), typed: false, faults: faultsOfYaml(duplicates) };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw refuse(`error converting YAML to JSON: ${error.message}`);
  }
}

function parseProtobuf(
  { bytes, maxValues }: RawBody,
  schemaOf: (apiVersion: string, kind: string) => ObjectSchema | undefined,
  refuse: Refuse,
): ParsedBody {
  try {
    const limits = { maxBytes: maxBodyBytes, maxValues };
    return { value: decodeProtobuf(bytes, schemaOf, limits).object, typed: true, faults: noDuplicates };
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    if (error.code === "too-large") throw tooManyValues(maxValues);
    throw refuse(error.code === "malformed" ? "unexpected EOF" : error.message);
  }
}

/** What decoding needs to know besides the body. */
export interface DecodeOptions {
  readonly resource: Resource;
  readonly fieldValidation: FieldValidation;
  readonly warn: (text: string) => void;
  /** Creates the error for a body whose kind cannot be read. */
  readonly refuse: Refuse;
  /** All known kinds. */
  readonly kinds: () => readonly Resource[];
}

/**
 * The object of a create or update: of the expected kind, with known fields of the right types.
 * @throws StatusError BadRequest for another kind or type, and for unknown or duplicate fields under Strict.
 */
export function objectOfBody(parsed: ParsedBody, options: DecodeOptions): ApiObject {
  const { resource, fieldValidation, warn } = options;
  if (resource.custom === undefined) checkKind(parsed.value, options);
  else checkNamed(parsed.value, options);
  const { object, unknown } = decodedBody(parsed.value, resource);
  if (fieldValidation === "Warn") parsed.faults.warnings(unknown).forEach(warn);
  const errors = fieldValidation === "Strict" ? parsed.faults.errors(unknown) : [];
  if (errors.length > 0) {
    throw badRequest(
      `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: strict decoding error: ${errors.join(", ")}`,
    );
  }
  return object;
}

/** A custom object names its kind and version itself. @throws StatusError BadRequest, Invalid */
function checkNamed(value: JsonObject, { resource, refuse }: DecodeOptions): void {
  const kind = typeText(value, "kind", refuse);
  const apiVersion = versionText(value, refuse);
  if (kind === "") {
    const text = truncate(JSON.stringify(value), maxShownCharacters);
    throw refuse(`Object 'Kind' is missing in '${text}'`);
  }
  const expected = apiVersionOf(resource.group, resource.version);
  if (kind !== resource.kind && apiVersion === expected) {
    const { name } = isJsonObject(value["metadata"]) ? value["metadata"] : {};
    const error = invalid("kind", kind, `must be ${resource.kind}`);
    throw invalidObject(
      { group: resource.group, kind },
      typeof name === "string" ? truncate(name, maxShownCharacters) : "",
      [error],
    );
  }
  checkType(value, resource);
  if (apiVersion !== "") return;
  throw badRequest(`the API version in the data () does not match the expected API version (${expected})`);
}

/** A built-in object without a kind has that of the path. @throws StatusError BadRequest for any other kind or version. */
function checkKind(value: JsonObject, { resource, refuse, kinds }: DecodeOptions): void {
  const expected = apiVersionOf(resource.group, resource.version);
  const kind = typeText(value, "kind", refuse) || resource.kind;
  const apiVersion = versionText(value, refuse) || expected;
  if (kind === resource.kind && apiVersion === expected) return;
  const other = kinds().find(
    (one) => one.custom === undefined && one.kind === kind && apiVersionOf(one.group, one.version) === apiVersion,
  );
  if (other === undefined || isDefinition(resource) !== isDefinition(other)) {
    throw handledAs({ kind, apiVersion }, resource, notRegistered(kind, apiVersion));
  }
  decodedBody(value, resource, other);
  throw handledAs({ kind, apiVersion }, resource, unconvertible(other, resource));
}

/** Definitions are served apart from all other kinds in Kubernetes. */
function isDefinition({ group }: Resource): boolean {
  return group === "apiextensions.k8s.io";
}

function versionText(value: JsonObject, refuse: Refuse): string {
  const text = typeText(value, "apiVersion", refuse);
  if (text.split("/").length > 2) throw refuse(`unexpected GroupVersion string: ${text}`);
  return text;
}

/** The value as `as`, the kind that it names, which may differ from the expected one. */
function decodedBody(value: JsonObject, resource: Resource, as: Resource = resource): DecodedObject {
  try {
    return decodeTyped(value, as);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw handledAs({ kind: as.kind, apiVersion: apiVersionOf(as.group, as.version) }, resource, error.message);
  }
}

/** A body without apiVersion and kind means the kind of its path. @throws StatusError BadRequest for any other. */
export function checkType(value: JsonObject, resource: Resource): void {
  const expected = apiVersionOf(resource.group, resource.version);
  const apiVersion = typeText(value, "apiVersion");
  if (apiVersion !== "" && apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  const kind = typeText(value, "kind");
  if (kind !== "" && kind !== resource.kind) {
    throw handledAs({ kind, apiVersion: expected }, resource, notRegistered(kind, expected));
  }
}

/** The apiVersion or kind of a body, shortened for messages; empty where there is none. @throws StatusError by `refuse` where it is no text. */
export function typeText(value: JsonObject, field: "apiVersion" | "kind", refuse: Refuse = badRequest): string {
  const text = value[field] ?? "";
  if (typeof text === "string") return truncate(text, maxShownCharacters);
  const why = `json: cannot unmarshal ${jsonTypeOf(text)} into Go struct field .${field} of type string`;
  throw refuse(`couldn't get version/kind; json parse error: ${why}`);
}
