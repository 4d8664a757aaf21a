import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { clusterRoles, roles } from "./rbac.ts";
import { tableFor } from "../serializer/table.ts";

function role(fields: object): ApiObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    metadata: { name: "a", creationTimestamp: "2026-01-01T00:00:00Z" },
    ...fields,
  };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

interface Case {
  readonly rule: object;
  readonly inRole: readonly string[];
  readonly inClusterRole: readonly string[];
}

describe("a rule", () => {
  const both = (...errors: readonly string[]): Pick<Case, "inRole" | "inClusterRole"> => ({
    inRole: errors,
    inClusterRole: errors,
  });
  const namespacedUrls =
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs';
  const mixed =
    'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs';
  const cases: Readonly<Record<string, Case>> = {
    "on resources is accepted": { rule: { verbs: ["get"], apiGroups: [""], resources: ["pods"] }, ...both() },
    "needs verbs": {
      rule: { apiGroups: [""], resources: ["pods"] },
      ...both("rules[0].verbs: Required value: verbs must contain at least one value"),
    },
    "on resources needs groups and resources": {
      rule: { verbs: ["get"] },
      ...both(
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
      ),
    },
    "on paths is for cluster roles only": {
      rule: { verbs: ["get"], nonResourceURLs: ["/x"] },
      inRole: [namespacedUrls],
      inClusterRole: [],
    },
    "is never on paths and resources at once": {
      rule: { verbs: ["get"], nonResourceURLs: ["/x"], resourceNames: ["a"] },
      inRole: [namespacedUrls, mixed],
      inClusterRole: [mixed],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { rule, inRole, inClusterRole }) => {
    expect(said(roles.validate?.(role({ rules: [rule] })))).toStrictEqual(inRole);
    expect(said(clusterRoles.validate?.(role({ rules: [rule] })))).toStrictEqual(inClusterRole);
  });
});

describe("an aggregation", () => {
  const path = "aggregationRule.clusterRoleSelectors";
  const cases: Readonly<Record<string, { readonly selectors: readonly object[]; readonly errors: readonly string[] }>> =
    {
      "by labels is accepted": {
        selectors: [{ matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] }],
        errors: [],
      },
      "needs a selector": {
        selectors: [],
        errors: [`${path}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil`],
      },
      "needs values for In": {
        selectors: [{ matchExpressions: [{ key: "c", operator: "In" }] }],
        errors: [
          `${path}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
        ],
      },
      "has no values for Exists": {
        selectors: [{ matchExpressions: [{ key: "c", operator: "Exists", values: ["d"] }] }],
        errors: [
          `${path}[0].matchExpressions[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
        ],
      },
      "knows four operators": {
        selectors: [{ matchExpressions: [{ key: "c", operator: "Gt" }] }],
        errors: [`${path}[0].matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator`],
      },
    };
  test.each(Object.entries(cases))("%s", (_title, { selectors, errors }) => {
    const object = role({ aggregationRule: { clusterRoleSelectors: selectors } });
    expect(said(clusterRoles.validate?.(object))).toStrictEqual(errors);
  });

  test("selects by labels that exist", () => {
    const object = role({ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "-": "b c" } }] } });
    const errors = said(clusterRoles.validate?.(object));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain(`${path}[0].matchLabels: Invalid value: "-"`);
    expect(errors[1]).toContain(`${path}[0].matchLabels: Invalid value: "b c"`);
  });
});

test("roles show their name and when they were created", () => {
  for (const kind of [roles, clusterRoles]) {
    const table = tableFor(kind, [role({})], { now: 0 });
    expect(table.columnDefinitions.map((column) => column.name)).toStrictEqual(["Name", "Created At"]);
    expect(table.rows[0]?.cells).toStrictEqual(["a", "2026-01-01T00:00:00Z"]);
  }
});
