import { createHash } from "node:crypto";

import type { Steps } from "../../apimachinery/steps.ts";
import { jsonBytes } from "./json-bytes.ts";
import { grouped, groupVersionKey, inDocumentOrder, operationsOf, patchTypes, type Operation } from "./operations.ts";
import { openApiSchemas, patchReference, reference, type Json } from "../../apis/openapi-schemas.ts";
import type { Resource } from "../../apis/resource.ts";

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

/** What a document says of the server. */
export interface OpenApiInfo {
  readonly title: string;
  /** e.g. `v1.36.0`. */
  readonly version: string;
}

/** The document of a group version: one made earlier from the very same members, or a new one. */
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
    documents.set(key, yield* keep(key, members, () => madeDocument(members, info)));
  }
  const paths = Object.fromEntries(
    [...documents].map(([key, { hash }]) => [key, { serverRelativeURL: `/openapi/v3/${key}?hash=${hash}` }]),
  );
  return { index: yield* openApiDocument({ paths }), documents };
}

function* madeDocument(members: readonly Resource[], info: OpenApiInfo): Steps<OpenApiDocument> {
  return yield* openApiDocument(yield* groupDocument(members, info));
}

/** Bytes and hash of a JSON value. */
export function* openApiDocument(value: Json): Steps<OpenApiDocument> {
  const bytes = yield* jsonBytes(value);
  yield;
  return { bytes, hash: createHash("sha512").update(bytes).digest("hex").toUpperCase() };
}

function* groupDocument(resources: readonly Resource[], info: OpenApiInfo): Steps<Json> {
  const paths = grouped(resources.flatMap(operationsOf), ({ path }) => path);
  return {
    openapi: "3.0.0",
    info,
    paths: Object.fromEntries([...paths].map(([path, operations]) => [path, pathJson(path, operations)])),
    components: { schemas: yield* openApiSchemas(resources, "v3") },
  };
}

function pathJson(path: string, operations: readonly Operation[]): Json {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, operationJson(operation)])),
    parameters: [
      ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
        name,
        in: "path",
        required: true,
        schema: { type: "string", uniqueItems: true },
      })),
      queryJson({ name: "pretty", type: "string", description: "If true, the reply is indented." }),
    ],
  };
}

function operationJson(operation: Operation): Json {
  const { group, version, kind } = operation.resource;
  const reply = { content: { "application/json": { schema: reference(operation.reply, "v3") } } };
  return {
    description: `${operation.action} ${kind}`,
    operationId: operation.id,
    parameters: operation.query.map(queryJson),
    ...(operation.body === undefined ? {} : { requestBody: bodyJson(operation, operation.body) }),
    responses: {
      ...Object.fromEntries(operation.codes.map((code) => [code, { description: codeWords[code], ...reply }])),
      "401": { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}

const codeWords: Readonly<Record<number, string>> = { 200: "OK", 201: "Created", 202: "Accepted" };

function bodyJson(operation: Operation, body: string): Json {
  const content =
    body === "patch"
      ? Object.fromEntries(patchTypes(operation.resource).map((type) => [type, { schema: patchReference("v3") }]))
      : { "application/json": { schema: reference(body, "v3") } };
  return { content, ...(operation.method === "delete" ? {} : { required: true }) };
}

function queryJson({ name, type, description }: Operation["query"][number]): Json {
  return { name, in: "query", description, schema: { type, uniqueItems: true } };
}
