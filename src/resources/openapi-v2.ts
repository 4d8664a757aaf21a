import { grouped, inDocumentOrder, operationsOf, patchTypes, type Operation } from "./openapi-operations.ts";
import { openApiSchemas, patchReference, reference, type Json } from "./openapi-schemas.ts";
import { openApiDocument, type OpenApiDocument, type OpenApiInfo } from "./openapi-v3.ts";
import type { Resource } from "./resource.ts";

/** The Swagger 2.0 document of all resources as JSON. Equal resources give equal bytes. */
export function openApiV2(resources: readonly Resource[], info: OpenApiInfo): OpenApiDocument {
  return openApiDocument(swagger(resources, info));
}

/** The same as a value, in the form that `gnosticDocument` encodes. */
export function swagger(resources: readonly Resource[], info: OpenApiInfo): Json {
  const sorted = inDocumentOrder(resources);
  const paths = grouped(sorted.flatMap(operationsOf), ({ path }) => path);
  return {
    swagger: "2.0",
    info,
    paths: Object.fromEntries([...paths].map(([path, operations]) => [path, pathJson(path, operations)])),
    definitions: openApiSchemas(sorted, "v2"),
  };
}

function pathJson(path: string, operations: readonly Operation[]): Json {
  return {
    ...Object.fromEntries(operations.map((operation) => [operation.method, operationJson(operation)])),
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      type: "string",
      uniqueItems: true,
    })),
  };
}

function operationJson(operation: Operation): Json {
  const { group, version, kind } = operation.resource;
  const schema = reference(operation.reply, "v2");
  const isPatch = operation.body === "patch";
  return {
    description: `${operation.action} ${kind}`,
    operationId: operation.id,
    consumes: isPatch ? patchTypes(operation.resource) : ["*/*"],
    produces: ["application/json", "application/yaml"],
    parameters: [
      ...(operation.body === undefined ? [] : [bodyJson(operation, operation.body)]),
      ...operation.query.map(({ name, type, description }) => ({
        name,
        in: "query",
        description,
        type,
        uniqueItems: true,
      })),
    ],
    responses: {
      ...Object.fromEntries(operation.codes.map((code) => [code, { description: "OK", schema }])),
      "401": { description: "Unauthorized" },
    },
    "x-kubernetes-action": operation.action,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}

function bodyJson(operation: Operation, body: string): Json {
  return {
    name: "body",
    in: "body",
    ...(operation.method === "delete" ? {} : { required: true }),
    schema: body === "patch" ? patchReference("v2") : reference(body, "v2"),
  };
}
