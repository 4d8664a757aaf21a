import { expect, test } from "vitest";
import { podSchema } from "../../test/kits/pod-schema.ts";
import { memberSchema, propertySchema, type Schema } from "./schema.ts";

function at(...path: readonly string[]): Schema | undefined {
  let schema: Schema | undefined = podSchema;
  for (const key of path)
    schema = schema?.type === "array" ? memberSchema(schema.items, key) : memberSchema(schema, key);
  return schema;
}

test("finds properties, values of maps, and properties of inlined objects", () => {
  expect(at("metadata", "name")?.type).toBe("string");
  expect(at("metadata", "labels", "anything")?.type).toBe("string");
  expect(at("spec", "volumes", "emptyDir")?.type).toBe("object");
});

test("the label of an inlined object is no property, and nothing inherited is one", () => {
  expect(at("spec", "volumes", "volumeSource")).toBeUndefined();
  expect(propertySchema(podSchema, "constructor")).toBeUndefined();
  expect(memberSchema(undefined, "a")).toBeUndefined();
});
