import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { clusterRoleBindings, roleBindings } from "./rbac.ts";
import { tableFor } from "../serializer/table.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };
const group = "rbac.authorization.k8s.io";
const roleRef = { apiGroup: group, kind: "ClusterRole", name: "r" };

function binding(fields: object): ApiObject {
  return { apiVersion: `${group}/v1`, kind: "RoleBinding", metadata: { name: "a" }, ...fields };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

describe("writing a binding", () => {
  test("fills in the group of the role, of users and of groups, at creation and at an update", () => {
    const object = binding({
      roleRef: { kind: "Role", name: "r" },
      subjects: [
        { kind: "User", name: "u" },
        { kind: "Group", name: "g" },
        { kind: "ServiceAccount", name: "s", namespace: "n" },
      ],
    });
    const expected = {
      ...object,
      roleRef: { apiGroup: group, kind: "Role", name: "r" },
      subjects: [
        { kind: "User", apiGroup: group, name: "u" },
        { kind: "Group", apiGroup: group, name: "g" },
        { kind: "ServiceAccount", name: "s", namespace: "n" },
      ],
    };
    expect(roleBindings.prepareForCreate?.(object, context)).toStrictEqual(expected);
    expect(clusterRoleBindings.prepareForUpdate?.(object, object, context)).toStrictEqual(expected);
  });
});

interface Case {
  readonly fields: object;
  readonly inNamespace: readonly string[];
  readonly inCluster: readonly string[];
}

describe("a binding", () => {
  const both = (...errors: readonly string[]): Pick<Case, "inNamespace" | "inCluster"> => ({
    inNamespace: errors,
    inCluster: errors,
  });
  const cases: Readonly<Record<string, Case>> = {
    "may have no subjects": { fields: { roleRef }, ...both() },
    "to a role is for one namespace": {
      fields: { roleRef: { ...roleRef, kind: "Role" } },
      inNamespace: [],
      inCluster: ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
    },
    "needs a role of a known kind": {
      fields: { roleRef: { ...roleRef, kind: "Crown" } },
      inNamespace: ['roleRef.kind: Unsupported value: "Crown": supported values: "Role", "ClusterRole"'],
      inCluster: ['roleRef.kind: Unsupported value: "Crown": supported values: "ClusterRole"'],
    },
    "needs a role with a name": {
      fields: { roleRef: { ...roleRef, name: "" } },
      ...both("roleRef.name: Required value"),
    },
    "needs a role whose name can be part of a path": {
      fields: { roleRef: { ...roleRef, name: "a/b" } },
      ...both("roleRef.name: Invalid value: \"a/b\": may not contain '/'"),
    },
    "needs a role of the RBAC group": {
      fields: { roleRef: { ...roleRef, apiGroup: "x" } },
      ...both('roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"'),
    },
    "knows three kinds of subject": {
      fields: { roleRef, subjects: [{ kind: "Robot", name: "r" }] },
      ...both('subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'),
    },
    "needs subjects with names": {
      fields: { roleRef, subjects: [{ kind: "User", apiGroup: group }] },
      ...both("subjects[0].name: Required value"),
    },
    "accepts a service account of the binding's own namespace": {
      fields: { roleRef, subjects: [{ kind: "ServiceAccount", name: "s" }] },
      inNamespace: [],
      inCluster: ["subjects[0].namespace: Required value"],
    },
    "refuses a service account with a group": {
      fields: { roleRef, subjects: [{ kind: "ServiceAccount", name: "s", namespace: "n", apiGroup: group }] },
      ...both('subjects[0].apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""'),
    },
    "refuses a user of another group": {
      fields: { roleRef, subjects: [{ kind: "User", name: "u", apiGroup: "x" }] },
      ...both('subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"'),
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { fields, inNamespace, inCluster }) => {
    expect(said(roleBindings.validate?.(binding(fields)))).toStrictEqual(inNamespace);
    expect(said(clusterRoleBindings.validate?.(binding(fields)))).toStrictEqual(inCluster);
  });

  test("refuses a service account whose name is none", () => {
    const subjects = [{ kind: "ServiceAccount", name: "a:b", namespace: "n" }];
    expect(said(roleBindings.validate?.(binding({ roleRef, subjects })))[0]).toContain(
      'subjects[0].name: Invalid value: "a:b": a lowercase RFC 1123 subdomain must consist of',
    );
  });
});

describe("privilege escalation by another role under the same name", () => {
  test.each([roleBindings, clusterRoleBindings])("is refused", (kind) => {
    for (const changed of [{ name: "cluster-admin" }, { kind: "Role" }, { apiGroup: "x" }]) {
      const next = { ...roleRef, ...changed };
      expect(said(kind.validateUpdate?.(binding({ roleRef: next }), binding({ roleRef })))).toStrictEqual([
        `roleRef: Invalid value: ${JSON.stringify(next)}: cannot change roleRef`,
      ]);
    }
  });

  test("does not forbid other subjects", () => {
    const next = binding({ roleRef, subjects: [{ kind: "User", apiGroup: group, name: "u" }] });
    expect(roleBindings.validateUpdate?.(next, binding({ roleRef }))).toStrictEqual([]);
  });
});

test("shows the role and, wide, who holds it", () => {
  const object = binding({
    roleRef,
    subjects: [
      { kind: "User", name: "u" },
      { kind: "User", name: "v" },
      { kind: "Group", name: "g" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ],
  });
  const table = tableFor(clusterRoleBindings, [object], { now: 0 });
  expect(table.columnDefinitions.map((column) => `${column.name} ${column.priority}`)).toStrictEqual([
    "Name 0",
    "Role 0",
    "Age 0",
    "Users 1",
    "Groups 1",
    "ServiceAccounts 1",
  ]);
  expect(table.rows[0]?.cells).toStrictEqual(["a", "ClusterRole/r", "<unknown>", "u, v", "g", "n/s"]);
});
