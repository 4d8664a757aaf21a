import { describe, expect, test } from "vitest";
import type { FieldError } from "../../apimachinery/field-error.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { finish } from "../../apimachinery/steps.ts";
import { readStructural } from "./structural-schema.ts";
import { ruleSet } from "./validation-rules.ts";

const text = { type: "string" };
const integer = { type: "integer" };

interface Case {
  readonly schema: JsonObject;
  readonly value: unknown;
  readonly stored?: unknown;
}

function errors({ schema, value, stored }: Case): readonly FieldError[] {
  const rules = ruleSet(readStructural(schema), { isResource: true });
  if (rules === undefined) return [];
  return finish(rules.errors(value, { ...(stored === undefined ? {} : { stored }), path: "" }));
}

function shown(given: Case): readonly string[] {
  return errors(given).map(({ path, message }) => `${path}: ${message}`);
}

/** A resource whose spec has these properties and rules. */
function spec(properties: JsonObject, ...rules: readonly (string | JsonObject)[]): JsonObject {
  const validations = rules.map((rule) => (typeof rule === "string" ? { rule } : rule));
  return {
    type: "object",
    properties: { spec: { type: "object", properties, "x-kubernetes-validations": validations } },
  };
}

describe("a rule", () => {
  const replicas = { min: integer, max: integer };

  test("holds or fails at the place of its value", () => {
    const schema = spec(replicas, "self.min <= self.max");
    expect(shown({ schema, value: { spec: { min: 1, max: 2 } } })).toEqual([]);
    expect(shown({ schema, value: { spec: { min: 3, max: 2 } } })).toEqual([
      "spec: Invalid value: failed rule: self.min <= self.max",
    ]);
  });

  test("is worded by its message, and its message expression before that", () => {
    const rule = { rule: "self.min <= self.max", message: " too much " };
    const messageExpression = "'min ' + string(self.min) + ' is above max ' + string(self.max)";
    const value = { spec: { min: 3, max: 2 } };
    expect(shown({ schema: spec(replicas, rule), value })).toEqual(["spec: Invalid value: too much"]);
    expect(shown({ schema: spec(replicas, { ...rule, messageExpression }), value })).toEqual([
      "spec: Invalid value: min 3 is above max 2",
    ]);
  });

  test.each(["string(self.min) + '\\n'  + 'b'", "''", "string(1 / 0)"])(
    "falls back to its message when %s says nothing of use",
    (messageExpression) => {
      const rule = { rule: "false", message: "plain", messageExpression };
      expect(shown({ schema: spec(replicas, rule), value: { spec: { min: 1 } } })).toEqual([
        "spec: Invalid value: plain",
      ]);
    },
  );

  test.each([
    ["FieldValueForbidden", "Forbidden: no"],
    ["FieldValueRequired", "Required value: no"],
    ["FieldValueInvalid", "Invalid value: no"],
    ["FieldValueDuplicate", "Duplicate value"],
  ])("has the reason %s", (reason, message) => {
    const rule = { rule: "false", message: "no", reason, fieldPath: ".min" };
    expect(errors({ schema: spec(replicas, rule), value: { spec: {} } })).toEqual([
      { path: "spec.min", type: reason, message },
    ]);
  });

  test("on a scalar shows the value", () => {
    const schema = spec({ name: { ...text, "x-kubernetes-validations": [{ rule: "self.startsWith('a')" }] } });
    expect(shown({ schema, value: { spec: { name: "b" } } })).toEqual([
      `spec.name: Invalid value: "b": failed rule: self.startsWith('a')`,
    ]);
  });

  test("on elements, values of maps and branches of allOf names the one that fails", () => {
    const ruled = { ...integer, "x-kubernetes-validations": [{ rule: "self > 0" }] };
    const schema = spec({
      list: { type: "array", items: ruled },
      map: { type: "object", additionalProperties: ruled },
      both: { ...integer, allOf: [{ "x-kubernetes-validations": [{ rule: "self > 1" }] }] },
    });
    expect(shown({ schema, value: { spec: { list: [1, 0], map: { a: 1, "b/c": -1 }, both: 1 } } })).toEqual([
      "spec.list[1]: Invalid value: 0: failed rule: self > 0",
      "spec.map[b/c]: Invalid value: -1: failed rule: self > 0",
      "spec.both: Invalid value: 1: failed rule: self > 1",
    ]);
  });

  test("at the root sees what the object is and its name", () => {
    const rule = "self.metadata.name == 'a' && self.kind == 'B' && self.apiVersion == 'g/v1'";
    const schema = { type: "object", "x-kubernetes-validations": [{ rule }] };
    expect(shown({ schema, value: { apiVersion: "g/v1", kind: "B", metadata: { name: "a" } } })).toEqual([]);
    expect(shown({ schema, value: { apiVersion: "g/v1", kind: "B", metadata: { name: "b" } } })).toEqual([
      `<nil>: Invalid value: failed rule: ${rule}`,
    ]);
  });

  test("sees integers, numbers, times, octets and escaped names by the schema", () => {
    const properties = {
      count: integer,
      ratio: { type: "number" },
      at: { type: "string", format: "date-time" },
      wait: { type: "string", format: "duration" },
      raw: { type: "string", format: "byte" },
      "a-b.c/d": text,
      namespace: text,
      port: { "x-kubernetes-int-or-string": true },
    };
    const value = {
      spec: {
        count: 3,
        ratio: 3,
        at: "2026-01-01T00:00:00Z",
        wait: "1h",
        raw: "aGk=",
        "a-b.c/d": "x",
        namespace: "y",
        port: "80%",
      },
    };
    for (const rule of [
      "self.count / 2 == 1",
      "self.ratio / 2.0 == 1.5",
      "self.at.getFullYear() == 2026",
      "self.wait > duration('59m')",
      "self.raw == b'hi'",
      "self.a__dash__b__dot__c__slash__d == 'x'",
      "self.__namespace__ == 'y'",
      "type(self.port) == string && self.port.endsWith('%')",
    ]) {
      expect([rule, ...shown({ schema: spec(properties, rule), value })]).toEqual([rule]);
    }
  });

  test("that cannot be evaluated says why", () => {
    const map = { labels: { type: "object", additionalProperties: text } };
    expect(shown({ schema: spec(map, "self.labels['a'] == 'b'"), value: { spec: { labels: {} } } })).toEqual([
      `spec: Invalid value: "object": no such key: a evaluating rule: self.labels['a'] == 'b'`,
    ]);
    const port = { port: { "x-kubernetes-int-or-string": true } };
    expect(shown({ schema: spec(port, "self.port < 5"), value: { spec: { port: "x" } } })).toEqual([
      `spec: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.port < 5`,
    ]);
  });

  test("takes lists of type set and map as what they are", () => {
    const element = { type: "object", properties: { id: text, value: integer } };
    const map = {
      type: "array",
      items: element,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["id"],
    };
    const set = { type: "array", items: text, "x-kubernetes-list-type": "set" };
    const [one, two, other] = [
      { id: "1", value: 1 },
      { id: "2", value: 2 },
      { id: "1", value: 3 },
    ];
    const value = {
      spec: {
        sets: [
          ["x", "y"],
          ["y", "x"],
          ["y", "z"],
        ],
        maps: [[one, two], [two, one], [other]],
      },
    };
    for (const rule of [
      "self.sets[0] == self.sets[1] && self.sets[0] != self.sets[2]",
      "self.sets[0] + self.sets[2] == ['x', 'y', 'z'] && (self.sets[0] + self.sets[2]).size() == 3",
      "self.maps[0] == self.maps[1] && self.maps[0] != self.maps[2]",
      "(self.maps[0] + self.maps[2]).size() == 2 && (self.maps[0] + self.maps[2])[0].value == 3",
    ]) {
      const properties = { sets: { type: "array", items: set }, maps: { type: "array", items: map } };
      expect([rule, ...shown({ schema: spec(properties, rule), value })]).toEqual([rule]);
    }
  });

  test("takes fields that are null for absent, and dates for the times at which they begin", () => {
    const properties = { a: { ...text, nullable: true }, on: { type: "string", format: "date" }, if: text };
    const value = { spec: { a: null, on: "2026-11-21", if: "x" } };
    for (const rule of ["!has(self.a)", "self.on == timestamp('2026-11-21T00:00:00Z')", "self.if == self.__if__"]) {
      expect([rule, ...shown({ schema: spec(properties, rule), value })]).toEqual([rule]);
    }
  });

  test("does not apply to null and absent values", () => {
    const ruled = { type: "string", nullable: true, "x-kubernetes-validations": [{ rule: "false" }] };
    expect(shown({ schema: spec({ a: ruled, b: ruled }), value: { spec: { a: null } } })).toEqual([]);
  });
});

