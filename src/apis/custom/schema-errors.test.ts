import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { customSchema, jsonObject } from "../../../test/kits/structural-schema.ts";
import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import type { DefaultRuleErrors } from "./default-errors.ts";
import { schemaErrorSteps, schemaErrors, type SchemaErrorOptions } from "./schema-errors.ts";
import type { StructuralSchema } from "./structural-schema.ts";

const path = "schema";

function errorsOf(raw: JsonObject, options: Partial<SchemaErrorOptions> = {}): readonly string[] {
  const errors = schemaErrors(raw, path, { statusSubresource: false, ...options });
  return errors.map((error) => `${error.path}: ${error.message}`);
}

function ofField(raw: JsonObject): readonly string[] {
  return errorsOf({ type: "object", properties: { x: raw } });
}

describe("schemas are refused", () => {
  const table: Readonly<Record<string, readonly [JsonObject, readonly string[]]>> = {
    "without a type": [
      {},
      ["schema.properties[x].type: Required value: must not be empty for specified object fields"],
    ],
    "with a type below anyOf": [
      { type: "string", anyOf: [{ type: "string" }] },
      ["schema.properties[x].anyOf[0].type: Forbidden: must be empty to be structural"],
    ],
    "with properties beside additionalProperties": [
      { type: "object", properties: { a: { type: "string" } }, additionalProperties: { type: "string" } },
      [
        "schema.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
      ],
    ],
    "with a pattern that RE2 does not have": [
      { type: "string", pattern: "(?=a)" },
      [
        'schema.properties[x].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
      ],
    ],
    "with keys of a list that are neither required nor have a default": [
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object", properties: { k: { type: "string" } } },
      },
      [
        "schema.properties[x].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
      ],
    ],
    "with a default that would be pruned": [
      { type: "object", default: { a: 1 } },
      ['schema.properties[x].default: Invalid value: {"a":1}: must not have unknown fields'],
    ],
    "with a default that is not valid": [
      { type: "integer", default: "a" },
      ['schema.properties[x].default: Invalid value: "string":  in body must be of type integer: "string"'],
    ],
  };
  test.each(Object.entries(table))("%s", (_title, [raw, expected]) => {
    expect(ofField(raw)).toEqual(expected);
  });

  test("with a rule at the root for what has no schema", () => {
    expect(errorsOf({ type: "object", allOf: [{ properties: { a: { minLength: 1 } } }] })).toEqual([
      "schema.properties[a]: Required value: because it is defined in schema.allOf[0].properties[a]",
    ]);
  });

  test("at the root, when a status of its own would be lost", () => {
    expect(errorsOf({ type: "object", oneOf: [{}] }, { statusSubresource: true })).toEqual([
      expect.stringContaining("fields are allowed at the root of the schema if the status subresource is enabled"),
    ]);
    expect(errorsOf({ type: "object", properties: {}, nickname: 1 }, { statusSubresource: true })).toEqual([]);
  });

  test("for keywords of the wrong type, before anything else is looked at", () => {
    expect(ofField({ type: 5, minLength: 1.5, required: [1], properties: { a: "no" }, allOf: ["no"] })).toEqual([
      "schema.properties[x].type: Invalid value: 5: must be a string",
      "schema.properties[x].minLength: Invalid value: 1.5: must be an integer",
      "schema.properties[x].required: Invalid value: [1]: must be an array of strings",
      'schema.properties[x].properties[a]: Invalid value: "no": must be a schema',
      'schema.properties[x].allOf[0]: Invalid value: "no": must be a schema',
    ]);
  });
});

describe("CEL rules", () => {
  test("are looked at when nothing else is wrong", () => {
    const seen: string[] = [];
    // oxlint-disable-next-line require-yield -- the work of one part
    const rules = function* (_schema: StructuralSchema, where: string): Steps<readonly FieldError[]> {
      seen.push(where);
      return [invalid(where, "rule", "is no rule")];
    };
    expect(errorsOf({ type: "object" }, { rules })).toEqual(['schema: Invalid value: "rule": is no rule']);
    expect(errorsOf({ type: "string" }, { rules })).toHaveLength(1);
    expect(seen).toEqual([path]);
  });

  test("hold for defaults that are valid otherwise", () => {
    // oxlint-disable-next-line require-yield -- the work of one step
    const defaultRules: DefaultRuleErrors = function* (_schema, value, where) {
      return [invalid(where, value, "breaks a rule")];
    };
    const raw = {
      type: "object",
      properties: { x: { type: "integer", default: 1 }, y: { type: "integer", default: "a" } },
    };
    expect(errorsOf(raw, { defaultRules })).toEqual([
      "schema.properties[x].default: Invalid value: 1: breaks a rule",
      'schema.properties[y].default: Invalid value: "string":  in body must be of type integer: "string"',
    ]);
  });
});

describe("attacks", () => {
  test("a schema of many faults gives few errors", () => {
    const properties = Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`p${index}`, {}]));
    expect(errorsOf({ type: "object", properties })).toHaveLength(100);
  });

  test("patterns may not be so many that compiling them takes long, however often each is used", () => {
    const fields = (count: number, pattern: (index: number) => string): JsonObject => ({
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`p${index}`, { type: "string", pattern: pattern(index) }]),
      ),
    });
    expect(errorsOf(fields(2000, () => "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))).toEqual([]);
    expect(errorsOf(fields(3, (index) => "x".repeat(30_000) + index))).toEqual([
      expect.stringMatching(/^schema\.properties\[p2\]\.pattern: Invalid value.*must not bring the patterns/),
    ]);
  });

  test("keys of prototypes are names like any other", () => {
    const raw = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}},"required":["toString"]}',
    );
    expect(errorsOf(raw)).toEqual([
      "schema.properties[constructor].type: Required value: must not be empty for specified object fields",
    ]);
  });

  test("whatever is sent is answered, not thrown", () => {
    fc.assert(
      fc.property(fc.oneof(jsonObject, customSchema), fc.boolean(), (raw, statusSubresource) => {
        for (const error of schemaErrors(raw, path, { statusSubresource })) expect(error.path).toMatch(/^schema/);
        schemaErrors({ type: "object", properties: { a: raw }, allOf: [raw], not: raw }, path, { statusSubresource });
      }),
      { numRuns: 150 },
    );
  });
});

test("a large schema is checked in many parts, with what it comes to all the same", () => {
  const properties = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, index) => [`p${index}`, { type: "object", nullable: true, default: {} }]),
  );
  const raw = { type: "object", properties: { spec: { type: "object", properties } } };
  const parts = schemaErrorSteps(raw, path, { statusSubresource: true });
  let count = 0;
  while (parts.next().done !== true) count += 1;
  expect(count).toBeGreaterThan(4 * (20_000 / 1024));
  expect(errorsOf(raw)).toEqual([]);
});
