import { isUtf8 } from "node:buffer";
import { decodeObject } from "../core/decode.ts";
import { DecodeError } from "../core/decode-error.ts";
import { invalid, invalidObject } from "../core/field-error.ts";
import { findDuplicateFields, nestsDeeper } from "../core/json-duplicates.ts";
import { isJsonObject, maximumDepth, type JsonObject } from "../core/json-value.ts";
import { apiVersionOf, type ApiObject } from "../core/object.ts";
import type { ObjectSchema } from "../core/schema.ts";
import { StatusError, badRequest } from "../core/status.ts";
import { ProtobufError } from "../resources/protobuf-error.ts";
import { decodeProtobuf } from "../resources/protobuf.ts";
import type { Resource } from "../resources/resource.ts";
import { maxBodyBytes } from "./body.ts";
import type { FieldValidation } from "./query-options.ts";

/** A body before it is checked against a schema. */
export interface RawBody {
  readonly bytes: Buffer;
  readonly contentType: string | undefined;
}

const jsonTypes = "application/json";
const yamlTypes = "application/yaml";
const protobufType = "application/vnd.kubernetes.protobuf";
const accepted = [jsonTypes, yamlTypes, protobufType];

/** What stands in a body: plain values, typed already where it was protobuf. */
export interface ParsedBody {
  readonly value: JsonObject;
  readonly typed: boolean;
  /** Paths of fields that occur twice. */
  readonly duplicates: readonly string[];
}

/** The media type without its parameters, in lower case. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Parses a body by its Content-Type. @throws StatusError UnsupportedMediaType, BadRequest. */
export async function parseBody(
  raw: RawBody,
  schemaOf: (apiVersion: string, kind: string) => ObjectSchema | undefined,
): Promise<ParsedBody> {
  const type = mediaType(raw.contentType);
  switch (type) {
    case "":
    case jsonTypes:
      return parseJson(textOf(raw.bytes));
    case yamlTypes:
    case "application/x-yaml":
    case "text/yaml":
      return parseYaml(textOf(raw.bytes));
    case protobufType:
      return parseProtobuf(raw.bytes, schemaOf);
    default:
      throw new StatusError(
        "UnsupportedMediaType",
        `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
      );
  }
}

/** @throws StatusError UnsupportedMediaType for a body in protobuf, which not every kind has. */
export function refuseProtobuf(contentType: string | undefined): void {
  if (mediaType(contentType) !== protobufType) return;
  const types = accepted.filter((type) => type !== protobufType).join(", ");
  const message = `the body of the request was in an unknown format - accepted media types include: ${types}`;
  throw new StatusError("UnsupportedMediaType", message);
}

/** A body as text: what is no UTF-8 is refused, since replacing it would store something else than was sent. @throws StatusError BadRequest. */
export function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badRequest("the body is not valid UTF-8");
  return bytes.toString();
}

/** Any JSON, nested at most as deep as objects may be. @throws SyntaxError. */
export function jsonOf(text: string): unknown {
  // Asked before parsing, which would spend a hundred times the memory of the text on brackets.
  if (nestsDeeper(text, maximumDepth)) throw new SyntaxError("JSON nested too deeply");
  return JSON.parse(text);
}

/** JSON text as an object. @throws StatusError BadRequest. */
export function parseJson(text: string): ParsedBody {
  let value: unknown;
  try {
    value = jsonOf(text);
  } catch (error) {
    throw badRequest(
      `couldn't get version/kind; json parse error: ${error instanceof SyntaxError ? shortened(error.message) : "unreadable"}`,
    );
  }
  if (!isJsonObject(value))
    throw badRequest("couldn't get version/kind; json parse error: the body is not a JSON object");
  return { value, typed: false, duplicates: findDuplicateFields(text) };
}

async function parseYaml(text: string): Promise<ParsedBody> {
  const { loadYaml, YamlError } = await import("../formats/bounded-yaml.ts");
  try {
    const value = loadYaml(text, { maximumCharacters: maxBodyBytes, numbers: "number" });
    if (isJsonObject(value)) return { value, typed: false, duplicates: [] };
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw badRequest(`error converting YAML to JSON: ${error.message}`);
  }
  throw badRequest("error converting YAML to JSON: the body is not one YAML mapping");
}

