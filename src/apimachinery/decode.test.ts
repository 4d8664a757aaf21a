import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { podSchema } from "../../test/kits/pod-schema.ts";
import { decodeObject } from "./decode.ts";
import { DecodeError } from "./decode-error.ts";
import type { ObjectSchema, Schema } from "./schema.ts";

const string: Schema = { type: "string" };

const everything: ObjectSchema = {
  type: "object",
  name: "io.example.v1.Thing",
  properties: {
    text: { schema: { type: "string" } },
    small: { schema: { type: "integer", format: "int32" } },
    large: { schema: { type: "integer", format: "int64" } },
    real: { schema: { type: "number" } },
    flag: { schema: { type: "boolean" } },
    bytes: { schema: { type: "string", format: "byte" } },
    time: { schema: { type: "string", format: "date-time" } },
    micro: { schema: { type: "string", format: "micro-time" } },
    amount: { schema: { type: "string", format: "quantity" } },
    port: { schema: { type: "string", format: "int-or-string" } },
    period: { schema: { type: "string", format: "duration" } },
    list: { schema: { type: "array", items: { type: "string" } } },
    map: { schema: { type: "map", values: { type: "string" } } },
    nested: { schema: { type: "map", values: { type: "array", items: { type: "integer", format: "int32" } } } },
    raw: { schema: { type: "any" } },
    source: { inline: true, schema: { type: "object", properties: { inlined: { schema: { type: "string" } } } } },
    constructor: { schema: string },
  },
};

function decoded(value: unknown): unknown {
  const { object, unknown } = decodeObject(everything, value);
  expect(unknown).toEqual([]);
  return object;
}

function errorOf(value: unknown, schema: ObjectSchema = everything): DecodeError | undefined {
  try {
    decodeObject(schema, value);
    return undefined;
  } catch (error) {
    if (error instanceof DecodeError) return error;
    throw error;
  }
}

describe("what is accepted", () => {
  test.each([
    [{}, {}],
    [
      { text: "a", small: 1, large: -5, real: 1.5, flag: false },
      { text: "a", small: 1, large: -5, real: 1.5, flag: false },
    ],
    [
      { small: 2 ** 31 - 1, large: 2 ** 53 - 1 },
      { small: 2 ** 31 - 1, large: 2 ** 53 - 1 },
    ],
    [{ small: -(2 ** 31) }, { small: -(2 ** 31) }],
    [{ small: -0 }, { small: 0 }],
    [{ text: null, list: null, map: null }, {}],
    [
      { list: [null, "a"], map: { a: null } },
      { list: ["", "a"], map: { a: "" } },
    ],
    [{ nested: { a: [1, null], b: null } }, { nested: { a: [1, 0], b: [] } }],
    [{ bytes: "QR==" }, { bytes: "QQ==" }],
    [{ time: "2026-11-21T03:05:49+01:00" }, { time: "2026-11-21T02:05:49Z" }],
    [{ micro: "2026-11-21T02:05:49.5Z" }, { micro: "2026-11-21T02:05:49.500000Z" }],
    [{ amount: 2 }, { amount: "2" }],
    [{ amount: "1Gi" }, { amount: "1Gi" }],
    [{ port: 80 }, { port: 80 }],
    [{ port: "http" }, { port: "http" }],
    [{ period: "90s" }, { period: "1m30s" }],
    [{ raw: { a: [null, { b: null }] } }, { raw: { a: [null, { b: null }] } }],
    [{ inlined: "a" }, { inlined: "a" }],
    [
      { constructor: "a", map: { constructor: "b" } },
      { constructor: "a", map: { constructor: "b" } },
    ],
  ])("%j becomes %j", (value, object) => {
    expect(decoded(value)).toEqual(object);
  });

  test("the result shares nothing that could be changed, but for open values", () => {
    const value = { list: ["a"], map: { a: "b" } };
    const object = decoded(value) as typeof value;
    expect(object.list).not.toBe(value.list);
    expect(object.map).not.toBe(value.map);
  });
});