describe("a transition rule", () => {
  const immutable = { ...text, "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "fixed" }] };

  test("applies only where there was a value", () => {
    const schema = spec({ name: immutable });
    expect(shown({ schema, value: { spec: { name: "a" } } })).toEqual([]);
    expect(shown({ schema, value: { spec: { name: "a" } }, stored: { spec: {} } })).toEqual([]);
    expect(shown({ schema, value: { spec: { name: "a" } }, stored: { spec: { name: "a" } } })).toEqual([]);
    expect(shown({ schema, value: { spec: { name: "b" } }, stored: { spec: { name: "a" } } })).toEqual([
      `spec.name: Invalid value: "b": fixed`,
    ]);
  });

  test("finds what was before by property, key of a map and keys of a list", () => {
    const element = { type: "object", properties: { id: text, kind: text, name: immutable } };
    const schema = spec({
      list: {
        type: "array",
        items: element,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id", "kind"],
      },
      map: { type: "object", additionalProperties: immutable },
    });
    const stored = {
      spec: {
        list: [
          { id: "1", kind: "x", name: "a" },
          { id: "2", kind: "x", name: "b" },
        ],
        map: { k: "a" },
      },
    };
    const value = {
      spec: {
        list: [
          { id: "2", kind: "x", name: "b" },
          { id: "1", kind: "x", name: "c" },
          { id: "1", kind: "y", name: "d" },
        ],
        map: { k: "b", l: "c" },
      },
    };
    expect(shown({ schema, value, stored })).toEqual([
      `spec.list[1].name: Invalid value: "c": fixed`,
      `spec.map[k]: Invalid value: "b": fixed`,
    ]);
  });

  test("with optionalOldSelf applies always", () => {
    const rule = {
      rule: "oldSelf.hasValue() ? self >= oldSelf.value() : self == 1",
      optionalOldSelf: true,
      message: "no",
    };
    const schema = spec({ count: { ...integer, "x-kubernetes-validations": [rule] } });
    expect(shown({ schema, value: { spec: { count: 1 } } })).toEqual([]);
    expect(shown({ schema, value: { spec: { count: 2 } } })).toEqual(["spec.count: Invalid value: 2: no"]);
    expect(shown({ schema, value: { spec: { count: 2 } }, stored: { spec: { count: 1 } } })).toEqual([]);
    expect(shown({ schema, value: { spec: { count: 1 } }, stored: { spec: { count: 2 } } })).toEqual([
      "spec.count: Invalid value: 1: no",
    ]);
  });
});

describe("ratcheting", () => {
  const ruled = { ...integer, "x-kubernetes-validations": [{ rule: "self > 0", message: "not positive" }] };

  test("lets pass a value that has not changed, and no other", () => {
    const schema = spec({ a: ruled, b: ruled, c: text });
    const stored = { spec: { a: 0, b: 1, c: "x" } };
    expect(shown({ schema, value: { spec: { a: 0, b: 1, c: "y" } }, stored })).toEqual([]);
    expect(shown({ schema, value: { spec: { a: -1, b: 0, c: "x" } }, stored })).toEqual([
      "spec.a: Invalid value: -1: not positive",
      "spec.b: Invalid value: 0: not positive",
    ]);
    expect(shown({ schema, value: stored })).toEqual(["spec.a: Invalid value: 0: not positive"]);
  });

  test("lets pass elements of a list without keys only when all of the list is as it was", () => {
    const schema = spec({ list: { type: "array", items: ruled } });
    const stored = { spec: { list: [0, 1] } };
    expect(shown({ schema, value: { spec: { list: [0, 1] }, extra: 1 }, stored })).toEqual([]);
    expect(shown({ schema, value: { spec: { list: [0, 1, 2] } }, stored })).toEqual([
      "spec.list[0]: Invalid value: 0: not positive",
    ]);
  });

  test("excuses no transition rule", () => {
    const schema = spec({
      a: { ...integer, "x-kubernetes-validations": [{ rule: "self > oldSelf", message: "must grow" }] },
    });
    expect(shown({ schema, value: { spec: { a: 1 } }, stored: { spec: { a: 1 } } })).toEqual([
      "spec.a: Invalid value: 1: must grow",
    ]);
  });
});

describe("costs", () => {
  test("of one call beyond its limit end the evaluation of all rules", () => {
    const list = { list: { type: "array", items: integer } };
    const schema = spec(list, "self.list.all(x, self.list.all(y, x + y >= 0))", "false");
    const value = { spec: { list: Array.from({ length: 2_000 }, (_, index) => index) } };
    expect(shown({ schema, value })).toEqual([
      `spec: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: self.list.all(x, self.list.all(y, x + y >= 0))`,
    ]);
  });

  test("of an object beyond its budget are one error", () => {
    const ruled = { type: "array", items: integer, "x-kubernetes-validations": [{ rule: "self.all(x, x >= 0)" }] };
    const schema = spec({ lists: { type: "array", items: ruled } });
    const numbers = Array.from({ length: 50_000 }, () => 1);
    const value = { spec: { lists: Array.from({ length: 100 }, () => numbers) } };
    expect(shown({ schema, value })).toEqual([
      expect.stringMatching(
        /^spec\.lists\[\d+\]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run$/,
      ),
    ]);
  });
});

describe("hostile objects", () => {
  test("have keys that are nothing but keys", () => {
    const map = { labels: { type: "object", additionalProperties: text } };
    const schema = spec(map, "self.labels.all(k, self.labels[k] == 'x')", "!has(self.labels.constructor)");
    const labels: unknown = JSON.parse('{"toString":"x","hasOwnProperty":"x","valueOf":"x"}');
    expect(shown({ schema, value: { spec: { labels } } })).toEqual([]);
    const rule = "!('constructor' in self.labels) && !('__proto__' in self.labels) && self.labels == {'toString': 'x'}";
    expect(shown({ schema: spec(map, rule), value: { spec: { labels: { toString: "x" } } } })).toEqual([]);
  });

  test("with many failing elements are told of a hundred", () => {
    const schema = spec({
      list: { type: "array", items: { ...integer, "x-kubernetes-validations": [{ rule: "self > 0" }] } },
    });
    expect(errors({ schema, value: { spec: { list: Array.from({ length: 10_000 }, () => 0) } } })).toHaveLength(100);
  });

  test("with long values are not told of so often that the reply is many times as long", () => {
    const rules = Array.from({ length: 90 }, (_, index) => ({ rule: `self == '${index}'` }));
    const schema = spec({ name: { ...text, "x-kubernetes-validations": rules } });
    const given = errors({ schema, value: { spec: { name: "x".repeat(400_000) } } });
    expect(given).toHaveLength(3);
  });

  test("of another shape than the schema are no danger", () => {
    const schema = spec(
      { list: { type: "array", items: { ...integer, "x-kubernetes-validations": [{ rule: "self > 0" }] } } },
      "self.list.size() > 0",
    );
    for (const value of [null, "x", [], { spec: 1 }, { spec: { list: "x" } }, { spec: { list: [null, {}] } }]) {
      expect(() => errors({ schema, value, stored: value })).not.toThrow();
    }
  });
});
