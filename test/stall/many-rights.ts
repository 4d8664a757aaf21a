import type { CostlyRequest } from "./costly-request.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const type = "application/json";
const group = "many.example.com";

type Prepared = Pick<CostlyRequest, "method" | "path" | "type" | "body">;

const namespace = "many-roles";
const distinctRoles = 300;

/** Three hundred different roles of a thousand rules each in one namespace, each of which reaches the user `user` by a binding of its own. */
const distinctRights: readonly Prepared[] = [
  { method: "POST", path: "/api/v1/namespaces", type, body: () => JSON.stringify({ metadata: { name: namespace } }) },
  ...Array.from({ length: distinctRoles }, (_, role) => [
    {
      method: "POST" as const,
      path: `${rbac}/namespaces/${namespace}/roles`,
      type,
      body: () =>
        JSON.stringify({
          metadata: { name: `distinct-${role}` },
          rules: Array.from({ length: 1000 }, (_rule, at) => ({
            verbs: ["get"],
            apiGroups: [group],
            resources: ["parts"],
            resourceNames: [`distinct-${role}-${at}`],
          })),
        }),
    },
    {
      method: "POST" as const,
      path: `${rbac}/namespaces/${namespace}/rolebindings`,
      type,
      body: () =>
        JSON.stringify({
          metadata: { name: `distinct-${role}` },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: `distinct-${role}` },
          subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "user" }],
        }),
    },
  ]).flat(),
];

/** Twenty roles of two thousand rules each, which reach the user `user` by five hundred bindings. Nothing that is served is in them. */
export const manyRights: readonly Prepared[] = [
  ...Array.from({ length: 20 }, (_, role) => ({
    method: "POST" as const,
    path: `${rbac}/clusterroles`,
    type,
    body: () =>
      JSON.stringify({
        metadata: { name: `many-rules-${role}` },
        rules: Array.from({ length: 2000 }, (_rule, at) => ({
          verbs: ["get"],
          apiGroups: [group],
          resources: ["parts"],
          resourceNames: [`part-${role}-${at}`],
        })),
      }),
  })),
  ...Array.from({ length: 500 }, (_, index) => ({
    method: "POST" as const,
    path: `${rbac}/clusterrolebindings`,
    type,
    body: () =>
      JSON.stringify({
        metadata: { name: `many-bindings-${index}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `many-rules-${index % 20}` },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "user" }],
      }),
  })),
  ...distinctRights,
];

const part = { group, resource: "parts", name: "part-none" };
const kinds: readonly (readonly [kind: string, path: string, spec: object])[] = [
  ["SelfSubjectRulesReview", "authorization.k8s.io/v1/selfsubjectrulesreviews", { namespace: "default" }],
  [
    "SelfSubjectAccessReview",
    "authorization.k8s.io/v1/selfsubjectaccessreviews",
    { resourceAttributes: { ...part, verb: "get" } },
  ],
  [
    "SelfAccessExplanation",
    "access.pratique.dev/v1alpha1/selfaccessexplanations",
    { resourceAttributes: { ...part, verb: "delete" } },
  ],
  [
    "AccessExplanation",
    "access.pratique.dev/v1alpha1/accessexplanations",
    { user: "user", resourceAttributes: { ...part, verb: "delete" } },
  ],
];

const reviewsOfDistinctRights: readonly CostlyRequest[] = [1, 8].map((copies) => ({
  name: `SelfSubjectAccessReview over ${distinctRoles} distinct roles of 1000 rules, ${copies} at once`,
  as: "user",
  method: "POST",
  path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
  type,
  body: () => JSON.stringify({ spec: { resourceAttributes: { ...part, namespace, verb: "get" } } }),
  copies,
  statuses: [201, 429],
}));

/** What is asked of them. */
export const reviewsOfManyRights: readonly CostlyRequest[] = kinds
  .flatMap(([kind, path, spec]) =>
    [1, 8].map((copies): CostlyRequest => ({
      name: `${kind} over 500 bindings of 2000 rules, ${copies} at once`,
      as: kind === "AccessExplanation" ? "admin" : "user",
      method: "POST",
      path: `/apis/${path}`,
      type,
      body: () => JSON.stringify({ spec }),
      copies,
      statuses: [201, 429],
    })),
  )
  .concat(reviewsOfDistinctRights);
