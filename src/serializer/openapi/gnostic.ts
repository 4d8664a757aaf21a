import protobuf from "protobufjs/minimal.js";

import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { Json } from "../../apis/openapi-schemas.ts";
import type { Writer } from "../protobuf/protobuf-scalars.ts";

/** The media type that Go clients request at `/openapi/v2`, and the only one they read there. */
export const gnosticMediaType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** The Content-Type of the reply; with a dot in place of the `@`. */
export const gnosticReplyType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/** A message as it is written. */
interface Message {
  readonly writer: Writer;
  /** Shared by all messages of a document. */
  readonly pace: Pace;
}

/** Writes one JSON value as the contents of a message; undefined where that took no steps. */
type Shape = (message: Message, value: unknown) => Steps<void> | undefined;

interface Field {
  readonly number: number;
  readonly shape: Shape;
}

/**
 * A Swagger 2.0 document in the protobuf form of gnostic, in steps. It covers the keywords that our own documents use; others are left out.
 * Extensions are written as JSON, which is YAML.
 * @see github.com/google/gnostic-models openapiv2/OpenAPIv2.proto
 */
export function* gnosticDocument(document: Json): Steps<Uint8Array> {
  const message: Message = { writer: protobuf.Writer.create(), pace: { places: 0 } };
  text(message, 1, document["swagger"]);
  yield* part(message, document["info"], { number: 2, shape: info });
  yield* part(message, document["paths"], { number: 8, shape: namedAs(2, pathItem) });
  yield* part(message, document["definitions"], { number: 9, shape: namedAs(1, schema) });
  yield;
  return message.writer.finish();
}

const methodNumbers: readonly (readonly [string, number])[] = [
  ["get", 2],
  ["put", 3],
  ["post", 4],
  ["delete", 5],
  ["patch", 8],
];

function info(message: Message, value: unknown): undefined {
  text(message, 1, at(value, "title"));
  text(message, 2, at(value, "version"));
}

function* pathItem(message: Message, item: unknown): Steps<void> {
  for (const [method, number] of methodNumbers) yield* part(message, at(item, method), { number, shape: operation });
  yield* parameters(message, 9, at(item, "parameters"));
  yield* extensions(message, 10, item);
}

function* operation(message: Message, value: unknown): Steps<void> {
  text(message, 3, at(value, "description"));
  text(message, 5, at(value, "operationId"));
  texts(message, 6, at(value, "produces"));
  texts(message, 7, at(value, "consumes"));
  yield* parameters(message, 8, at(value, "parameters"));
  yield* part(message, at(value, "responses"), { number: 9, shape: namedAs(1, partAs(1, response)) });
  yield* extensions(message, 13, value);
}

function* response(message: Message, reply: unknown): Steps<void> {
  text(message, 1, at(reply, "description"));
  yield* part(message, at(reply, "schema"), { number: 2, shape: partAs(1, schema) });
}

function* parameters(message: Message, number: number, list: unknown): Steps<void> {
  for (const one of asList(list)) yield* part(message, one, { number, shape: partAs(1, parameter) });
}

function* parameter(message: Message, value: unknown): Steps<void> {
  const place = at(value, "in");
  if (place === "body") {
    yield* part(message, value, { number: 1, shape: bodyParameter });
    return;
  }
  const isQuery = place === "query";
  const shape = partAs(isQuery ? 3 : 4, (to) => {
    truth(to, 1, at(value, "required"));
    text(to, 2, place);
    text(to, 3, at(value, "description"));
    text(to, 4, at(value, "name"));
    text(to, isQuery ? 6 : 5, at(value, "type"));
    truth(to, isQuery ? 20 : 19, at(value, "uniqueItems"));
    return undefined;
  });
  yield* part(message, value, { number: 2, shape });
}

function* bodyParameter(message: Message, value: unknown): Steps<void> {
  text(message, 1, at(value, "description"));
  text(message, 2, at(value, "name"));
  text(message, 3, at(value, "in"));
  truth(message, 4, at(value, "required"));
  yield* part(message, at(value, "schema"), { number: 5, shape: schema });
}

function* schema(message: Message, value: unknown): Steps<void> {
  text(message, 1, at(value, "$ref"));
  text(message, 2, at(value, "format"));
  text(message, 4, at(value, "description"));
  texts(message, 19, at(value, "required"));
  for (const one of asList(at(value, "enum"))) yield* part(message, one, { number: 20, shape: any });
  yield* part(message, at(value, "additionalProperties"), { number: 21, shape: partAs(1, schema) });
  yield* part(message, at(value, "type"), { number: 22, shape: typeItem });
  yield* part(message, at(value, "items"), { number: 23, shape: partAs(1, schema) });
  yield* part(message, at(value, "properties"), { number: 25, shape: namedAs(1, schema) });
  yield* extensions(message, 31, value);
}

function typeItem(message: Message, type: unknown): undefined {
  text(message, 1, type);
}

function any(message: Message, value: unknown): undefined {
  text(message, 2, `${JSON.stringify(value)}\n`);
}

function* extensions(message: Message, number: number, value: unknown): Steps<void> {
  const own = Object.entries(value as Json).filter(([key]) => key.startsWith("x-"));
  yield* members(message, Object.fromEntries(own), { number, shape: any });
}

/** A JSON object as a list of `{name = 1, value = 2}`. */
function namedAs(number: number, shape: Shape): Shape {
  return (message, object) => members(message, object, { number, shape });
}

function* members(message: Message, object: unknown, { number, shape }: Field): Steps<void> {
  for (const [name, value] of Object.entries(object as Json)) {
    const named: Shape = function* (to) {
      text(to, 1, name);
      yield* part(to, value, { number: 2, shape });
    };
    yield* part(message, value, { number, shape: named });
  }
}

/** A message that contains only one other. */
function partAs(number: number, shape: Shape): Shape {
  return (message, value) => part(message, value, { number, shape });
}

/** Writes a part separately first, so that no part is joined in one step at the end. */
function* part({ writer, pace }: Message, value: unknown, { number, shape }: Field): Steps<void> {
  if (value === undefined) return;
  if (endsStep(pace)) yield;
  const inner = protobuf.Writer.create();
  const contents = shape({ writer: inner, pace }, value);
  if (contents !== undefined) yield* contents;
  writer.uint32((number << 3) | 2).bytes(inner.finish());
}

function text({ writer }: Message, number: number, value: unknown): void {
  if (typeof value === "string" && value !== "") writer.uint32((number << 3) | 2).string(value);
}

function texts(message: Message, number: number, values: unknown): void {
  for (const value of asList(values)) text(message, number, value);
}

function truth({ writer }: Message, number: number, value: unknown): void {
  if (value === true) writer.uint32(number << 3).bool(true);
}

function at(value: unknown, key: string): unknown {
  return (value as Json)[key];
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
