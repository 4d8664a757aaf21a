import { send, type Row } from "./row.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const reviews = "/apis/authorization.k8s.io/v1";
const tokens = "/apis/authentication.k8s.io/v1/tokenreviews";
const sar = (spec: object): object => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec,
});
const attributes = { namespace: "default", verb: "get", resource: "pods" };

/** Questions that are answered and not kept: path and body, by what is asked. */
const questions: Readonly<Record<string, readonly [path: string, body: object]>> = {
  "a user who may": [
    `${reviews}/subjectaccessreviews`,
    sar({ user: "asked", groups: ["system:masters"], resourceAttributes: attributes }),
  ],
  "a user who may not": [`${reviews}/subjectaccessreviews`, sar({ user: "asked", resourceAttributes: attributes })],
  "a user and a path": [
    `${reviews}/subjectaccessreviews`,
    sar({ user: "asked", nonResourceAttributes: { path: "/x", verb: "get" } }),
  ],
  "a group alone": [`${reviews}/subjectaccessreviews`, sar({ groups: ["a"], resourceAttributes: attributes })],
  nobody: [`${reviews}/subjectaccessreviews`, sar({ resourceAttributes: attributes })],
  nothing: [`${reviews}/subjectaccessreviews`, sar({ user: "asked" })],
  "a path and a resource": [
    `${reviews}/subjectaccessreviews`,
    sar({ user: "asked", resourceAttributes: attributes, nonResourceAttributes: { path: "/x", verb: "get" } }),
  ],
  "no spec": [`${reviews}/subjectaccessreviews`, {}],
  "a name": [
    `${reviews}/subjectaccessreviews`,
    { metadata: { name: "a" }, spec: { user: "asked", resourceAttributes: attributes } },
  ],
  "a user as a number": [`${reviews}/subjectaccessreviews`, sar({ user: 7 })],
  "another kind": [`${reviews}/subjectaccessreviews`, { kind: "ConfigMap", apiVersion: "v1" }],
  oneself: [`${reviews}/selfsubjectaccessreviews`, { spec: { resourceAttributes: attributes } }],
  "oneself about nothing": [`${reviews}/selfsubjectaccessreviews`, { spec: {} }],
  "oneself about a path": [
    `${reviews}/selfsubjectaccessreviews`,
    { spec: { nonResourceAttributes: { path: "/x", verb: "get" } } },
  ],
  "a namespace": [
    `${reviews}/namespaces/default/localsubjectaccessreviews`,
    { metadata: { namespace: "default" }, spec: { user: "asked", resourceAttributes: attributes } },
  ],
  "a namespace about another": [
    `${reviews}/namespaces/default/localsubjectaccessreviews`,
    {
      metadata: { namespace: "default" },
      spec: { user: "asked", resourceAttributes: { ...attributes, namespace: "other" } },
    },
  ],
  "a namespace about a path": [
    `${reviews}/namespaces/default/localsubjectaccessreviews`,
    { metadata: { namespace: "default" }, spec: { user: "asked", nonResourceAttributes: { path: "/x", verb: "get" } } },
  ],
  "all rules without a namespace": [`${reviews}/selfsubjectrulesreviews`, { spec: {} }],
  "an unknown token": [tokens, { spec: { token: "abc" } }],
  "an unknown bootstrap token": [tokens, { spec: { token: "aaaaaa.0123456789abcdef" } }],
  "no token": [tokens, { spec: {} }],
  "a token as a number": [tokens, { spec: { token: 7 } }],
};

const questionRows: readonly Row[] = [
  ...Object.entries(questions).map(([id, [path, body]]) => ({
    id: `reviews: ask about ${id}`,
    ask: send("POST", path, body),
  })),
  ...[
    `${reviews}/subjectaccessreviews`,
    `${reviews}/selfsubjectaccessreviews`,
    `${reviews}/selfsubjectrulesreviews`,
    tokens,
  ].flatMap((path) => {
    const plural = path.slice(path.lastIndexOf("/") + 1);
    return [
      { id: `${plural}: list`, ask: { path } },
      { id: `${plural}: get`, ask: { path: `${path}/a` } },
      { id: `${plural}: replace`, ask: send("PUT", `${path}/a`, {}) },
      { id: `${plural}: delete`, ask: { method: "DELETE", path: `${path}/a` } },
      { id: `${plural}: create at a name`, ask: send("POST", `${path}/a`, {}) },
    ];
  }),
];

