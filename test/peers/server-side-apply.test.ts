import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

/** One write. */
interface Step {
  readonly as: string;
  readonly verb: "apply" | "force" | "create" | "replace" | "merge" | "strategic" | "json" | "get";
  readonly body?: object;
  readonly subresource?: string;
}

interface Scenario {
  readonly path: string;
  readonly name: string;
  /** What every body has. */
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  readonly steps: readonly Step[];
}

const configMap = { path: "/api/v1/namespaces/default/configmaps", kind: { apiVersion: "v1", kind: "ConfigMap" } };
const pod = { path: "/api/v1/namespaces/default/pods", kind: { apiVersion: "v1", kind: "Pod" } };
const role = {
  path: "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
  kind: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" },
};
const namespace = { path: "/api/v1/namespaces", kind: { apiVersion: "v1", kind: "Namespace" } };
const account = {
  path: "/api/v1/namespaces/default/serviceaccounts",
  kind: { apiVersion: "v1", kind: "ServiceAccount" },
};
const secret = { path: "/api/v1/namespaces/default/secrets", kind: { apiVersion: "v1", kind: "Secret" } };
const lease = {
  path: "/apis/coordination.k8s.io/v1/namespaces/default/leases",
  kind: { apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
};

const widget = {
  path: "/apis/ssa.example.com/v1/namespaces/default/widgets",
  kind: { apiVersion: "ssa.example.com/v1", kind: "Widget" },
};

/** A definition with every way to merge. */
const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.ssa.example.com" },
  spec: {
    group: "ssa.example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: {
                  size: { type: "integer", default: 1 },
                  atomic: {
                    type: "object",
                    "x-kubernetes-map-type": "atomic",
                    additionalProperties: { type: "string" },
                  },
                  labels: { type: "object", additionalProperties: { type: "string" } },
                  tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
                  plain: { type: "array", items: { type: "string" } },
                  free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
                  ports: {
                    type: "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                    items: {
                      type: "object",
                      required: ["port"],
                      properties: {
                        port: { type: "integer" },
                        protocol: { type: "string", default: "TCP" },
                        name: { type: "string" },
                      },
                    },
                  },
                },
              },
              status: { type: "object", properties: { phase: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
};

const apply = (as: string, body: object): Step => ({ as, verb: "apply", body });
const force = (as: string, body: object): Step => ({ as, verb: "force", body });
const create = (as: string, body: object): Step => ({ as, verb: "create", body });
const merge = (as: string, body: object): Step => ({ as, verb: "merge", body });
const strategic = (as: string, body: object): Step => ({ as, verb: "strategic", body });

const container = (name: string, more: object = {}): object => ({ name, image: `${name}:1`, ...more });
const podOf = (...containers: readonly object[]): object => ({ spec: { containers } });
const time = "2026-01-01T00:00:00Z";
const ready = { type: "Ready", status: "True", lastProbeTime: time, lastTransitionTime: time };
const rules = (...verbs: readonly string[]): object => ({
  rules: [{ apiGroups: [""], resources: ["pods"], verbs }],
});

const scenarios: Readonly<Record<string, Scenario>> = {
  "values of a map, shared, taken and let go": {
    ...configMap,
    name: "ssa-map",
    steps: [
      apply("a", { data: { x: "1", y: "1" } }),
      apply("a", { data: { x: "1", y: "1" } }),
      apply("b", { data: { x: "1" } }),
      apply("b", { data: { x: "2" } }),
      apply("b", { data: { x: "2", y: "2" } }),
      force("b", { data: { x: "2", z: "1" } }),
      apply("a", { data: { y: "1" } }),
      apply("a", {}),
    ],
  },
  "fields of one who creates and updates": {
    ...configMap,
    name: "ssa-update",
    steps: [
      create("c", { data: { x: "1", y: "1" }, metadata: { labels: { l: "1" }, annotations: { a: "1" } } }),
      merge("d", { data: { x: "2" } }),
      merge("d", { data: { x: "2" } }),
      apply("a", { data: { x: "3", y: "3" }, metadata: { labels: { l: "2" } } }),
      force("a", { data: { x: "3" } }),
      merge("d", { data: { x: null } }),
      merge("d", { data: null }),
      merge("d", { metadata: { labels: null } }),
    ],
  },
  "an update that forgets all owners": {
    ...configMap,
    name: "ssa-reset",
    steps: [
      create("c", { data: { x: "1" } }),
      merge("c", { metadata: { managedFields: [{}] } }),
      merge("d", { data: { y: "1" } }),
      apply("a", { data: { y: "2", z: "1" } }),
      force("a", { data: { y: "2", z: "1" } }),
      merge("c", { metadata: { managedFields: [] } }),
    ],
  },
  "one manager that applies and updates": {
    ...configMap,
    name: "ssa-both",
    steps: [
      apply("a", { data: { x: "1" } }),
      merge("a", { data: { x: "2", y: "2" } }),
      apply("a", { data: { x: "1" } }),
      force("a", { data: { x: "1" } }),
    ],
  },
  "binary data and immutability": {
    ...configMap,
    name: "ssa-binary",
    steps: [
      apply("a", { binaryData: { b: "AQID" }, immutable: false }),
      apply("b", { binaryData: { b: "AQIE" }, immutable: true }),
      force("b", { binaryData: { b: "AQIE" } }),
    ],
  },
  "finalizers and owners": {
    ...configMap,
    name: "ssa-meta",
    steps: [
      apply("a", { metadata: { finalizers: ["x.io/a", "x.io/b"] } }),
      apply("b", { metadata: { finalizers: ["x.io/b", "x.io/c"] } }),
      apply("a", { metadata: { finalizers: ["x.io/a"] } }),
      merge("c", { metadata: { finalizers: ["x.io/a", "x.io/d"] } }),
      merge("c", { metadata: { finalizers: [] } }),
    ],
  },
  "what cannot be applied": {
    ...configMap,
    name: "ssa-bad",
    steps: [
      apply("a", { data: { x: 1 } }),
      apply("a", { foo: 1 }),
      apply("a", { metadata: { managedFields: [] } }),
      apply("a", { metadata: { name: "other" } }),
      apply("a", { metadata: { uid: "u" } }),
      apply("", { data: {} }),
      apply("a", { data: { x: "1" } }),
      apply("a", { metadata: { resourceVersion: "1" }, data: { x: "2" } }),
      apply("a", { metadata: { finalizers: ["x.io/a", "x.io/a"] } }),
    ],
  },
  "containers, ports and variables of a pod": {
    ...pod,
    name: "ssa-pod",
    steps: [
      apply(
        "a",
        podOf(
          container("one", { env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80, protocol: "TCP" }] }),
          container("two"),
        ),
      ),
      apply("b", podOf(container("one", { image: "one:2" }))),
      force("b", podOf({ name: "one", image: "one:2" })),
      apply("a", podOf(container("one", { image: "one:2" }), container("two"), container("two"))),
      merge("c", { metadata: { labels: { x: "1" } } }),
      strategic("d", { spec: { containers: [{ name: "two", image: "two:3" }] } }),
      apply("a", { spec: { tolerations: [{ key: "k", operator: "Exists" }] } }),
      { as: "k", verb: "merge", subresource: "status", body: { status: { conditions: [ready] } } },
    ],
  },
  "a pod that is created": {
    ...pod,
    name: "ssa-pod-created",
    steps: [
      create("c", {
        metadata: { labels: { app: "x" } },
        spec: {
          containers: [
            container("one", {
              ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }],
              livenessProbe: { httpGet: { port: 80 } },
              securityContext: { runAsUser: 1 },
              envFrom: [{ configMapRef: { name: "x" } }],
            }),
          ],
          volumes: [{ name: "v", emptyDir: {} }],
          tolerations: [{ key: "k", operator: "Exists" }],
        },
      }),
      strategic("d", { spec: { containers: [{ name: "one", image: "one:2" }] } }),
    ],
  },
  "the rules of a role, as a whole": {
    ...role,
    name: "ssa-role",
    steps: [
      apply("a", rules("get")),
      apply("b", rules("get")),
      apply("b", rules("get", "list")),
      force("b", rules("get", "list")),
      merge("c", rules("watch")),
    ],
  },
  "a role that is created": { ...role, name: "ssa-role-created", steps: [create("c", rules("get"))] },
  "a namespace": {
    ...namespace,
    name: "ssa-namespace",
    steps: [
      apply("a", { metadata: { labels: { l: "1" } } }),
      apply("b", { metadata: { labels: { l: "2" } } }),
      merge("c", { metadata: { annotations: { x: "1" } } }),
    ],
  },
  "a service account": {
    ...account,
    name: "ssa-account",
    steps: [
      create("c", { imagePullSecrets: [{ name: "p" }], automountServiceAccountToken: false }),
      apply("a", { imagePullSecrets: [{ name: "q" }], automountServiceAccountToken: true }),
      force("a", { imagePullSecrets: [{ name: "q" }], automountServiceAccountToken: true }),
    ],
  },
  "a secret": {
    ...secret,
    name: "ssa-secret",
    steps: [
      create("c", { stringData: { a: "1" } }),
      apply("a", { data: { a: "Mg==", b: "Mg==" } }),
      force("a", { data: { a: "Mg==", b: "Mg==" } }),
    ],
  },
  "a lease": {
    ...lease,
    name: "ssa-lease",
    steps: [
      create("c", {
        spec: { holderIdentity: "h", leaseDurationSeconds: 10, renewTime: "2026-01-01T00:00:00.000000Z" },
      }),
      merge("c", { spec: { renewTime: "2026-01-01T00:00:10.000000Z" } }),
      merge("d", { spec: { holderIdentity: "i" } }),
    ],
  },
  "a custom resource, with every way to merge": {
    ...widget,
    name: "ssa-widget",
    steps: [
      apply("a", {
        spec: {
          atomic: { k: "1" },
          labels: { k: "1" },
          tags: ["t"],
          plain: ["p"],
          free: { x: [1] },
          ports: [{ port: 80, protocol: "TCP", name: "http" }],
        },
      }),
      apply("b", { spec: { labels: { l: "1" }, tags: ["u"], ports: [{ port: 80, protocol: "UDP" }], free: { z: 1 } } }),
      apply("b", { spec: { atomic: { l: "1" }, plain: ["q"], ports: [{ port: 80, protocol: "TCP", name: "web" }] } }),
      force("b", { spec: { atomic: { l: "1" }, plain: ["q"], ports: [{ port: 80, protocol: "TCP", name: "web" }] } }),
      merge("c", { spec: { size: 3, tags: ["t", "v"], free: { x: null, w: "1" } } }),
      apply("a", { spec: { tags: ["t"], labels: { k: "1" } } }),
      apply("a", { spec: { nonsense: 1 } }),
    ],
  },
  "a custom resource that is created": {
    ...widget,
    name: "ssa-widget-created",
    steps: [create("c", { spec: { labels: { k: "1" }, ports: [{ port: 80, protocol: "TCP" }], free: { x: 1 } } })],
  },
  "eleven who update": {
    ...configMap,
    name: "ssa-many",
    steps: [
      create("c", { data: { x: "1" } }),
      ...Array.from({ length: 11 }, (_none, index) =>
        merge(`m${String(index).padStart(2, "0")}`, { data: { [`k${index}`]: "1" } }),
      ),
    ],
  },
};

