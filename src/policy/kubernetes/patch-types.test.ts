import { describe, expect, test } from "vitest";
import { celToJson } from "../cel/convert.ts";
import { compileKubernetesCel } from "./compile-kubernetes-cel.ts";
import { patchEnvironment } from "./patch-types.ts";

function evaluated(source: string): unknown {
  const outcome = compileKubernetesCel(source, {}, patchEnvironment).evaluate({}, { budget: 10_000 });
  return "value" in outcome ? celToJson(outcome.value) : outcome.error;
}

// The cases of apiserver pkg/cel/mutation typeresolver_test.go, and those of json_patch_test.go that need no object.
describe("an expression that makes a patch", () => {
  test.each([
    ["Object{}", {}],
    ["Object{spec: Object.spec{replicas: 3}}", { spec: { replicas: 3 } }],
    [
      "Object{spec: Object.spec{containers: [Object.spec.containers.item{name: 'n', args: ['-g']}]}}",
      { spec: { containers: [{ name: "n", args: ["-g"] }] } },
    ],
    ["Object{annotations: {'foo': 'bar'}}", { annotations: { foo: "bar" } }],
    ["Object{intList: [1, 2, 3]}.intList.sum()", 6],
    ["Object{?existing: optional.none()}", {}],
    ["Object{?spec: optional.of(1)}", { spec: 1 }],
    ["Object{?spec: optional.ofNonZeroValue(Object.spec{?replicas: Object{}.?replicas})}", {}],
    [
      "true ? JSONPatch{op: 'add', path: '/a', value: 3} : JSONPatch{op: 'remove', path: '/a'}",
      { op: "add", path: "/a", value: 3 },
    ],
    ["JSONPatch{op: 'invalid', value: Object.spec{a: 1}}", { op: "invalid", value: { a: 1 } }],
    ["JSONPatch{op: 'opValue'}.op + string(JSONPatch{value: 'v'}.value)", "opValuev"],
    ["[has(JSONPatch{op: 'x'}.op), has(JSONPatch{}.op), has(JSONPatch{}.value)]", [true, false, false]],
    ["'/metadata/labels/' + jsonpatch.escapeKey('k8s.io/x~y')", "/metadata/labels/k8s.io~1x~0y"],
  ])("%s is made", (source, value) => {
    expect(evaluated(source)).toEqual(value);
  });

  test.each([
    ["Object{spec: Object.spec{replicas: 3}} == Object{spec: Object.spec{replicas: 1 + 2}}", true],
    ["JSONPatch{} == JSONPatch{}", true],
    ["JSONPatch{op: 'add', value: 1} == JSONPatch{op: 'add', value: '1'}", false],
    ["dyn(Object{a: 1}) == dyn(Object.b{a: 1})", false],
    ["dyn(Object{a: 1}) == dyn({'a': 1})", false],
  ])("%s is %s, since types count as well as fields", (source, value) => {
    expect(evaluated(source)).toBe(value);
  });

  test.each([
    ["Invalid{}", "1:8: undeclared reference to 'Invalid' (in container '')"],
    ["Objects{}", "undeclared reference to 'Objects'"],
    ["JSONPatch{op: 'add', value: Invalid{}}", "undeclared reference to 'Invalid'"],
    ["JSONPatch{op: 1}", "1:13: expected type of field 'op' is 'string' but provided type is 'int'"],
    ["JSONPatch{from: ['a']}", "expected type of field 'from' is 'string' but provided type is 'list(string)'"],
    ["JSONPatch{nothing: 1}", "undefined field 'nothing'"],
    ["JSONPatch{}.nothing", "undefined field 'nothing'"],
    ["[Object{}, JSONPatch{}]", "expected type 'Object' but found 'JSONPatch'"],
  ])("%s does not compile", (source, message) => {
    expect(() => evaluated(source)).toThrow(message);
  });

  test("costs 40 for each object that it makes", () => {
    const { evaluate } = compileKubernetesCel("Object{spec: Object.spec{}}", {}, patchEnvironment);
    expect(evaluate({}, { budget: 100 })).toMatchObject({ cost: 80 });
    expect(evaluate({}, { budget: 79 })).toEqual({
      error: expect.stringContaining("cost limit"),
      cost: expect.any(Number),
    });
  });
});

test("other expressions know no types of patches", () => {
  expect(() => compileKubernetesCel("Object{}", {})).toThrow("undeclared reference to 'Object'");
  expect(() => compileKubernetesCel("jsonpatch.escapeKey('a')", {})).toThrow("undeclared reference to 'jsonpatch'");
});