describe("what is refused", () => {
  test.each([
    [1, "type", "", "json: cannot unmarshal number into Go value of type v1.Thing"],
    [null, "type", "", "json: cannot unmarshal null into Go value of type v1.Thing"],
    [[], "type", "", "json: cannot unmarshal array into Go value of type v1.Thing"],
    [{ text: 1 }, "type", "text", "json: cannot unmarshal number into Go struct field Thing.text of type string"],
    [
      { text: { a: 1 } },
      "type",
      "text",
      "json: cannot unmarshal object into Go struct field Thing.text of type string",
    ],
    [{ flag: "true" }, "type", "flag", "json: cannot unmarshal string into Go struct field Thing.flag of type bool"],
    [{ small: true }, "type", "small", "json: cannot unmarshal bool into Go struct field Thing.small of type int32"],
    [{ real: "1" }, "type", "real", "json: cannot unmarshal string into Go struct field Thing.real of type float64"],
    [{ list: {} }, "type", "list", "json: cannot unmarshal object into Go struct field Thing.list of type []string"],
    [
      { list: ["a", 2] },
      "type",
      "list[1]",
      "json: cannot unmarshal number into Go struct field Thing.list[1] of type string",
    ],
    [
      { map: [] },
      "type",
      "map",
      "json: cannot unmarshal array into Go struct field Thing.map of type map[string]string",
    ],
    [
      { map: { "a.b": 1 } },
      "type",
      "map.a.b",
      "json: cannot unmarshal number into Go struct field Thing.map.a.b of type string",
    ],
    [
      { nested: { a: [0, "x"] } },
      "type",
      "nested.a[1]",
      "json: cannot unmarshal string into Go struct field Thing.nested.a[1] of type int32",
    ],
    [{ bytes: 1 }, "type", "bytes", "json: cannot unmarshal number into Go struct field Thing.bytes of type []uint8"],
    [
      { small: 1.5 },
      "range",
      "small",
      "json: cannot unmarshal number 1.5 into Go struct field Thing.small of type int32",
    ],
    [
      { small: 2 ** 31 },
      "range",
      "small",
      "json: cannot unmarshal number 2147483648 into Go struct field Thing.small of type int32",
    ],
    [
      { large: 2 ** 53 },
      "range",
      "large",
      "json: cannot unmarshal number 9007199254740992 into Go struct field Thing.large of type int64",
    ],
    [{ port: 1.5 }, "range", "port", "json: cannot unmarshal number 1.5 into Go struct field Thing.port of type int32"],
    [
      { port: true },
      "type",
      "port",
      "json: cannot unmarshal bool into Go struct field Thing.port of type intstr.IntOrString",
    ],
    [{ bytes: "?" }, "format", "bytes", "Thing.bytes: illegal base64 data at input byte 0"],
    [
      { time: "now" },
      "format",
      "time",
      'Thing.time: parsing time "now" as "2006-01-02T15:04:05Z07:00": not a time of RFC 3339',
    ],
    [{ period: "1d" }, "format", "period", 'Thing.period: unknown unit "d" in duration "1d": '],
    [{ amount: "much" }, "format", "amount", "Thing.amount: quantities must match the regular expression"],
    [
      JSON.parse('{"real":1e999}'),
      "type",
      "real",
      "json: cannot unmarshal number into Go struct field Thing.real of type float64",
    ],
  ])("%j", (value, code, path, message) => {
    const error = errorOf(value);
    expect(error?.code).toBe(code);
    expect(error?.path).toBe(path);
    expect(error?.message).toContain(message);
  });

  test.each(['{"__proto__":{}}', '{"map":{"__proto__":"a"}}', '{"raw":{"a":[{"__proto__":1}]}}'])("%s", (text) => {
    expect(errorOf(JSON.parse(text))?.code).toBe("forbiddenKey");
  });

  test("a hundred levels are allowed, and no more, in open values and along the schema", () => {
    const deep = (levels: number): unknown => JSON.parse(`{"raw":${"[".repeat(levels)}${"]".repeat(levels)}}`);
    expect(errorOf(deep(99))).toBeUndefined();
    expect(errorOf(deep(100))?.code).toBe("tooDeep");
    const cyclic: { type: "object"; properties: Record<string, { schema: ObjectSchema }> } = {
      type: "object",
      properties: {},
    };
    cyclic.properties["a"] = { schema: cyclic };
    const nested = (levels: number): unknown => JSON.parse('{"a":'.repeat(levels) + "{}" + "}".repeat(levels));
    expect(errorOf(nested(99), cyclic)).toBeUndefined();
    expect(errorOf(nested(100), cyclic)?.code).toBe("tooDeep");
    expect(errorOf(nested(100_000), cyclic)?.code).toBe("tooDeep");
  });
});

describe("unknown fields", () => {
  test("are left out and named, those of lists with their index", () => {
    const { object, unknown } = decodeObject(podSchema, {
      spec: {
        foo: 1,
        containers: [
          { name: "a", bar: {} },
          { name: "b", env: [{ name: "E", x: null }] },
        ],
      },
      zip: [],
      metadata: { labels: { any: "thing" }, toString: 1 },
    });
    expect(object).toEqual({
      spec: { containers: [{ name: "a" }, { name: "b", env: [{ name: "E" }] }] },
      metadata: { labels: { any: "thing" } },
    });
    expect(unknown).toEqual([
      "spec.foo",
      "spec.containers[0].bar",
      "spec.containers[1].env[0].x",
      "zip",
      "metadata.toString",
    ]);
  });

  test("the label of an inlined object is one", () => {
    expect(decodeObject(everything, { source: { inlined: "a" }, inlined: "b" })).toEqual({
      object: { inlined: "b" },
      unknown: ["source"],
    });
  });

  test("are named a hundred times at most", () => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`x${index}`, 1]));
    expect(decodeObject(everything, many).unknown).toHaveLength(100);
  });
});

test("decoding twice is the same as decoding once", () => {
  // Such a key is refused, which is another test's claim.
  const decodable = fc.jsonValue().filter((value) => !JSON.stringify(value).includes('"__proto__"'));
  const value = fc.record(
    {
      text: fc.string(),
      small: fc.integer(),
      bytes: fc.uint8Array().map((bytes) => btoa(String.fromCharCode(...bytes))),
      port: fc.oneof(fc.string(), fc.integer()),
      period: fc.integer({ min: 0, max: 1e12 }).map((ms) => `${ms}ms`),
      list: fc.array(fc.option(fc.string())),
      map: fc.dictionary(fc.string(), fc.option(fc.string())),
      raw: decodable,
      surprise: decodable,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(value, (input) => {
      const once = decodeObject(everything, {
        ...input,
        map: Object.fromEntries(Object.entries(input.map ?? {}).filter(([key]) => key !== "__proto__")),
      });
      const twice = decodeObject(everything, once.object);
      expect(twice.object).toEqual(once.object);
      expect(twice.unknown).toEqual([]);
    }),
  );
});

test("any JSON decodes or is refused with a DecodeError, and is not changed", () => {
  const key = fc.constantFrom(...Object.keys(everything.properties), "__proto__", "other");
  const anything = fc.dictionary(key, fc.jsonValue());
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
      const before = JSON.stringify(value);
      expect(["type", "range", "format", "forbiddenKey", "tooDeep", undefined]).toContain(errorOf(value)?.code);
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});
