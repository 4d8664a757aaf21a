import { createHash } from "node:crypto";

import { isJsonArray, isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { openApiSchemas, patchReference, reference, type Json } from "../../apis/openapi-schemas.ts";
import type { Resource } from "../../apis/resource.ts";
import { grouped, groupVersionKey, inDocumentOrder, operationsOf, patchTypes, type Operation } from "./operations.ts";

/** One OpenAPI document, ready to be sent. */
export interface OpenApiDocument {
  /** UTF-8 JSON. */
  readonly bytes: Uint8Array;
  /** SHA-512 of the bytes in upper-case hex; changes exactly when they do. Serves as `?hash=` and, quoted, as ETag. */
  readonly hash: string;
}

/** What `/openapi/v3` and the paths below it serve. */
export interface OpenApiV3 {
  readonly index: OpenApiDocument;
  /** By group version without a leading slash, e.g. `apis/coordination.k8s.io/v1`. */
  readonly documents: ReadonlyMap<string, OpenApiDocument>;
}

/** The server's part of a document. */
export interface OpenApiInfo {
  readonly title: string;
  /** e.g. `v1.36.0`. */
  readonly version: string;
}

/** The document of a group version: a cached one of the same members, or a new one. */
export type KeepDocument = (
  key: string,
  members: readonly Resource[],
  make: () => Steps<OpenApiDocument>,
) => Steps<OpenApiDocument>;

/**
 * The OpenAPI version 3 index and one document for each group version of `resources`: what kubectl needs to validate on the
 * server, to explain kinds and to compute a strategic merge; in steps. Equal resources give equal bytes.
 * @see KEP-2896
 */
export function* openApiV3(
  resources: readonly Resource[],
  info: OpenApiInfo,
  keep: KeepDocument = (_key, _members, make) => make(),
): Steps<OpenApiV3> {
  const documents = new Map<string, OpenApiDocument>();
  for (const [key, members] of grouped(inDocumentOrder(resources), groupVersionKey)) {
    yield;
    documents.set(key, yield* keep(key, members, () => groupDocument(members, info)));
  }
  const paths = Object.fromEntries(
    [...documents].map(([key, { hash }]) => [key, { serverRelativeURL: `/openapi/v3/${key}?hash=${hash}` }]),
  );
  return { index: yield* openApiDocument({ paths }), documents };
}

function* groupDocument(resources: readonly Resource[], info: OpenApiInfo): Steps<OpenApiDocument> {
  const paths = grouped(resources.flatMap(operationsOf), ({ path }) => path);
  return yield* openApiDocument({
    openapi: "3.0.0",
    info,
    paths: Object.fromEntries([...paths].map(([path, operations]) => [path, pathJson(path, operations, "v3")])),
    components: { schemas: yield* openApiSchemas(resources, "v3") },
  });
}

/** The Swagger 2.0 document of all resources as JSON, in steps. Equal resources give equal bytes. */
export function* openApiV2(resources: readonly Resource[], info: OpenApiInfo): Steps<OpenApiDocument> {
  return yield* openApiDocument(yield* swagger(resources, info));
}

/** The same as a value, in the form that `gnosticDocument` encodes. */
export function* swagger(resources: readonly Resource[], info: OpenApiInfo): Steps<Json> {
  const sorted = inDocumentOrder(resources);
  const operations: Operation[] = [];
  const pace: Pace = { places: 0 };
  for (const resource of sorted) {
    if (endsStep(pace, placesOfOperations)) yield;
    operations.push(...operationsOf(resource));
  }
  yield;
  const paths: [string, Json][] = [];
  for (const [path, members] of grouped(operations, (operation) => operation.path)) {
    if (endsStep(pace, placesOfOperations)) yield;
    paths.push([path, pathJson(path, members, "v2")]);
  }
  return {
    swagger: "2.0",
    info,
    paths: Object.fromEntries(paths),
    definitions: yield* openApiSchemas(sorted, "v2"),
  };
}

/** The size of a resource's operations, and of those of one path, relative to a node of a schema. */
const placesOfOperations = 32;

type Version = "v2" | "v3";

function pathJson(path: string, operations: readonly Operation[], version: Version): Json {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, operationJson(operation, version)])),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: "path",
        required: true,
        ...typeJson("string", version),
      })),
      ...(version === "v2" ? [] : [queryJson(pretty, version)]),
    ],
  };
}

