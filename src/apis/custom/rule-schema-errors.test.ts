import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { finish } from "../../apimachinery/steps.ts";
import { ruleSchemaErrors } from "./rule-schema-errors.ts";
import { readStructural } from "./structural-schema.ts";

const text = { type: "string" };
const integer = { type: "integer" };

function shown(schema: JsonObject): readonly string[] {
  return finish(ruleSchemaErrors(readStructural(schema), "schema")).map(({ path, message }) => `${path}: ${message}`);
}

function ruled(schema: JsonObject, ...rules: readonly JsonObject[]): JsonObject {
  return { ...schema, "x-kubernetes-validations": rules };
}

/** A resource with these properties in its spec, and a rule over that. */
function spec(properties: JsonObject, rule: string): JsonObject {
  return { type: "object", properties: { spec: ruled({ type: "object", properties }, { rule }) } };
}

const at = "schema.properties[spec].x-kubernetes-validations[0]";

describe("rules of a schema", () => {
  test("that are all wrong are told of a hundred times", () => {
    const wrong = Array.from({ length: 1_000 }, () => ({ rule: "self.nope" }));
    expect(shown({ type: "object", properties: { spec: ruled({ type: "object" }, ...wrong) } })).toHaveLength(100);
    const blank = Array.from({ length: 1_000 }, () => ({ rule: "" }));
    expect(shown({ type: "object", properties: { spec: ruled({ type: "object" }, ...blank) } })).toHaveLength(100);
  });

  test("that are right have no errors", () => {
    const schema = spec(
      { min: integer, max: integer, name: text },
      "self.min <= self.max && self.name.startsWith('a')",
    );
    expect(shown(schema)).toEqual([]);
  });

  test.each([
    [{ rule: " " }, "rule: Required value: rule is not specified"],
    [{ rule: "true", message: " " }, `message: Invalid value: " ": must be non-empty if specified`],
    [{ rule: "true", message: "a\nb" }, `message: Invalid value: "a\\nb": must not contain line breaks`],
    [{ rule: "true ||\ntrue" }, "message: Required value: message must be specified if rule contains line breaks"],
    [
      { rule: "true", messageExpression: " " },
      "messageExpression: Required value: messageExpression must be non-empty if specified",
    ],
    [
      { rule: "true", reason: "Bad" },
      `reason: Unsupported value: "Bad": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
    [{ rule: "true", fieldPath: ".nope" }, `fieldPath: Invalid value: ".nope": must be a valid path`],
    [{ rule: "true", fieldPath: "a" }, `fieldPath: Invalid value: "a": must be a valid path`],
    [{ rule: "true", fieldPath: ".list[0]" }, `fieldPath: Invalid value: ".list[0]": must be a valid path`],
    [
      { rule: "true", optionalOldSelf: true },
      "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule",
    ],
  ])("with %j are refused", (rule, error) => {
    const properties = { a: text, list: { type: "array", items: text } };
    const schema = { type: "object", properties: { spec: ruled({ type: "object", properties }, rule) } };
    expect(shown(schema)).toEqual([`${at}.${error}`]);
  });

  test.each([".a", ".map['x.y']", ".map.k", "['a']", ".nested.b"])("may name the field %s", (fieldPath) => {
    const properties = {
      a: text,
      map: { type: "object", additionalProperties: text },
      nested: { type: "object", properties: { b: text } },
    };
    const schema = {
      type: "object",
      properties: { spec: ruled({ type: "object", properties }, { rule: "true", fieldPath }) },
    };
    expect(shown(schema)).toEqual([]);
  });

  test("that do not compile are shown with the place", () => {
    const shownRule = (rule: string): string =>
      `{"Rule":${JSON.stringify(rule)},"Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;
    expect(shown(spec({ a: text }, "self.b == 1"))).toEqual([
      `${at}.rule: Invalid value: ${shownRule("self.b == 1")}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n | self.b == 1\n | ....^`,
    ]);
    expect(shown(spec({ a: text }, "self.a"))).toEqual([
      `${at}.rule: Invalid value: ${shownRule("self.a")}: cel expression must evaluate to a bool`,
    ]);
    expect(shown(spec({ a: text }, "self.a =="))[0]).toContain("compilation failed: ERROR: <input>:1:10: Syntax error");
    const message = ruled(
      { type: "object", properties: { a: integer } },
      { rule: "true", messageExpression: "self.a" },
    );
    expect(shown({ type: "object", properties: { spec: message } })[0]).toContain(
      "messageExpression must evaluate to a string",
    );
  });

  test("see only what is declared, and of metadata only names", () => {
    const rules = (rule: string): readonly string[] =>
      shown(
        ruled({ type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { spec: text } }, { rule }),
      );
    expect(rules("self.metadata.name == self.metadata.generateName && self.kind == self.apiVersion")).toEqual([]);
    expect(rules("self.metadata.labels.size() == 0")[0]).toContain("undefined field 'labels'");
    expect(rules("has(self.other)")[0]).toContain("undefined field 'other'");
  });

  test("may name oldSelf only where values of before and after are matched", () => {
    const rule = { rule: "self == oldSelf" };
    const list = (extra: JsonObject): JsonObject => ({
      type: "object",
      properties: { list: { type: "array", maxItems: 5, ...extra } },
    });
    const element = { type: "object", required: ["id"], properties: { id: { ...text, maxLength: 5 } } };
    const map = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"] };
    expect(shown(list({ items: ruled(element, rule), ...map }))).toEqual([]);
    expect(shown(list({ items: ruled({ ...text, maxLength: 5 }, rule) }))).toEqual([
      `schema.properties[list].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[list]`,
    ]);
    const optional = { rule: "oldSelf.hasValue() || self == ''", optionalOldSelf: true };
    expect(shown({ type: "object", properties: { a: ruled({ ...text, maxLength: 5 }, optional) } })).toEqual([]);
  });
});

describe("costs", () => {
  const advice =
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

  test("of nested walks over unbounded lists are refused", () => {
    const schema = spec({ list: { type: "array", items: text } }, "self.list.all(x, self.list.all(y, x == y))");
    expect(shown(schema)).toEqual([
      `${at}.rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
      `${at}.rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema`,
      `schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
    ]);
  });

  test("are counted for each value that a rule may meet", () => {
    const element = ruled({ ...text, maxLength: 100 }, { rule: "self.matches('^[a-z]{1,10}$')" });
    const within = (bounds: JsonObject): JsonObject => ({
      type: "object",
      properties: { list: { type: "array", ...bounds, items: element } },
    });
    expect(shown(within({ maxItems: 100 }))).toEqual([]);
    expect(shown(within({}))[0]).toContain("estimated rule cost exceeds budget by factor of");
    expect(shown(within({ maxItems: 100_000 }))[0]).toContain("estimated rule cost exceeds budget by factor of");
  });

  test("that are bounded by the schema are let pass", () => {
    const element = { ...text, maxLength: 10 };
    const rule = "self.list.all(x, self.list.exists_one(y, x == y))";
    expect(shown(spec({ list: { type: "array", items: element, maxItems: 100 } }, rule))).toEqual([]);
    expect(shown(spec({ list: { type: "array", items: element, maxItems: 10_000 } }, rule))[0]).toContain("Forbidden");
  });

  test("of many rules add up", () => {
    const costly = { rule: "self.list.all(x, self.list.all(y, x == y))" };
    const list = { type: "array", items: { ...text, maxLength: 10 }, maxItems: 1_000 };
    const many = ruled({ type: "object", properties: { list } }, ...Array.from({ length: 20 }, () => costly));
    const errors = shown({ type: "object", properties: { spec: many } });
    expect(errors).toHaveLength(5);
    expect(errors.at(-1)).toMatch(/^schema: Forbidden: .* exceeds budget by factor of \d\.\d+x /);
  });

  test("of a text are those of its enumeration, where there is one", () => {
    const rule = "self.a.contains(self.a) && self.a.matches(self.a)";
    expect(shown(spec({ a: { ...text, enum: ["x", "yy"] } }, rule))).toEqual([]);
    expect(shown(spec({ a: text }, rule))[0]).toContain("more than 100x");
  });

  test("of rules of a common kind are within the budget without any bounds", () => {
    const properties = {
      name: text,
      count: integer,
      port: { "x-kubernetes-int-or-string": true },
      tags: { type: "array", items: text },
      labels: { type: "object", additionalProperties: text },
    };
    for (const rule of [
      "self.name.startsWith('a')",
      "self.name.matches('^[a-z]+$')",
      "self.tags.all(x, x.size() < 10)",
      "self.labels.all(k, k.size() < 64)",
      "has(self.count) && self.count > 3",
      "type(self.port) == int ? self.port > 0 : self.port.matches('^[0-9]+%$')",
      "self.tags.size() < 3 || 'x' in self.tags",
    ]) {
      expect([rule, ...shown(spec(properties, rule))]).toEqual([rule]);
    }
  });
});

describe("how many rules a schema may have", () => {
  const ruled = (count: number, rule: string): JsonObject => ({
    type: "object",
    properties: {
      a: { ...text, maxLength: 10, "x-kubernetes-validations": Array.from({ length: count }, () => ({ rule })) },
    },
  });
  const tooMany = (rules: number, characters: number): string =>
    `schema: Forbidden: the definition has ${rules} rules of x-kubernetes-validations with ${characters} characters in all, and may have 2000 with 262144; combine rules, or move them into an admission policy`;

  test("is bounded, before any is compiled", () => {
    expect(shown(ruled(2_001, "no CEL"))).toEqual([tooMany(2_001, 12_006)]);
    expect(shown(ruled(2_000, "true"))).toEqual([]);
  });

  test("is bounded by their characters, too", () => {
    const rule = `self != '${"a".repeat(9_990)}'`;
    expect(shown(ruled(27, rule))).toEqual([tooMany(27, 270_000)]);
  });
});
