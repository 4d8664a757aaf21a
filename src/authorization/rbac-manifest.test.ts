import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRbacManifest } from "./rbac-manifest.ts";

const apiVersion = "rbac.authorization.k8s.io/v1";
const role = {
  apiVersion,
  kind: "Role",
  metadata: { name: "reader" },
  rules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
};
const binding = {
  apiVersion,
  kind: "ClusterRoleBinding",
  metadata: { name: "all" },
  roleRef: { kind: "ClusterRole", name: "view" },
  subjects: [{ kind: "User", name: "ann" }],
};

describe("what a manifest grants", () => {
  test("gives namespaced objects the namespace, and bindings their API groups", () => {
    const { objects, others, errors } = readRbacManifest([role, binding], "team");
    expect(errors).toEqual([]);
    expect(others).toBe(0);
    expect(objects).toMatchObject([
      { kind: "Role", metadata: { name: "reader", namespace: "team" } },
      { roleRef: { apiGroup: "rbac.authorization.k8s.io" }, subjects: [{ apiGroup: "rbac.authorization.k8s.io" }] },
    ]);
  });

  test("keeps the namespace that an object names", () => {
    const placed = { ...role, metadata: { name: "reader", namespace: "own" } };
    expect(readRbacManifest([placed], "team").objects[0]?.metadata.namespace).toBe("own");
  });

  test("reads the list that kubectl prints, and passes over other kinds and empty documents", () => {
    const list = { apiVersion: "v1", kind: "List", items: [role, { apiVersion: "v1", kind: "ConfigMap" }] };
    const read = readRbacManifest([null, list], "default");
    expect([read.objects.length, read.others, read.errors]).toEqual([1, 1, []]);
  });

  test("names object and field of whatever the API would refuse", () => {
    const wrong = [
      { ...role, rules: [{ apiGroups: [""], resources: ["pods"] }] },
      { ...role, ruls: [] },
      { ...role, rules: "all" },
      { ...role, metadata: {} },
      { ...binding, roleRef: { kind: "Role", name: "view" } },
      { ...role, apiVersion: "rbac.authorization.k8s.io/v1beta1" },
      { ...role, kind: "Roll" },
      { kind: "Role" },
      "text",
    ];
    expect(wrong.map((one) => readRbacManifest([one], "default").errors[0])).toEqual([
      "Role reader: rules[0].verbs: Required value: verbs must contain at least one value",
      "Role reader: ruls: unknown field",
      expect.stringMatching(/^Role reader: rules: /),
      expect.stringMatching(/^Role 1: metadata\.name: Required value/),
      'ClusterRoleBinding all: roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      "Role reader: apiVersion: must be rbac.authorization.k8s.io/v1",
      "Roll reader: kind: must be one of Role, ClusterRole, RoleBinding, ClusterRoleBinding",
      "object 1: apiVersion and kind are needed",
      "object 1: not an object",
    ]);
  });

  test("never throws, whatever JSON holds", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 4 }), fc.jsonValue(), (documents, rules) => {
        const read = readRbacManifest([...documents, { ...role, rules, metadata: rules }], "default");
        expect(read.objects.length + read.others + read.errors.length).toBeGreaterThan(0);
      }),
      { numRuns: 200 },
    );
  });
});
