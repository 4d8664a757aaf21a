import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { podSchema } from "../../test/kits/pod-schema.ts";
import { PatchError } from "./patch-error.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

function patched(target: object, patch: unknown): unknown {
  return applyStrategicMergePatch(podSchema, { ...target }, patch);
}

function codeOf(target: object, patch: unknown): string {
  try {
    patched(target, patch);
    return "applied";
  } catch (error) {
    return error instanceof PatchError ? error.code : `not a PatchError: ${String(error)}`;
  }
}

const nginx = { name: "nginx", image: "nginx-1.0" };
const tailer = { name: "log-tailer", image: "log-tailer-1.0" };

describe("the examples that Kubernetes documents", () => {
  test("a container is added beside those that are there", () => {
    expect(patched({ spec: { containers: [nginx] } }, { spec: { containers: [tailer] } })).toEqual({
      spec: { containers: [tailer, nginx] },
    });
  });

  test("a container of the same name is merged", () => {
    expect(
      patched(
        { spec: { containers: [nginx, tailer] } },
        { spec: { containers: [{ name: "nginx", image: "nginx-2.0" }] } },
      ),
    ).toEqual({ spec: { containers: [{ name: "nginx", image: "nginx-2.0" }, tailer] } });
  });

  test("$patch: delete removes an element, by its merge key", () => {
    expect(
      patched(
        { spec: { containers: [nginx, tailer] } },
        { spec: { containers: [{ name: "nginx", $patch: "delete" }] } },
      ),
    ).toEqual({ spec: { containers: [tailer] } });
  });

  test("$patch: replace in a list replaces the list, and keeps elements that share a key", () => {
    const ports = [
      { containerPort: 53, protocol: "TCP" },
      { containerPort: 53, protocol: "UDP" },
    ];
    expect(
      patched(
        { spec: { containers: [{ name: "a", ports: [{ containerPort: 1 }] }] } },
        { spec: { containers: [{ name: "a", ports: [{ $patch: "replace" }, ...ports] }] } },
      ),
    ).toEqual({ spec: { containers: [{ name: "a", ports }] } });
  });

  test("$patch: replace in a map replaces the map, $patch: delete empties it", () => {
    const target = { metadata: { labels: { a: "1", b: "2" } } };
    expect(patched(target, { metadata: { labels: { $patch: "replace", c: "3" } } })).toEqual({
      metadata: { labels: { c: "3" } },
    });
    expect(patched(target, { metadata: { labels: { $patch: "delete" } } })).toEqual({ metadata: { labels: {} } });
  });

  test("finalizers join as a set", () => {
    expect(patched({ metadata: { finalizers: ["a", "b"] } }, { metadata: { finalizers: ["c", "a"] } })).toEqual({
      metadata: { finalizers: ["c", "a", "b"] },
    });
  });

  test("$deleteFromPrimitiveList takes out scalars", () => {
    expect(
      patched(
        { metadata: { finalizers: ["a", "b", "c"] } },
        { metadata: { "$deleteFromPrimitiveList/finalizers": ["b", "x"] } },
      ),
    ).toEqual({ metadata: { finalizers: ["a", "c"] } });
  });

  test("$retainKeys clears what it does not list, so that one volume source replaces another", () => {
    expect(
      patched(
        { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
        { spec: { volumes: [{ name: "v", hostPath: { path: "/p" }, $retainKeys: ["name", "hostPath"] }] } },
      ),
    ).toEqual({ spec: { volumes: [{ name: "v", hostPath: { path: "/p" } }] } });
  });

  test("$setElementOrder sorts what it names and keeps the others where they stood", () => {
    const env = (...names: readonly string[]): object[] => names.map((name) => ({ name, value: name }));
    expect(
      patched(
        { spec: { containers: [{ name: "a", env: env("1", "2", "3", "server") }] } },
        {
          spec: {
            containers: [
              {
                name: "a",
                env: env("4"),
                "$setElementOrder/env": [{ name: "3" }, { name: "4" }, { name: "1" }, { name: "2" }],
              },
            ],
          },
        },
      ),
    ).toEqual({ spec: { containers: [{ name: "a", env: env("3", "4", "1", "2", "server") }] } });
  });

  test("an atomic list is replaced", () => {
    expect(patched({ spec: { tolerations: [{ key: "a" }] } }, { spec: { tolerations: [{ key: "b" }] } })).toEqual({
      spec: { tolerations: [{ key: "b" }] },
    });
  });

  test("null removes a field, a map entry and a whole list", () => {
    expect(
      patched(
        { metadata: { labels: { a: "1", b: "2" } }, spec: { nodeName: "n", containers: [nginx] } },
        { metadata: { labels: { a: null } }, spec: { nodeName: null, containers: null, nodeSelector: null } },
      ),
    ).toEqual({ metadata: { labels: { b: "2" } }, spec: {} });
  });

  test("fields that the schema does not know merge as in a merge patch", () => {
    expect(patched({ x: { a: [1], b: { c: 1 } } }, { x: { a: [2], b: { d: 2, c: null } } })).toEqual({
      x: { a: [2], b: { d: 2 } },
    });
  });
});

test("what is new in the object carries neither nulls nor directives", () => {
  expect(
    patched(
      {},
      {
        metadata: { labels: { a: null, b: "1" }, "$setElementOrder/finalizers": ["a"] },
        spec: {
          containers: [
            { name: "a", image: null, env: [{ $patch: "delete", name: "E" }], "$setElementOrder/env": [{ name: "E" }] },
            { $patch: "delete", name: "b" },
          ],
          volumes: [{ name: "v", emptyDir: { $patch: "replace" }, $retainKeys: ["name", "emptyDir"] }],
        },
      },
    ),
  ).toEqual({
    metadata: { labels: { b: "1" } },
    spec: { containers: [{ name: "a", env: [] }], volumes: [{ name: "v" }] },
  });
});

describe("patches that are refused", () => {
  const target = { metadata: { finalizers: ["a"] }, spec: { containers: [nginx], volumes: [{ name: "v" }] } };
  test.each([
    ["malformed", []],
    ["malformed", "text"],
    ["malformed", { $patch: "merge" }],
    ["malformed", { spec: { $patch: 1 } }],
    ["malformed", { spec: { containers: [{ $patch: "merge", name: "nginx" }] } }],
    ["malformed", { spec: { containers: [{ $patch: "bogus", name: "nginx" }] } }],
    ["malformed", { metadata: { "$deleteFromPrimitiveList/finalizers": "a" } }],
    ["malformed", { metadata: { "$deleteFromPrimitiveList/finalizers": null } }],
    ["malformed", { metadata: { "$deleteFromPrimitiveList/finalizers": [{}] } }],
    ["malformed", { metadata: { $deleteFromPrimitiveList: ["a"] } }],
    ["malformed", { metadata: { "$deleteFromPrimitiveList/__proto__": ["a"] } }],
    ["malformed", { metadata: { "$setElementOrder/__proto__": ["a"] } }],
    ["malformed", { metadata: { $setElementOrder: ["a"] } }],
    ["malformed", { metadata: { "$setElementOrder/finalizers": {} } }],
    ["malformed", { spec: { volumes: [{ name: "v", $retainKeys: "name" }] } }],
    ["malformed", { spec: { volumes: [{ name: "v", emptyDir: {}, $retainKeys: ["name"] }] } }],
    ["malformed", JSON.parse('{"metadata":{"labels":{"__proto__":"a"}}}')],
    ["failed", { spec: { containers: [{ image: "x" }] } }],
    ["failed", { spec: { containers: [{ name: { a: 1 } }] } }],
    ["failed", { spec: { containers: [{ $patch: "delete" }] } }],
    ["failed", { spec: { containers: ["nginx"] } }],
    ["failed", { spec: { containers: [[]] } }],
    ["failed", { metadata: { finalizers: ["b", 1] } }],
    ["failed", { metadata: { finalizers: ["c", "b"], "$setElementOrder/finalizers": ["b", "c"] } }],
    ["failed", { metadata: { finalizers: ["b"], "$setElementOrder/finalizers": ["c"] } }],
  ])("%s: %j", (code, patch) => {
    expect(codeOf(target, patch)).toBe(code);
  });

  test("a patch of bottomless depth is malformed", () => {
    expect(codeOf({}, JSON.parse('{"a":'.repeat(100_000) + "1" + "}".repeat(100_000)))).toBe("malformed");
  });
});

test("what the patch leaves alone is shared, and a patch that changes nothing returns the target", () => {
  const target = { metadata: { finalizers: ["a"] }, spec: { containers: [nginx, tailer], nodeName: "n" } };
  const result = applyStrategicMergePatch(podSchema, target, { spec: { containers: [{ name: "nginx", image: "2" }] } });
  expect(result["metadata"]).toBe(target.metadata);
  expect(
    applyStrategicMergePatch(podSchema, target, {
      metadata: { finalizers: ["a"], "$setElementOrder/finalizers": ["a"] },
      spec: {
        nodeName: "n",
        containers: [nginx],
        "$setElementOrder/containers": [{ name: "nginx" }, { name: "log-tailer" }],
      },
    }),
  ).toBe(target);
});

const name = fc.constantFrom("a", "b", "c");
const containers = fc.uniqueArray(fc.record({ name, image: name }), { selector: (one) => one.name, maxLength: 3 });
const pod = fc.record({
  metadata: fc.record({ finalizers: fc.uniqueArray(name), labels: fc.dictionary(name, name) }),
  spec: fc.record({ containers, tolerations: fc.array(fc.record({ key: name }), { maxLength: 2 }) }),
});

test("a whole object as a patch leaves all it says, and again changes nothing; neither argument is changed", () => {
  fc.assert(
    fc.property(pod, pod, (target, patch) => {
      const before = JSON.stringify([target, patch]);
      const once = applyStrategicMergePatch(podSchema, target, patch) as typeof pod extends fc.Arbitrary<infer T>
        ? T
        : never;
      expect(applyStrategicMergePatch(podSchema, once, patch)).toBe(once);
      expect(once.metadata.labels).toEqual({ ...target.metadata.labels, ...patch.metadata.labels });
      expect(once.spec.tolerations).toEqual(patch.spec.tolerations);
      const names = (list: readonly { readonly name: string }[]): string[] => list.map((one) => one.name);
      expect(new Set(names(once.spec.containers))).toEqual(
        new Set([...names(target.spec.containers), ...names(patch.spec.containers)]),
      );
      expect(once.spec.containers).toEqual(expect.arrayContaining(patch.spec.containers));
      expect(JSON.stringify([target, patch])).toBe(before);
    }),
  );
});

test("any JSON applies or is refused with a PatchError", () => {
  const key = fc.constantFrom(
    "metadata",
    "spec",
    "finalizers",
    "containers",
    "name",
    "$patch",
    "$retainKeys",
    "$setElementOrder/finalizers",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("a", "delete", "replace", null, 1),
      fc.dictionary(key, tie("value")),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  }));
  const target = { metadata: { finalizers: ["a"] }, spec: { containers: [nginx] } };
  fc.assert(
    fc.property(value, (patch) => {
      expect(["applied", "malformed", "failed"]).toContain(codeOf(target, { spec: patch, metadata: patch }));
    }),
  );
});
