import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyJsonPatch, maxPatchOperations } from "./json-patch.ts";
import { jsonProblem } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";

function codeOf(document: unknown, patch: unknown): string {
  try {
    applyJsonPatch(document, patch);
    return "applied";
  } catch (error) {
    return error instanceof PatchError ? error.code : `not a PatchError: ${String(error)}`;
  }
}

describe("the examples of RFC 6902, appendix A, and more", () => {
  test.each([
    [{ foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { foo: "bar", baz: "qux" }],
    [{ foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
    [{ baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
    [{ foo: ["bar", "qux", "baz"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["bar", "baz"] }],
    [{ baz: "qux" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo" }],
    [{ a: { b: 1 }, c: {} }, [{ op: "move", from: "/a/b", path: "/c/d" }], { a: {}, c: { d: 1 } }],
    [
      { foo: ["all", "grass", "cows", "eat"] },
      [{ op: "move", from: "/foo/1", path: "/foo/3" }],
      { foo: ["all", "cows", "eat", "grass"] },
    ],
    [{ a: 1 }, [{ op: "test", path: "/a", value: 1 }], { a: 1 }],
    [{ a: 1 }, [{ op: "move", from: "/a", path: "/a" }], { a: 1 }],
    [
      { foo: "bar" },
      [{ op: "add", path: "/child", value: { grandchild: {} } }],
      { foo: "bar", child: { grandchild: {} } },
    ],
    [{ a: 1 }, [{ op: "add", path: "/b", value: 2, xyz: 123 }], { a: 1, b: 2 }],
    [
      { "/": 9, "~1": 10 },
      [
        { op: "test", path: "/~01", value: 10 },
        { op: "remove", path: "/~1" },
      ],
      { "~1": 10 },
    ],
    [{ foo: ["bar"] }, [{ op: "add", path: "/foo/-", value: ["abc"] }], { foo: ["bar", ["abc"]] }],
    [{ foo: ["bar"] }, [{ op: "add", path: "/foo/1", value: 1 }], { foo: ["bar", 1] }],
    [{ a: 1 }, [{ op: "add", path: "", value: { b: 2 } }], { b: 2 }],
    [{ a: 1 }, [{ op: "replace", path: "", value: [] }], []],
    [
      { a: { b: 1 } },
      [
        { op: "copy", from: "/a", path: "/c" },
        { op: "add", path: "/c/d", value: 2 },
      ],
      { a: { b: 1 }, c: { b: 1, d: 2 } },
    ],
    [
      { a: { b: 1 } },
      [
        { op: "add", path: "/a/x", value: 1 },
        { op: "copy", from: "/a", path: "/c" },
        { op: "remove", path: "/a/x" },
      ],
      { a: { b: 1 }, c: { b: 1, x: 1 } },
    ],
    [{ "": 1 }, [{ op: "replace", path: "/", value: 2 }], { "": 2 }],
    [{ metadata: {} }, [{ op: "test", path: "/metadata/labels", value: null }], { metadata: {} }],
    [{ a: null }, [{ op: "test", path: "/a", value: null }], { a: null }],
  ])("%j with %j gives %j", (document, patch, result) => {
    expect(applyJsonPatch(document, patch)).toEqual(result);
  });
});

describe("patches that fail", () => {
  test.each([
    [{ baz: "qux" }, [{ op: "test", path: "/baz", value: "bar" }]],
    [{ foo: "bar" }, [{ op: "add", path: "/baz/bat", value: "qux" }]],
    [{ "/": 9 }, [{ op: "test", path: "/~01", value: "10" }]],
    [{}, [{ op: "remove", path: "/a" }]],
    [{}, [{ op: "remove", path: "" }]],
    [{}, [{ op: "replace", path: "/a", value: 1 }]],
    [{}, [{ op: "move", from: "/a", path: "/b" }]],
    [{}, [{ op: "copy", from: "/a", path: "/b" }]],
    [{ a: {} }, [{ op: "move", from: "/a", path: "/a/b" }]],
    [{ a: [1] }, [{ op: "add", path: "/a/2", value: 1 }]],
    [{ a: [1] }, [{ op: "add", path: "/a/-1", value: 1 }]],
    [{ a: [1] }, [{ op: "add", path: "/a/01", value: 1 }]],
    [{ a: [1] }, [{ op: "add", path: "/a/1e0", value: 1 }]],
    [{ a: [1] }, [{ op: "remove", path: "/a/-" }]],
    [{ a: [1] }, [{ op: "replace", path: "/a/length", value: 0 }]],
    [{ a: "text" }, [{ op: "add", path: "/a/0", value: 0 }]],
    [{}, [{ op: "add", path: "/constructor/prototype/x", value: 0 }]],
    [{}, [{ op: "test", path: "/constructor", value: {} }]],
    [{}, [{ op: "test", path: "/a/b", value: null }]],
    [{}, [{ op: "add", path: "a", value: 0 }]],
    [{}, [{ op: "add", path: "/a~2", value: 0 }]],
    [{}, [{ op: "add", path: "/a~", value: 0 }]],
    [{}, [{ op: "add", path: "/a" }]],
    [{}, [{ op: "add", value: 1 }]],
    [{}, [{ op: "bogus", path: "/a", value: 1 }]],
    [{}, [{ path: "/a", value: 1 }]],
    [{}, [{ op: "add", path: "/a".repeat(101), value: 1 }]],
  ])("%j with %j", (document, patch) => {
    const before = JSON.stringify(document);
    expect(codeOf(document, [{ op: "add", path: "/first", value: 1 }, ...patch])).toBe(
      patch.some((operation) => "op" in operation && operation.op === "test") ? "testFailed" : "failed",
    );
    expect(JSON.stringify(document)).toBe(before);
  });

  test.each([[{}], [null], ["[]"], [[1]], [[null]], [[["op"]]]])("%j is malformed", (patch) => {
    expect(codeOf({}, patch)).toBe("malformed");
  });
});

describe("attacks", () => {
  test("__proto__ is refused in pointers and in values", () => {
    expect(codeOf({}, [{ op: "add", path: "/__proto__/polluted", value: 1 }])).toBe("malformed");
    expect(codeOf({}, [{ op: "add", path: "/__proto__", value: 1 }])).toBe("malformed");
    expect(codeOf({ a: 1 }, [{ op: "move", from: "/a", path: "/__proto__" }])).toBe("malformed");
    expect(codeOf({}, JSON.parse('[{"op":"add","path":"/a","value":{"__proto__":{}}}]'))).toBe("malformed");
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("more than ten thousand operations are too large", () => {
    const test = { op: "test", path: "", value: {} };
    expect(
      codeOf(
        {},
        Array.from({ length: maxPatchOperations }, () => test),
      ),
    ).toBe("applied");
    expect(
      codeOf(
        {},
        Array.from({ length: maxPatchOperations + 1 }, () => test),
      ),
    ).toBe("tooLarge");
  });

  test("copies that double each time are stopped", () => {
    const doubling = Array.from({ length: 64 }, () => ({ op: "copy", from: "/a", path: "/a/-" }));
    expect(codeOf({ a: ["x".repeat(1000)] }, doubling)).toBe("tooLarge");
  });

  test("copies of a large value are stopped after fifty thousand values", () => {
    const large = Array.from({ length: 20_000 }, () => 0);
    const copies = (count: number): unknown => {
      const operations = Array.from({ length: count }, (_, index) => ({
        op: "copy",
        from: "/large",
        path: `/c${index}`,
      }));
      return applyJsonPatch({ large }, operations);
    };
    expect(Object.keys(copies(2) as object)).toEqual(["large", "c0", "c1"]);
    expect(() => copies(3)).toThrow(
      expect.objectContaining({
        code: "tooLarge",
        message: "Unable to complete the copy, the patch copies more than 50000 values",
      }),
    );
  });

  test("shifting a huge array over and over is stopped", () => {
    const document = { a: Array.from({ length: 200_000 }, () => 0) };
    const shifting = Array.from({ length: 10_000 }, () => ({ op: "add", path: "/a/0", value: 0 }));
    expect(codeOf(document, shifting)).toBe("tooLarge");
  });

  test("moves that nest deeper and deeper are refused", () => {
    const step = [
      { op: "add", path: "/b", value: {} },
      { op: "move", from: "/a", path: "/b/a" },
      { op: "move", from: "/b", path: "/a" },
    ];
    const patch = Array.from({ length: 3_000 }, () => step).flat();
    expect(codeOf({ a: {} }, patch)).toBe("failed");
  });

  test("ten thousand tests of a huge object against a small one cost little", () => {
    const huge = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, ""]));
    const tests = Array.from({ length: 9_999 }, () => ({ op: "test", path: "/huge/k1", value: "" }));
    expect(codeOf({ huge }, [...tests, { op: "test", path: "/huge", value: {} }])).toBe("testFailed");
  });
});

test("what the patch leaves alone is shared", () => {
  const document = { spec: { a: [1] }, metadata: { labels: { x: "y" } } };
  const result = applyJsonPatch(document, [
    { op: "replace", path: "/metadata/labels/x", value: "z" },
  ]) as typeof document;
  expect(result.spec).toBe(document.spec);
  expect(result.metadata.labels.x).toBe("z");
});

const key = fc.constantFrom("a", "b", "0", "1", "-", "~1", "/", "constructor");
const path = fc
  .array(key, { maxLength: 3 })
  .map((keys) => keys.map((one) => `/${one.replaceAll("~", "~0").replaceAll("/", "~1")}`).join(""));
// Without __proto__, which is refused wherever it stands.
const plain = fc.jsonValue({ maxDepth: 2 }).filter((value) => jsonProblem(value) === undefined);
const document = fc.dictionary(key, plain);

test("any patch applies or is refused with a PatchError, and changes neither argument", () => {
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
    path,
    from: path,
    value: fc.jsonValue({ maxDepth: 2 }),
  });
  fc.assert(
    fc.property(document, fc.array(operation, { maxLength: 8 }), (target, patch) => {
      const before = JSON.stringify([target, patch]);
      expect(["applied", "failed", "testFailed", "malformed"]).toContain(codeOf(target, patch));
      expect(JSON.stringify([target, patch])).toBe(before);
    }),
  );
});

test("adding and then removing a new member gives the document back", () => {
  fc.assert(
    fc.property(document, plain, (target, value) => {
      const added = applyJsonPatch(target, [{ op: "add", path: "/new", value }]);
      expect(added).toEqual({ ...target, new: value });
      expect(applyJsonPatch(added, [{ op: "remove", path: "/new" }])).toEqual(target);
    }),
  );
});
