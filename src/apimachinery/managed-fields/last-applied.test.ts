import { describe, expect, it } from "vitest";
import type { ObjectSchema } from "../schema.ts";
import { pathsOf } from "./field-set.ts";
import {
  fieldsLastApplied as fieldsLastAppliedInSteps,
  lastAppliedAnnotation,
  withLastApplied,
} from "./last-applied.ts";
import { atOnce } from "../../../test/kits/at-once.ts";

const fieldsLastApplied = atOnce(fieldsLastAppliedInSteps);

const schema: ObjectSchema = {
  type: "object",
  properties: {
    apiVersion: { schema: { type: "string" } },
    kind: { schema: { type: "string" } },
    metadata: { schema: { type: "any" } },
    data: { schema: { type: "map", values: { type: "string" } } },
  },
};

function live(data: object, last: unknown): { readonly [key: string]: unknown } {
  const text = typeof last === "string" ? last : JSON.stringify(last);
  return { apiVersion: "v1", kind: "T", metadata: { annotations: { [lastAppliedAnnotation]: text } }, data };
}

const dataOf = (object: { readonly [key: string]: unknown }): readonly string[] =>
  pathsOf(fieldsLastApplied(schema, object))
    .map((path) => path.join(" "))
    .filter((path) => path.startsWith("f:data"));

describe("what kubectl applied last", () => {
  const last = { apiVersion: "v1", kind: "T", data: { x: "1", y: "1" } };

  it("is what stands as it was left", () => {
    expect(dataOf(live({ x: "1", y: "2", z: "1" }, last))).toEqual(["f:data f:x"]);
  });

  it.each([
    ["no JSON", "{"],
    ["no object", "[]"],
    ["another version", { ...last, apiVersion: "v2" }],
    ["what the schema does not know", { ...last, foo: 1 }],
    ["empty", ""],
  ])("is nothing where the annotation is %s", (_title, text) => {
    expect(fieldsLastApplied(schema, live({ x: "1" }, text))).toEqual({});
  });

  it("is kept up to date where it is kept, keys in order and itself left out", () => {
    const config = {
      kind: "T",
      data: { y: "1", a: "1" },
      apiVersion: "v1",
      metadata: { annotations: { [lastAppliedAnnotation]: "x", b: "1" } },
    };
    const { metadata } = withLastApplied(live({}, last), config) as {
      metadata: { annotations: Record<string, string> };
    };
    expect(metadata.annotations[lastAppliedAnnotation]).toBe(
      '{"apiVersion":"v1","data":{"a":"1","y":"1"},"kind":"T","metadata":{"annotations":{"b":"1"}}}\n',
    );
    const without = { metadata: {}, data: {} };
    expect(withLastApplied(without, config)).toBe(without);
  });

  it("is dropped where it would be too large", () => {
    const config = { data: { x: "x".repeat(300 * 1024) } };
    expect(withLastApplied(live({}, last), config)).toMatchObject({ metadata: { annotations: {} } });
    expect(JSON.stringify(withLastApplied(live({}, last), config)).length).toBeLessThan(1000);
  });
});
