import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FieldError } from "../../apimachinery/field-error.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { finish } from "../../apimachinery/steps.ts";
import { customSchema, jsonObject } from "../../../test/kits/structural-schema.ts";
import { readStructural } from "./structural-schema.ts";
import { statusErrors, valueErrors } from "./validate-value.ts";

const statusErrorsOf = (...given: Parameters<typeof statusErrors>): readonly FieldError[] =>
  finish(statusErrors(...given));

function errorsOf(raw: JsonObject, value: unknown, stored?: unknown): readonly string[] {
  const schema = readStructural({ type: "object", properties: { x: raw } });
  const options = stored === undefined ? { path: "" } : { path: "", stored: { x: stored } };
  return valueErrors(schema, { x: value }, options).map(({ path, message }) => `${path}: ${message}`);
}

describe("wording", () => {
  const table: Readonly<Record<string, readonly [JsonObject, unknown, readonly string[]]>> = {
    "a value of another type": [
      { type: "integer" },
      "3",
      ['x: Invalid value: "string": x in body must be of type integer: "string"'],
    ],
    "a number that is too small": [
      { type: "integer", minimum: 1 },
      0,
      ["x: Invalid value: 0: x in body should be greater than or equal to 1"],
    ],
    "a text that does not match": [
      { type: "string", pattern: "^a$" },
      "b",
      [`x: Invalid value: "b": x in body should match '^a$'`],
    ],
    "a text that is too long": [{ type: "string", maxLength: 1 }, "ab", ["x: Too long: may not be more than 1 byte"]],
    "a list that is too long": [
      { type: "array", maxItems: 1, items: { type: "integer" } },
      [1, 2],
      ["x: Too many: 2: must have at most 1 item"],
    ],
    "a value that is not listed": [
      { type: "string", enum: ["a", "b"] },
      "c",
      ['x: Unsupported value: "c": supported values: "a", "b"'],
    ],
    "a field that is missing": [
      { type: "object", properties: { y: { type: "string" } }, required: ["y"] },
      {},
      ["x.y: Required value"],
    ],
    "an element that repeats": [
      { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
      ["a", "b", "a"],
      ['x[2]: Duplicate value: "a"'],
    ],
    "alternatives of which none holds": [
      { type: "object", properties: { y: { type: "string" } }, anyOf: [{ required: ["y"] }] },
      {},
      ['<nil>: Invalid value: "": "x" must validate at least one schema (anyOf)', "x.y: Required value"],
    ],
  };
  test.each(Object.entries(table))("%s", (_title, [raw, value, expected]) => {
    expect(errorsOf(raw, value)).toEqual(expected);
  });

  test("errors begin with the path that is given", () => {
    const schema = readStructural({ type: "object", properties: { x: { type: "string" } } });
    const [error] = valueErrors(schema, { x: 1 }, { path: "status" });
    expect(error).toMatchObject({
      path: "status.x",
      message: 'Invalid value: "integer": x in body must be of type string: "integer"',
    });
  });
});

describe("what it costs", () => {
  const nested = "(a?){50}a{50}b";
  const allowed = 100 * 1024;

  test("refuses a text before it is matched against a pattern for too long, and says what is allowed", () => {
    const [error, ...more] = errorsOf({ type: "string", pattern: nested }, "a".repeat(3_000_000));
    expect(more).toEqual([]);
    expect(error).toMatch(
      /^x: Invalid value: pattern '.*' cannot be checked: the value has 3000000 characters, and about \d+ of them may be matched in this object; shorten the value or set maxLength in the schema$/,
    );
  });

  test("counts all texts of an object together", () => {
    const raw: JsonObject = { type: "array", items: { type: "string", pattern: nested } };
    expect(
      errorsOf(
        raw,
        Array.from({ length: 20 }, () => `${"a".repeat(60)}b`),
      ),
    ).toEqual([]);
    const [error, ...more] = errorsOf(
      raw,
      Array.from({ length: 1000 }, () => `${"a".repeat(60)}b`),
    );
    expect(error).toMatch(/^x\[\d+\]: Invalid value: pattern .* cannot be checked/);
    expect(more).toEqual([]);
  });

  test("lets no alternative and no negation pass for a pattern that was not checked", () => {
    const value = "a".repeat(3_000_000);
    for (const raw of [
      { not: { pattern: nested } },
      { anyOf: [{ pattern: nested }, { type: "string" }] },
      { oneOf: [{ pattern: nested }, { type: "string" }] },
    ] as readonly JsonObject[]) {
      expect(errorsOf(raw, value).some((error) => error.includes("cannot be checked"))).toBe(true);
    }
  });

  test.each([
    "^[a-z]*$",
    "^[A-Za-z]{1,63}$",
    "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
  ])("matches 100 KiB of names against %s", (pattern) => {
    const names = Array.from({ length: allowed / 32 }, () => "a".repeat(32));
    expect(errorsOf({ type: "array", items: { type: "string", pattern } }, names)).toEqual([]);
  });

  test("refuses a schema that looks at each of many values in many ways", () => {
    const passing = Array.from({ length: 1000 }, () => ({ minLength: 1 }));
    expect(
      errorsOf(
        { type: "array", items: { type: "string", allOf: passing } },
        Array.from({ length: 20_000 }, () => "a"),
      ),
    ).toEqual([
      expect.stringMatching(
        /^x\[199\]: Invalid value: the schema cannot be checked: it takes more than 200000 checks of values/,
      ),
    ]);
  });

  test("finds a value among many that are allowed", () => {
    const values = Array.from({ length: 500 }, (_, index) => `e${index}`);
    expect(errorsOf({ type: "string", enum: values }, "e499")).toEqual([]);
    expect(errorsOf({ enum: [{ a: 1 }, 2, null] }, { a: 1 })).toEqual([]);
    expect(errorsOf({ enum: [{ a: 1 }, 2, null] }, 2)).toEqual([]);
    expect(errorsOf({ enum: [{ a: 1 }, 2, null] }, { a: 2 })).toHaveLength(1);
  });
});

describe("ratcheting", () => {
  const short: JsonObject = { type: "string", maxLength: 1 };

  test("lets a fault pass that was stored, and no other", () => {
    expect(errorsOf(short, "ab", "ab")).toEqual([]);
    expect(errorsOf(short, "abc", "ab")).toHaveLength(1);
  });

  test("tells elements of lists of type map apart by their keys, whatever their order", () => {
    const list: JsonObject = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", required: ["k"], properties: { k: { type: "string" }, v: short } },
    };
    const stored = [
      { k: "a", v: "bad" },
      { k: "b", v: "bad" },
    ];
    expect(errorsOf(list, [{ k: "c", v: "x" }, ...stored.toReversed()], stored)).toEqual([]);
    expect(errorsOf(list, [{ k: "c", v: "bad" }], stored)).toEqual(["x[0].v: Too long: may not be more than 1 byte"]);
  });

  test("does not tell elements of other lists apart", () => {
    const list: JsonObject = { type: "array", items: short };
    expect(errorsOf(list, ["bad", "x"], ["bad"])).toHaveLength(1);
    expect(errorsOf(list, ["bad"], ["bad"])).toEqual([]);
  });

  test("does not weigh on alternatives", () => {
    const raw: JsonObject = {
      type: "object",
      properties: { y: short, z: short },
      anyOf: [{ properties: { y: { enum: ["q"] } } }],
    };
    expect(errorsOf(raw, { y: "a", z: "b" }, { y: "a", z: "c" })).toHaveLength(2);
  });

  test("never finds a fault that is none without it", () => {
    const seen = { faultless: 0, withFaults: 0, letPass: 0 };
    const pair = fc.oneof(
      fc.tuple(jsonObject, jsonObject),
      // Part of the stored object stays: what ratcheting is for.
      fc.tuple(jsonObject, jsonObject).map(([stored, changes]) => [{ ...stored, ...changes }, stored] as const),
    );
    fc.assert(
      fc.property(customSchema, pair, (raw, [object, stored]) => {
        const schema = readStructural(raw);
        const strict = valueErrors(schema, object, { path: "" });
        const ratcheted = valueErrors(schema, object, { path: "", stored });
        expect(strict).toEqual(expect.arrayContaining([...ratcheted]));
        seen[strict.length === 0 ? "faultless" : "withFaults"] += 1;
        if (ratcheted.length < strict.length) seen.letPass += 1;
      }),
      { numRuns: 300 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });
});

describe("an update of the status", () => {
  const set: JsonObject = { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" };
  const schema = readStructural({
    type: "object",
    required: ["spec"],
    properties: {
      spec: { type: "object", properties: { size: { type: "integer" } } },
      status: { type: "object", properties: { phase: { type: "string", maxLength: 3 }, seen: set } },
    },
  });

  test("is not refused for what it cannot mend", () => {
    expect(statusErrorsOf(schema, { status: { phase: "ok" } }, { spec: { size: "x" } })).toEqual([]);
    expect(statusErrorsOf(schema, { spec: {} }, { spec: {} })).toEqual([]);
  });

  test("is refused for what it says itself", () => {
    const errors = statusErrorsOf(schema, { status: { phase: "long", seen: ["a", "a"] } }, { status: { seen: ["a"] } });
    expect(errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      "status.phase: Too long: may not be more than 3 bytes",
      'status.seen[1]: Duplicate value: "a"',
    ]);
    expect(statusErrorsOf(schema, { status: { phase: "long" } }, { status: { phase: "long" } })).toEqual([]);
  });
});

describe("attacks", () => {
  test("a pattern that would take a backtracking engine for ever is matched in no time", () => {
    expect(errorsOf({ type: "string", pattern: "^(a+)+$" }, `${"a".repeat(50_000)}b`)).toHaveLength(1);
  });

  test("a huge list with repeated elements is searched once and reported in part", () => {
    const set: JsonObject = { type: "array", items: { type: "integer" }, "x-kubernetes-list-type": "set" };
    const list = Array.from({ length: 10_000 }, (_, index) => index % 5000);
    expect(errorsOf(set, list)).toHaveLength(100);
    const map: JsonObject = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k", "p"],
      items: { type: "object", properties: { k: { type: "integer" }, p: { type: "integer" } } },
    };
    const elements = list.map((k) => ({ k, p: 1 }));
    expect(errorsOf(map, elements)).toHaveLength(100);
    expect(errorsOf(map, elements, elements)).toEqual([]);
  });

  test("a huge list of faults gives few errors", () => {
    expect(
      errorsOf(
        { type: "array", items: { type: "integer" } },
        Array.from({ length: 20_000 }, () => "x"),
      ),
    ).toHaveLength(100);
  });

  test("required fields are not found in prototypes", () => {
    const raw: JsonObject = {
      type: "object",
      additionalProperties: { type: "integer" },
      required: ["constructor", "__proto__"],
    };
    expect(errorsOf(raw, {})).toEqual(["x.constructor: Required value", "x.__proto__: Required value"]);
    expect(errorsOf(raw, JSON.parse('{"constructor":1,"__proto__":2}'))).toEqual([]);
  });

  test("values may nest as deep as decoding allows", () => {
    let raw: JsonObject = { type: "string" };
    let value: unknown = 1;
    for (let depth = 0; depth < 95; depth += 1) {
      raw = { type: "object", properties: { n: raw } };
      value = { n: value };
    }
    expect(errorsOf(raw, value)).toHaveLength(1);
  });
});

describe("embedded resources", () => {
  const raw: JsonObject = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  };

  test("need apiVersion and kind, and metadata as any object has it", () => {
    expect(errorsOf(raw, {})).toEqual(["x.apiVersion: Required value", "x.kind: Required value"]);
    expect(errorsOf(raw, { apiVersion: "a/b/c", kind: "Pod", metadata: { labels: "no" } })).toEqual([
      'x.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      expect.stringContaining("x.metadata: Invalid value"),
    ]);
    expect(errorsOf(raw, { apiVersion: "v1", kind: "Pod", metadata: { name: "a", labels: { a: "b" } } })).toEqual([]);
  });
});
