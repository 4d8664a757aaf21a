import { expect, test } from "vitest";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { OpenApiFlavour } from "../openapi-schemas.ts";
import { atOnce } from "../../../test/kits/at-once.ts";
import { publishedSchema as publishedInSteps } from "./openapi-schema.ts";
import { readStructural } from "./structural-schema.ts";

const kind = { group: "example.com", version: "v1", kind: "Widget" };

const publishedSchema = atOnce(publishedInSteps);

function published(raw: JsonObject, version: OpenApiFlavour): JsonObject {
  return publishedSchema(readStructural({ type: "object", properties: { x: raw } }), kind, { version });
}

function field(raw: JsonObject, version: OpenApiFlavour): unknown {
  return (published(raw, version)["properties"] as JsonObject)["x"];
}

test("the kind says its names, and what every object has", () => {
  for (const version of ["v2", "v3"] as const) {
    const json = published({ type: "string" }, version);
    expect(json["x-kubernetes-group-version-kind"]).toEqual([{ group: "example.com", version: "v1", kind: "Widget" }]);
    expect(Object.keys(json["properties"] as JsonObject).sort()).toEqual(["apiVersion", "kind", "metadata", "x"]);
  }
});

test("version 3 shows a schema as it was written", () => {
  const raw = {
    description: "What it is.",
    type: "object",
    nullable: true,
    required: ["a"],
    minProperties: 1,
    properties: { a: { type: "string", pattern: "^a$", enum: ["a"], default: "a" } },
    anyOf: [{ required: ["a"] }],
    not: { required: ["b"] },
    "x-kubernetes-validations": [{ rule: "has(self.a)", message: "no a" }],
  };
  expect(field(raw, "v3")).toEqual(raw);
});

test("an integer or text is spelled out for readers that do not know it", () => {
  const raw = { "x-kubernetes-int-or-string": true };
  expect(field(raw, "v3")).toEqual({ ...raw, anyOf: [{ type: "integer" }, { type: "string" }] });
  expect(field(raw, "v2")).toEqual(raw);
});

test("version 2 leaves out what it cannot say, and types that kubectl would take for closed", () => {
  expect(field({ type: "object", properties: { a: { type: "string" } }, oneOf: [{ required: ["a"] }] }, "v2")).toEqual({
    type: "object",
    properties: { a: { type: "string" } },
  });
  expect(field({ type: "array", nullable: true, items: { type: "string" } }, "v2")).toEqual({});
  expect(
    field({ type: "object", required: ["a"], properties: { a: { type: "string", nullable: true } } }, "v2"),
  ).toEqual({
    type: "object",
    properties: { a: {} },
  });
  expect(field({ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "v2")).toEqual({
    "x-kubernetes-preserve-unknown-fields": true,
  });
});

test("a kind that keeps unknown fields has no fields in version 2, or kubectl would refuse all others", () => {
  const schema = readStructural({
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: { a: { type: "string" } },
  });
  expect(publishedSchema(schema, kind, { version: "v2" })).toEqual({
    type: "object",
    "x-kubernetes-group-version-kind": [kind],
  });
});

test("embedded resources have what every object has, and must say what they are", () => {
  const json = field(
    { type: "object", "x-kubernetes-embedded-resource": true, properties: { a: { type: "string" } } },
    "v3",
  );
  expect(json).toMatchObject({
    required: ["kind", "apiVersion"],
    properties: { a: { type: "string" }, kind: { type: "string" } },
  });
});
