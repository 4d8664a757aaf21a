import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ruleFieldPath } from "./compile-rules.ts";
import { readStructural } from "./structural-schema.ts";

const text = { type: "string" };
const schema = readStructural({
  type: "object",
  properties: {
    a: {
      type: "object",
      properties: { bbb: { type: "object", properties: { "34": text } }, "bbb.c": text, "foo's": text },
    },
    map: { type: "object", additionalProperties: { type: "object", properties: { id: text } } },
    list: { type: "array", items: { type: "object", properties: { a: text } } },
    "'quoted'": text,
    "white space": text,
    "a-b.34": text,
    constructor: text,
  },
});

describe("ruleFieldPath", () => {
  test.each([
    [".a", "a"],
    [".a.bbb.34", "a.bbb.34"],
    [".a.bbb['34']", "a.bbb.34"],
    [".a['bbb.c']", "a.bbb.c"],
    [".a['foo\\'s']", "a.foo's"],
    [".a.foo's", "a.foo's"],
    ["['\\'quoted\\'']", "'quoted'"],
    [".white space", "white space"],
    ["['white space']", "white space"],
    ["['a-b.34']", "a-b.34"],
    [".map.any.id", "map[any].id"],
    [".map['any']", "map[any]"],
    [".list", "list"],
    [".constructor", "constructor"],
  ])("reads %s as %s", (fieldPath, path) => {
    expect(ruleFieldPath(fieldPath, schema)).toBe(path);
  });

  test.each([
    "",
    ".",
    "a",
    ". a",
    ".c",
    ".a..b",
    ".a.b",
    ".a.bbb[0]",
    ".a.bbb[b",
    ".a['bbb.c'",
    ".a['test\\z']",
    ".list[0]",
    ".list['a']",
    ".list.a",
    ".map.any.other",
    ".toString",
    ".a.bbb.34.more",
  ])("finds nothing at %j", (fieldPath) => {
    expect(ruleFieldPath(fieldPath, schema)).toBeUndefined();
  });

  test("never throws", () => {
    const part = fc.constantFrom(".", "[", "]", "'", "\\", "a", "bbb", "map", "34", " ", "__proto__");
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        expect(() => ruleFieldPath(parts.join(""), schema)).not.toThrow();
      }),
    );
  });
});