const pretty = { name: "pretty", type: "string", description: "If true, the reply is indented." } as const;

function operationJson(operation: Operation, version: Version): Json {
  const { group, version: apiVersion, kind } = operation.resource;
  const schema = reference(operation.reply, version);
  const answer = version === "v2" ? { schema } : { content: { "application/json": { schema } } };
  return {
    description: `${operation.action} ${kind}`,
    operationId: operation.id,
    ...(version === "v2" ? requestV2(operation) : requestV3(operation)),
    responses: {
      ...Object.fromEntries(
        operation.codes.map((code) => [code, { description: version === "v2" ? "OK" : codeWords[code], ...answer }]),
      ),
      "401": { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": { group, kind, version: apiVersion },
  };
}

const codeWords: Readonly<Record<number, string>> = { 200: "OK", 201: "Created", 202: "Accepted" };

function requestV2({ resource, method, body, query }: Operation): Json {
  const required = method === "delete" ? {} : { required: true };
  const schema = body === undefined || body === "patch" ? patchReference("v2") : reference(body, "v2");
  return {
    consumes: body === "patch" ? patchTypes(resource) : ["*/*"],
    produces: ["application/json", "application/yaml"],
    parameters: [
      ...(body === undefined ? [] : [{ name: "body", in: "body", ...required, schema }]),
      ...query.map((parameter) => queryJson(parameter, "v2")),
    ],
  };
}

function requestV3({ resource, method, body, query }: Operation): Json {
  const parameters = query.map((parameter) => queryJson(parameter, "v3"));
  if (body === undefined) return { parameters };
  const content =
    body === "patch"
      ? Object.fromEntries(patchTypes(resource).map((type) => [type, { schema: patchReference("v3") }]))
      : { "application/json": { schema: reference(body, "v3") } };
  return { parameters, requestBody: { content, ...(method === "delete" ? {} : { required: true }) } };
}

function queryJson({ name, type, description }: Operation["query"][number], version: Version): Json {
  return { name, in: "query", description, ...typeJson(type, version) };
}

function typeJson(type: string, version: Version): Json {
  const schema = { type, uniqueItems: true };
  return version === "v2" ? schema : { schema };
}

/** Bytes and hash of a JSON value. */
function* openApiDocument(value: Json): Steps<OpenApiDocument> {
  const bytes = yield* jsonBytes(value);
  yield;
  return { bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}

/** The bytes of `JSON.stringify` for plain JSON values, in steps; fields that are undefined are left out. */
export function* jsonBytes(value: unknown): Steps<Buffer> {
  const output: Output = { chunks: [], text: "", pace: { places: 0 } };
  yield* write(output, value);
  yield;
  return Buffer.concat([...output.chunks, Buffer.from(output.text)]);
}

interface Output {
  readonly chunks: Buffer[];
  /** What follows the chunks. */
  text: string;
  readonly pace: Pace;
}

/** How many characters are gathered before they become bytes. */
const chunkCharacters = 64 * 1024;

function put(output: Output, text: string): void {
  output.text += text;
  if (output.text.length < chunkCharacters) return;
  output.chunks.push(Buffer.from(output.text));
  output.text = "";
}

function* write(output: Output, value: unknown): Steps<void> {
  if (isJsonArray(value)) yield* writeList(output, value);
  else if (isJsonObject(value)) yield* writeObject(output, value);
  else put(output, JSON.stringify(value) ?? "null");
}

function* writeList(output: Output, list: readonly unknown[]): Steps<void> {
  if (endsStep(output.pace, 1 + list.length)) yield;
  if (list.every(isScalar)) return put(output, JSON.stringify(list));
  put(output, "[");
  for (const [index, element] of list.entries()) {
    if (index > 0) put(output, ",");
    yield* write(output, element);
  }
  put(output, "]");
}

function* writeObject(output: Output, object: JsonObject): Steps<void> {
  const keys = Object.keys(object);
  if (endsStep(output.pace, 1 + keys.length)) yield;
  if (keys.every((key) => isScalar(object[key]))) return put(output, JSON.stringify(object));
  let separator = "{";
  for (const key of keys) {
    if (object[key] === undefined) continue;
    put(output, `${separator}${JSON.stringify(key)}:`);
    separator = ",";
    yield* write(output, object[key]);
  }
  put(output, "}");
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}