function parseProtobuf(
  bytes: Buffer,
  schemaOf: (apiVersion: string, kind: string) => ObjectSchema | undefined,
): ParsedBody {
  try {
    return { value: decodeProtobuf(bytes, schemaOf).object, typed: true, duplicates: [] };
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    throw badRequest(`the body is not a protobuf object of this kind: ${error.message}`);
  }
}

/** What decoding needs to know besides the body. */
export interface DecodeOptions {
  readonly resource: Resource;
  readonly fieldValidation: FieldValidation;
  readonly warn: (text: string) => void;
}

/**
 * The object of a create or update: of the expected kind, with known fields of the right types.
 * @throws StatusError BadRequest for another kind or type, and for unknown or duplicate fields under Strict.
 */
export function objectOfBody(parsed: ParsedBody, options: DecodeOptions): ApiObject {
  const { resource, fieldValidation, warn } = options;
  if (resource.custom !== undefined) checkNamed(parsed.value, resource);
  checkType(parsed.value, resource);
  const { object, unknown } = decodedBody(parsed.value, resource);
  const complaints = [
    ...unknown.map((path) => `unknown field "${path}"`),
    ...parsed.duplicates.map((path) => `duplicate field "${path}"`),
  ];
  if (complaints.length > 0 && fieldValidation === "Strict") {
    throw badRequest(
      `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: strict decoding error: ${complaints.join(", ")}`,
    );
  }
  if (fieldValidation === "Warn") complaints.forEach(warn);
  return object;
}

/** What is custom says of itself what it is. @throws StatusError BadRequest, Invalid */
function checkNamed(value: JsonObject, resource: Resource): void {
  if (typeText(value, "kind") === "") {
    const text = shortened(JSON.stringify(value));
    throw badRequest(
      `the object provided is unrecognized (must be of type ${resource.kind}): Object 'Kind' is missing in '${text}'`,
    );
  }
  const kind = typeText(value, "kind");
  if (kind !== resource.kind && typeText(value, "apiVersion") === apiVersionOf(resource.group, resource.version)) {
    const { name } = isJsonObject(value["metadata"]) ? value["metadata"] : {};
    const error = invalid("kind", kind, `must be ${resource.kind}`);
    throw invalidObject({ group: resource.group, kind }, typeof name === "string" ? shortened(name) : "", [error]);
  }
  if (typeText(value, "apiVersion") !== "") return;
  const expected = apiVersionOf(resource.group, resource.version);
  throw badRequest(`the API version in the data () does not match the expected API version (${expected})`);
}

function decodedBody(value: JsonObject, resource: Resource): ReturnType<typeof decodeTyped> {
  try {
    return decodeTyped(value, resource);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw badRequest(
      `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${error.message}`,
    );
  }
}

/** Decodes a value along the schema of a resource; its apiVersion and kind become the resource's. @throws DecodeError. */
export function decodeTyped(
  value: JsonObject,
  resource: Resource,
): { readonly object: ApiObject; readonly unknown: readonly string[] } {
  const { apiVersion: _version, kind: _kind, ...fields } = value;
  const { object, unknown } = resource.custom?.decode(fields) ?? decodeObject(resource.schema, fields);
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  return {
    object: { kind: resource.kind, apiVersion: apiVersionOf(resource.group, resource.version), ...object, metadata },
    unknown,
  };
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
    throw badRequest(
      `${kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: the object provided is unrecognized (must be of type ${resource.kind})`,
    );
  }
}

/** The apiVersion or kind of a body, shortened for messages; empty where there is none. @throws StatusError BadRequest where it is no text. */
export function typeText(value: JsonObject, field: "apiVersion" | "kind"): string {
  const text = value[field] ?? "";
  if (typeof text === "string") return shortened(text);
  const found = Array.isArray(text) ? "array" : typeof text;
  throw badRequest(
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${found} into Go struct field .${field} of type string`,
  );
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
