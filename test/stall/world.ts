import { configMap, configMaps, json, pod, pods, rbac, repeated, thing, things } from "./corpus.ts";
import type { CostlyRequest } from "./costly-request.ts";
import { bulkConfigMaps } from "./watches.ts";
import { manyRights } from "./many-rights.ts";

/** What is there before: a kind with patterns, rules and open fields, and the objects that the corpus lists and patches. */
export const prepared: readonly Pick<CostlyRequest, "method" | "path" | "type" | "body">[] = [
  ...(
    [
      ["tenant", { verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, "tenant"],
      [
        "door",
        { verbs: ["create"], apiGroups: ["access.pratique.dev"], resources: ["accessrequests"] },
        "system:anonymous",
      ],
    ] as const
  ).flatMap(([name, rule, user]) => [
    {
      method: "POST" as const,
      path: `${rbac}/clusterroles`,
      type: json,
      body: () => JSON.stringify({ metadata: { name }, rules: [rule] }),
    },
    {
      method: "POST" as const,
      path: `${rbac}/clusterrolebindings`,
      type: json,
      body: () =>
        JSON.stringify({
          metadata: { name },
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
          subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
        }),
    },
  ]),
  {
    method: "POST",
    path: "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
    type: json,
    body: () => `{"metadata":{"name":"prober"},"spec":{"holderIdentity":"prober","leaseDurationSeconds":40}}`,
  },
  {
    method: "POST",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    type: json,
    body: () => JSON.stringify(thingDefinition),
  },
  ...Array.from({ length: 9 * 16 }, (_, index) => ({
    method: "POST" as const,
    path: configMaps,
    type: json,
    body: () =>
      `{"metadata":{"name":"large-${index}","labels":{"large":"yes"}},"data":{${repeated(64 * 1024, (at) => `"k${at}":"${"value: text ".repeat(2)}"`)}}}`,
  })),
  ...manyRights,
  { method: "POST", path: "/api/v1/namespaces", type: json, body: () => `{"metadata":{"name":"bulk"}}` },
  ...Array.from({ length: 32 }, (_, index) => ({
    method: "POST" as const,
    path: bulkConfigMaps,
    type: json,
    body: () =>
      configMap(`bulk-${index}`, `"data":{${repeated(1_000_000, (at) => `"k${at}":"${"value: text ".repeat(30)}"`)}}`),
  })),
  { method: "POST", path: configMaps, type: json, body: () => configMap("base", `"data":{"a":"b"}`) },
  { method: "POST", path: pods, type: json, body: () => pod("base", `"restartPolicy":"Never"`) },
];

/** Sent again and again until it is served: the kind may not be there yet. */
export const lastPrepared: Pick<CostlyRequest, "method" | "path" | "type" | "body"> = {
  method: "POST",
  path: things,
  type: json,
  body: () => thing("patched", `"items":[],"any":{}`),
};

const thingDefinition = {
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "things", kind: "Thing" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  simple: { type: "string", pattern: "^[a-z]*$" },
                  costly: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" },
                  nested: { type: "string", pattern: "(a?){50}a{50}b" },
                  names: { type: "array", items: { type: "string", pattern: "^(a|b|c)+[0-9]{1,20}x?$" } },
                  set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
                  keyed: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    items: {
                      type: "object",
                      required: ["name"],
                      properties: { name: { type: "string" }, value: { type: "integer" } },
                    },
                  },
                  items: { type: "array", items: { type: "integer" } },
                  numbers: {
                    type: "array",
                    maxItems: 1000,
                    items: { type: "integer" },
                    "x-kubernetes-validations": [
                      { rule: "self.all(x, self.exists(y, x == y + 100000) || true)", message: "never" },
                    ],
                  },
                  any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                },
                "x-kubernetes-preserve-unknown-fields": true,
              },
            },
          },
        },
      },
    ],
  },
};
