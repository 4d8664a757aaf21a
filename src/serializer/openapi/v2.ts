import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { grouped, inDocumentOrder, operationsOf, patchTypes, type Operation } from "./operations.ts";
import { openApiSchemas, patchReference, reference, type Json } from "../../apis/openapi-schemas.ts";
import { openApiDocument, type OpenApiDocument, type OpenApiInfo } from "./v3.ts";
import type { Resource } from "../../apis/resource.ts";

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
    if (endsStep(pace, placesOfResource)) yield;
    operations.push(...operationsOf(resource));
  }
  yield;
  const paths: [string, Json][] = [];
  for (const [path, members] of grouped(operations, (operation) => operation.path)) {
    if (endsStep(pace, placesOfPath)) yield;
    paths.push([path, pathJson(path, members)]);
  }
  return {
    swagger: "2.0",
    info,
    paths: Object.fromEntries(paths),
    definitions: yield* openApiSchemas(sorted, "v2"),
  };
}

/** What the operations of a resource, and those of one path, take next to a place of a schema. */
const placesOfResource = 32;
const placesOfPath = 32;

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
