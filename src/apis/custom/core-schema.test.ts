import { expect, test } from "vitest";
import { coreSchemaOf } from "./core-schema.ts";
import { readStructural } from "./structural-schema.ts";

const kind = { group: "example.com", version: "v1", kind: "Widget" };

test("lists are atomic unless they say otherwise, and what keeps unknown fields is open", () => {
  const schema = coreSchemaOf(
    readStructural({
      type: "object",
      required: ["plain"],
      properties: {
        plain: { type: "array", items: { type: "string" } },
        keyed: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
          items: { type: "object", properties: { k: { type: "string" } } },
        },
        open: { type: "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-map-type": "atomic" },
        any: { "x-kubernetes-preserve-unknown-fields": true },
        labels: { type: "object", additionalProperties: { type: "string" }, "x-kubernetes-map-type": "atomic" },
        port: { "x-kubernetes-int-or-string": true },
        count: { type: "integer", format: "int32" },
      },
    }),
    kind,
  );
  expect(schema.name).toBe("com.example.v1.Widget");
  expect(schema.properties["plain"]).toEqual({
    required: true,
    schema: { type: "array", items: { type: "string" }, listType: "atomic" },
  });
  expect(schema.properties["keyed"]?.schema).toMatchObject({ listType: "map", listMapKeys: ["k"] });
  expect(schema.properties["open"]?.schema).toEqual({ type: "object", properties: {}, open: true, mapType: "atomic" });
  expect(schema.properties["any"]?.schema).toEqual({ type: "any" });
  expect(schema.properties["labels"]?.schema).toEqual({ type: "map", values: { type: "string" }, mapType: "atomic" });
  expect(schema.properties["port"]?.schema).toEqual({ type: "string", format: "int-or-string" });
  expect(schema.properties["count"]?.schema).toEqual({ type: "integer", format: "int32" });
});

test("apiVersion, kind and metadata are those of any object, whatever the schema says of them", () => {
  const raw = {
    type: "object",
    properties: { metadata: { type: "object", properties: { name: { type: "string" } } } },
  };
  const schema = coreSchemaOf(readStructural(raw), kind);
  expect(Object.keys(schema.properties)).toEqual(["apiVersion", "kind", "metadata"]);
  expect(schema.properties["metadata"]?.schema).toHaveProperty(
    "name",
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
  );
});

test("keys of prototypes are properties of their own", () => {
  const schema = coreSchemaOf(
    readStructural(JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}')),
    kind,
  );
  expect(Object.hasOwn(schema.properties, "__proto__")).toBe(true);
  expect(Object.getPrototypeOf(schema.properties)).toBe(Object.prototype);
});
