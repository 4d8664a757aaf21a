import protobuf from "protobufjs/minimal.js";

import type { Json } from "./openapi-schemas.ts";
import { nested, type Writer } from "./protobuf-scalars.ts";

/** What Go clients ask for at `/openapi/v2`, and the only form they read there. */
export const gnosticMediaType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** How the reply names itself; the `@` became a dot. */
export const gnosticReplyType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** Writes one JSON value as the contents of a message. */
type Shape = (writer: Writer, value: unknown) => void;

/**
 * A Swagger 2.0 document in the protobuf form of gnostic. It covers the keywords that our own documents use; others are left out.
 * Extensions stand as JSON, which is YAML.
 * @see github.com/google/gnostic-models openapiv2/OpenAPIv2.proto
 */
export function gnosticDocument(document: Json): Uint8Array {
  const writer = protobuf.Writer.create();
  text(writer, 1, document["swagger"]);
  part(writer, 2, document["info"], (to, info) => {
    text(to, 1, at(info, "title"));
    text(to, 2, at(info, "version"));
  });
  part(writer, 8, document["paths"], (to, paths) => named(to, 2, paths, pathItem));
  part(writer, 9, document["definitions"], (to, definitions) => named(to, 1, definitions, schema));
  return writer.finish();
}

const methodNumbers: readonly (readonly [string, number])[] = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["patch", 8],
];

const pathItem: Shape = (writer, item) => {
  for (const [method, number] of methodNumbers) part(writer, number, at(item, method), operation);
  parameters(writer, 9, at(item, "parameters"));
  extensions(writer, 10, item);
};

const operation: Shape = (writer, value) => {
  text(writer, 3, at(value, "description"));
  text(writer, 5, at(value, "operationId"));
  texts(writer, 6, at(value, "produces"));
  texts(writer, 7, at(value, "consumes"));
  parameters(writer, 8, at(value, "parameters"));
  part(writer, 9, at(value, "responses"), (to, responses) => {
    named(to, 1, responses, (responseValue, one) =>
      part(responseValue, 1, one, (response, reply) => {
        text(response, 1, at(reply, "description"));
        part(response, 2, at(reply, "schema"), (item, inner) => part(item, 1, inner, schema));
      }),
    );
  });
  extensions(writer, 13, value);
};

function parameters(writer: Writer, number: number, list: unknown): void {
  for (const one of asList(list)) {
    part(writer, number, one, (item) => part(item, 1, one, parameter));
  }
}

const parameter: Shape = (writer, value) => {
  const place = at(value, "in");
  if (place === "body") {
    part(writer, 1, value, bodyParameter);
    return;
  }
  const isQuery = place === "query";
  part(writer, 2, value, (plain) =>
    part(plain, isQuery ? 3 : 4, value, (to) => {
      truth(to, 1, at(value, "required"));
      text(to, 2, place);
      text(to, 3, at(value, "description"));
      text(to, 4, at(value, "name"));
      text(to, isQuery ? 6 : 5, at(value, "type"));
      truth(to, isQuery ? 20 : 19, at(value, "uniqueItems"));
    }),
  );
};

const bodyParameter: Shape = (writer, value) => {
  text(writer, 1, at(value, "description"));
  text(writer, 2, at(value, "name"));
  text(writer, 3, at(value, "in"));
  truth(writer, 4, at(value, "required"));
  part(writer, 5, at(value, "schema"), schema);
};

const schema: Shape = (writer, value) => {
  text(writer, 1, at(value, "$ref"));
  text(writer, 2, at(value, "format"));
  text(writer, 4, at(value, "description"));
  texts(writer, 19, at(value, "required"));
  for (const one of asList(at(value, "enum"))) part(writer, 20, one, any);
  part(writer, 21, at(value, "additionalProperties"), (to, inner) => part(to, 1, inner, schema));
  part(writer, 22, at(value, "type"), (to, type) => text(to, 1, type));
  part(writer, 23, at(value, "items"), (to, inner) => part(to, 1, inner, schema));
  part(writer, 25, at(value, "properties"), (to, properties) => named(to, 1, properties, schema));
  extensions(writer, 31, value);
};

const any: Shape = (writer, value) => text(writer, 2, `${JSON.stringify(value)}\n`);

function extensions(writer: Writer, number: number, value: unknown): void {
  const own = Object.entries(value as Json).filter(([key]) => key.startsWith("x-"));
  named(writer, number, Object.fromEntries(own), any);
}

/** A JSON object as a list of `{name = 1, value = 2}`. */
function named(writer: Writer, number: number, object: unknown, shape: Shape): void {
  for (const [name, value] of Object.entries(object as Json)) {
    part(writer, number, value, (to) => {
      text(to, 1, name);
      part(to, 2, value, shape);
    });
  }
}

function part(writer: Writer, number: number, value: unknown, shape: Shape): void {
  if (value === undefined) return;
  writer.uint32((number << 3) | 2);
  nested(writer, () => shape(writer, value));
}

function text(writer: Writer, number: number, value: unknown): void {
  if (typeof value === "string" && value !== "") writer.uint32((number << 3) | 2).string(value);
}

function texts(writer: Writer, number: number, values: unknown): void {
  for (const value of asList(values)) text(writer, number, value);
}

function truth(writer: Writer, number: number, value: unknown): void {
  if (value === true) writer.uint32(number << 3).bool(true);
}

function at(value: unknown, key: string): unknown {
  return (value as Json)[key];
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