/** Paths that need no object, by method and path. */
const places: readonly string[] = [
  "GET /api",
  "GET /api/",
  "GET /api/v2",
  "GET /api/v1/none",
  "GET /api/v1/namespaces/default/none",
  "GET /api/v1/namespaces/default/none/a",
  "GET /api/v1/namespaces/default/nodes",
  "GET /api/v1/namespaces/default",
  "GET /api/v1/namespaces/none",
  "GET /api/v1/namespaces/default/configmaps/a/b/c",
  "GET /apis/none",
  "GET /apis/none/v1",
  "GET /apis/none/v1/things",
  "GET /apis/rbac.authorization.k8s.io",
  "GET /apis/rbac.authorization.k8s.io/v9",
  "GET /apis/rbac.authorization.k8s.io/v9/roles",
  "GET /apis/rbac.authorization.k8s.io/v1/none",
  "GET /apis/coordination.k8s.io",
  "GET /apis/coordination.k8s.io/v1",
  "GET /apis/certificates.k8s.io/v1",
  "POST /api",
  "POST /apis",
  "PUT /api/v1",
  "DELETE /api/v1",
  "DELETE /apis/none/v1/things",
  "POST /apis/none/v1/things",
  "GET /none",
  "GET /none/at/all",
  "POST /none",
  "GET /healthz",
  "GET /livez",
  "GET /readyz",
  "GET /healthz/ping",
  "GET /livez/ping",
  "GET /readyz/ping",
  "GET /healthz/none",
  "GET /livez/none",
  "POST /healthz",
  "HEAD /healthz",
  "GET /healthz?exclude=none",
  "GET /livez?exclude=ping",
  "POST /version",
  "GET /version/none",
  "GET /version/",
  "GET /openapi/none",
  "GET /openid/v1/none",
  "GET /openid/none",
  "GET /.well-known/none",
  "GET //api//v1//namespaces//default",
  "GET /api/v1/namespaces/default/../default",
  "GET /api/v1/namespaces/%2e%2e",
  "GET /api/v1/namespaces/a%2Fb",
  "GET /api/v1/watch/namespaces/default/none",
  "GET /metrics/none",
  "GET /logs/none",
];

/** Paths with what is asked for in headers. */
const wanted: Readonly<Record<string, readonly [path: string, accept: string]>> = {
  "a group as YAML": ["/apis/coordination.k8s.io", "application/yaml"],
  "a group as CSV": ["/apis/coordination.k8s.io", "text/csv"],
  "a version as CSV": ["/apis/coordination.k8s.io/v1", "text/csv"],
  "all versions as CSV": ["/api", "text/csv"],
  "the version of a group aggregated": ["/apis/coordination.k8s.io/v1", aggregated],
  "the specification as CSV": ["/openapi/v2", "text/csv"],
  "health as CSV": ["/healthz", "text/csv"],
};

const identities: readonly Row[] = [
  {
    id: "identity: an unknown bearer token",
    ask: {
      path: "/api/v1/namespaces/default/configmaps?labelSelector=none%3Dsuch",
      headers: { authorization: "Bearer none" },
    },
  },
  {
    id: "identity: a bearer token of nothing",
    ask: {
      path: "/api/v1/namespaces/default/configmaps?labelSelector=none%3Dsuch",
      headers: { authorization: "Bearer " },
    },
  },
  { id: "identity: basic credentials", ask: { path: "/version/none", headers: { authorization: "Basic YTpi" } } },
  ...[
    "/api/v1/pods",
    "/api/v1/namespaces/default/pods/a",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/none",
    "/metrics",
  ].map((path) => ({ id: `identity: ${path} as another`, ask: { path, headers: { "impersonate-user": "somebody" } } })),
  {
    id: "identity: a group without a user",
    ask: {
      path: "/api/v1/namespaces/default/configmaps?labelSelector=none%3Dsuch",
      headers: { "impersonate-group": "a" },
    },
  },
  {
    id: "identity: a change as another",
    ask: send("POST", "/api/v1/namespaces/default/configmaps", {}, { headers: { "impersonate-user": "somebody" } }),
  },
];

/** Rows about no kind in particular. */
export const elsewhere: readonly Row[] = [
  ...questionRows,
  ...places.map((place) => {
    const [method = "", path = ""] = place.split(" ");
    return { id: `paths: ${place}`, ask: { method, path } };
  }),
  ...Object.entries(wanted).map(([id, [path, accept]]) => ({ id: `paths: ${id}`, ask: { path, accept } })),
  ...identities,
];
