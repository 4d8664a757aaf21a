import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { loadYaml, loadYamlDocuments, readYaml, YamlError } from "./bounded-yaml.ts";

const limit = 262_144;

describe("loadYaml", () => {
  it("keeps numbers as text and knows true, false and null", () => {
    const text = 'token: 123456.0123456789012345\non: yes\nt: true\nf: false\nn:\nm: null\nq: "null"\nl: [1, {a: b}]\n';
    expect(loadYaml(text, { maxCharacters: limit })).toEqual({
      token: "123456.0123456789012345",
      on: "yes",
      t: true,
      f: false,
      n: null,
      m: null,
      q: "null",
      l: ["1", { a: "b" }],
    });
  });

  it("reads JSON", () =>
    expect(loadYaml('{"a": {"b": ["c", null, true]}}', { maxCharacters: limit })).toEqual({
      a: { b: ["c", null, true] },
    }));

  it("keeps __proto__ as a key like any other", () => {
    const value = loadYaml("__proto__: {polluted: yes}\n", { maxCharacters: limit });
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect(Reflect.get(Object.prototype, "polluted")).toBeUndefined();
  });

  it.each([
    ["an alias", "a: &x 1\nb: *x\n"],
    ["a duplicate key", "a: 1\na: 2\n"],
    ["a duplicate key in another spelling", 'a: 1\n"a": 2\n'],
    ["a key that is a list", "? [a]\n: b\n"],
    ["two documents", "a: 1\n---\nb: 2\n"],
    ["nothing", ""],
    ["an unterminated quote", 'a: "b\n'],
    ["a tab for indentation", "a:\n\tb: c\n"],
    ["more than the limit", "a".repeat(limit + 1)],
  ])("refuses %s", (_name, text) => expect(() => loadYaml(text, { maxCharacters: limit })).toThrow(YamlError));

  it.each(["[", "{a: ", "- ", "? ", ": ", "{["])("refuses nesting without end: %j", (unit) => {
    expect(() => loadYaml(unit.repeat(60_000), { maxCharacters: limit })).toThrow(/nested more than 64 deep/);
  });

  it("refuses nesting without end by indentation", () => {
    const text = Array.from({ length: 500 }, (_, at) => `${" ".repeat(at)}a:\n`).join("");
    expect(() => loadYaml(text, { maxCharacters: limit })).toThrow(/nested more than 64 deep/);
  });

  it("names the line of an error and quotes nothing of the text", () => {
    expect(() => loadYaml("a: b\ntoken: 'SECRET\n", { maxCharacters: limit })).toThrow(/^not valid YAML at line [23]$/);
  });

  it("throws YamlError or returns, for any text", () => {
    const yamlish = fc.string({
      unit: fc.constantFrom(...Array.from("ab:-?,[]{}&*!|>%@'\"# \n\t\\0~")),
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.oneof(yamlish, fc.string({ unit: "binary" })), (text) => {
        expect([YamlError, undefined]).toContain(failureOf(text));
      }),
      { numRuns: 200 },
    );
  });

  it("reads back what the library writes", () => {
    const leaf = fc.oneof(fc.string(), fc.boolean(), fc.constant(null));
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie("node")),
        fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tie("node")),
      ),
    })).node;
    fc.assert(
      fc.property(tree, (value) => {
        expect(loadYaml(stringify(value), { maxCharacters: limit })).toEqual(value);
      }),
    );
  });
});

describe("loadYamlDocuments", () => {
  const read = (text: string): unknown => loadYamlDocuments(text, { maxCharacters: 100, numbers: "number" });

  it("reads documents in order, empty ones as null, and JSON as it is", () => {
    expect(read("a: 1\n---\n---\n- b\n")).toEqual([{ a: 1 }, null, ["b"]]);
    expect(read('{"a": "b"}')).toEqual([{ a: "b" }]);
    expect(read("")).toEqual([]);
  });

  it("refuses what one document may not hold, in any of them, and names the line", () => {
    expect(() => read("a: 1\n---\nb: &x 1\nc: *x\n")).toThrow(YamlError);
    expect(() => read("a: 1\n---\nb: 'c\n")).toThrow(/^not valid YAML at line [34]$/);
    expect(() => read("a".repeat(101))).toThrow("larger than 100 characters");
  });
});

function failureOf(text: string): unknown {
  try {
    loadYaml(text, { maxCharacters: limit });
    return undefined;
  } catch (error) {
    return error instanceof YamlError ? YamlError : error;
  }
}

describe("readYaml", () => {
  // The lines are those that kube-apiserver 1.36.3 names.
  it.each([
    ["a: 1\na: 2\na: 3\n", { a: "3" }, ["2 a", "3 a"]],
    ["m:\n  a: 1\nm:\n  b: 2\n", { m: { b: "2" } }, ["4 m"]],
    ["m:\n  a: b\nm:\n  a: b\n  a: c\n", { m: { a: "c" } }, ["5 a", "4 m"]],
    ["a: 1\na: |\n  x\n  y\na:\n\n  plain\n", { a: "plain" }, ["2 a", "7 a"]],
    ["a: {}\na:\n", { a: null }, ["2 a"]],
    ["{a: 1,\n a: 2}", { a: "2" }, ["2 a"]],
    ['{"a": {"b": 1,\n"b": 2}}', { a: { b: "2" } }, ["2 b"]],
    ["? a\n: 1\n? a\n: 2\n", { a: "2" }, ["4 a"]],
    ["a: [x]\na:\n- y\n", { a: ["y"] }, ["3 a"]],
    ["l:\n- a: 1\n  a: 2\n", { l: [{ a: "2" }] }, ["3 a"]],
    ["# c\n---\na: 1\n# c\na: 2\n", { a: "2" }, ["5 a"]],
    ["a: 1\n\n\na:    # c\n  2\n", { a: "2" }, ["5 a"]],
    ['a: 1\n"a": 2\n', { a: "2" }, ["2 a"]],
    ["a: 1\nb: 2\n", { a: "1", b: "2" }, []],
  ])("takes the last value of a key in %j, and names the line of each later one", (text, value, found) => {
    const { duplicates, ...read } = readYaml(text, { maxCharacters: limit });
    expect(read).toEqual({ value });
    expect(duplicates.map(({ line, key }) => `${line} ${key}`)).toEqual(found);
  });

  it("names a hundred keys at most, and the beginning of a long one", () => {
    const many = readYaml("a: 1\n".repeat(1_000), { maxCharacters: limit });
    expect(many.duplicates).toHaveLength(100);
    const key = "k".repeat(3_000);
    const [one] = readYaml(`{${key}: 1, ${key}: 2}`, { maxCharacters: limit }).duplicates;
    expect(one).toEqual({ line: 1, key: `${"k".repeat(1024)}…` });
  });
});
