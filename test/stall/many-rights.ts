import type { CostlyRequest } from "./costly-request.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const type = "application/json";
const group = "many.example.com";

/** Twenty roles of two thousand rules each, which reach the user `user` by five hundred bindings. Nothing that is served is in them. */
export const manyRights: readonly Pick<CostlyRequest, "method" | "path" | "type" | "body">[] = [
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

/** What is asked of them. */
export const reviewsOfManyRights: readonly CostlyRequest[] = kinds.flatMap(([kind, path, spec]) =>
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
);