const methods = { apply: "PATCH", force: "PATCH", create: "POST", replace: "PUT", get: "GET" } as const;
const types = {
  apply: "application/apply-patch+yaml",
  force: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  json: "application/json-patch+json",
} as const;

async function run(
  api: ApiClient,
  { path, name, kind }: Scenario,
  { as, verb, body, subresource }: Step,
): Promise<Reply> {
  const method = verb in methods ? methods[verb as keyof typeof methods] : "PATCH";
  const query = new URLSearchParams({
    ...(as === "" ? {} : { fieldManager: as }),
    ...(verb === "force" ? { force: "true" } : {}),
  });
  const whole = method !== "PATCH" || verb === "apply" || verb === "force";
  const given = (body ?? {}) as { metadata?: object };
  const sent = whole ? { ...kind, ...given, metadata: { name, ...given.metadata } } : given;
  const below = subresource === undefined ? "" : `/${subresource}`;
  return api(`${method === "POST" ? path : `${path}/${name}${below}`}?${query.toString()}`, {
    method,
    type: types[verb as keyof typeof types] ?? "application/json",
    body: JSON.stringify(sent),
  });
}

interface Entry {
  readonly manager?: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly fieldsV1: object;
}

interface Cause {
  readonly field: string;
}

/**
 * What both sides must agree on: the code, the owners, and what a refusal says. Left out is where 1.20 differs from later releases: it
 * gives a time to who applies nothing new, takes fewer structs as a whole (owner references, node selectors) and all that has no schema, names no place in errors about types, and its controllers write into service accounts.
 */
function seen(reply: Reply): unknown {
  if (reply.status >= 400) {
    const { message, details } = reply.json() as { message: string; details?: { causes?: readonly Cause[] } };
    const causes = details?.causes?.toSorted((x, y) => (x.field < y.field ? -1 : 1));
    return { status: reply.status, message: message.replace(/ \(.*; .*\)/, ""), causes };
  }
  const object: ApiObject = reply.object();
  const entries = (object.metadata.managedFields ?? []) as readonly Entry[];
  const owners = entries
    .filter(({ manager }) => manager !== "kube-controller-manager")
    .map(({ manager, operation, apiVersion, fieldsV1 }) => [
      `${manager} ${operation} ${apiVersion}`,
      JSON.stringify(fieldsV1),
    ]);
  const { annotations, finalizers, ownerReferences, labels } = object.metadata;
  const { metadata: _metadata, status: _status, spec: _spec, secrets: _secrets, ...content } = object;
  const own = Object.entries(labels ?? {}).filter(([key]) => key !== "kubernetes.io/metadata.name");
  return {
    status: reply.status,
    owners: Object.fromEntries(owners) as unknown,
    content,
    metadata: { labels: own, annotations, finalizers, ownerReferences },
  };
}

peerSuite(kubePrograms, "server-side apply as kube-apiserver 1.20.2 does it", () => {
  let hub: TestHub;
  let kube: Kubernetes;
  let ours: ApiClient;
  let theirs: ApiClient;

  beforeAll(async () => {
    [hub, kube] = await Promise.all([startTestHub(), startKubernetes()]);
    ours = apiClient(hub);
    theirs = apiClient(kube);
    for (const { kubectl } of [hub, kube]) {
      await kubectl.with({ input: JSON.stringify(definition) }).ok("create", "-f", "-");
      await kubectl.ok("wait", "--for=condition=Established", "crd/widgets.ssa.example.com", "--timeout=40s");
      await eventually("the service account of pods", async () =>
        (await kubectl("get", "serviceaccount", "default")).code === 0 ? true : undefined,
      );
    }
  }, 240_000);

  afterAll(async () => {
    ours?.close();
    theirs?.close();
    await Promise.all([hub?.close(), kube?.stop()]);
  });

  test.each(Object.entries(scenarios))("%s", async (_title, scenario) => {
    for (const [index, step] of scenario.steps.entries()) {
      const [mine, other] = [await run(ours, scenario, step), await run(theirs, scenario, step)];
      expect.soft(seen(mine), `step ${index}: ${JSON.stringify(step)}`).toEqual(seen(other));
    }
  });
});
