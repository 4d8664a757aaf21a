import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient, type Ask, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { eventually } from "../kits/peers-process.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const controllers =
  "validatingadmissionpolicy-status-controller,namespace-controller,serviceaccount-controller,serviceaccount-token-controller";

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";
const yamlBodies: Readonly<Record<string, string>> = {
  "a key twice at the root": `${head}data:\n  a: "1"\ndata:\n  b: "2"\n`,
  "keys that occur three times, and in other spelling": `${head}data:\n  a: "1"\n  a: "2"\n  a: "3"\n  b: "1"\n  "b": "2"\n`,
  "a flow mapping": '{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: "1",\n a: "2"}}',
  JSON: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1",\n"a":"2"}}',
  "values of several lines": `${head}data:\n  a: "1"\n  a: |\n    x\n    y\n  a:\n\n    plain\n  a: "1\n    2"\n`,
  "a key with quotes": `${head}data:\n  'a"b': "1"\n  'a"b': "2"\n`,
  "a mapping twice, with a key twice in it": `${head}  labels:\n    a: b\n  labels:\n    a: b\n    a: c\n`,
  "nothing as value": `${head}  labels:\n  labels:\n    a: b\n  annotations: {}\n  annotations:\ndata: {}\ndata:\n`,
  "an unknown field too": `${head}foo: 1\ndata:\n  a: "1"\n  a: "2"\n`,
  "the kind twice": "apiVersion: v1\nkind: ConfigMap\nkind: ConfigMap\nmetadata:\n  name: x\n",
  "no kind": "metadata:\n  name: x\n  name: z\n",
  "comments and a document marker":
    "# c\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  # c\n  name: z\n",
  "an item of a list": `${head}  ownerReferences:\n  - apiVersion: v1\n    kind: Pod\n    name: a\n    name: b\n    uid: u\n`,
  "explicit keys": `${head}data:\n  ? a\n  : "1"\n  ? a\n  : "2"\n`,
  "a list twice": `${head}  finalizers: [a.b/c]\n  finalizers:\n  - a.b/c\n`,
  "another kind": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  name: z\n",
};
const map = (rest: string): string => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}${rest}`;
const owner = '{"apiVersion":"v1","kind":"Pod","name":"a","name":"b","uid":"u","zz":1}';
const jsonBodies: Readonly<Record<string, string>> = {
  "keys that occur three times": map(',"data":{"a":"1","a":"2","a":"3","b":"1","b":"2"}}'),
  "fields at several depths":
    '{"apiVersion":"v1","kind":"ConfigMap","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b"},"labels":{"a":"b","a":"c"}},"data":{"a":"1"},"data":{"a":"2"}}',
  "unknown fields that occur twice":
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","nope":1,"nope":{"a":1,"a":2}},"foo":{"b":1,"b":2},"data":{"a":"1","a":"2"},"foo":1}',
  "a field in other case": map(',"Data":{"a":"1"},"data":{"a":"2"}}'),
  "a list": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","ownerReferences":[${owner}]}}`,
  "a key with quotes": map(String.raw`,"data":{"a\"b":"1","a\"b":"2"}}`),
  "a hundred and thirty keys": map(
    `,"data":{${Array.from({ length: 130 }, (_, at) => `"k${at}":"1","k${at}":"2"`).join(",")}}}`,
  ),
};

const healthQueries = ["", "?verbose", "?verbose=0", "?exclude=etcd", "?verbose&exclude=etcd"];
const unknownQueries = ["?exclude=none", "?verbose&exclude=etcd&exclude=none&exclude=zz%22", "?verbose&exclude="];
const healthPaths = [
  ...healthQueries,
  ...unknownQueries,
  "/",
  "/ping",
  "/ping/",
  "/ping?exclude=ping",
  "/etcd",
  "/etcd?verbose",
  "/none",
  "/poststarthook",
  "/poststarthook/rbac/bootstrap-roles",
  "/poststarthook/crd-informer-synced",
  "/autoregister-completion",
  "/etcd-readiness",
  "/shutdown",
];

const table = "application/json;as=Table;v=v1;g=meta.k8s.io";
const metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const accepted = [
  table,
  `${table},application/json`,
  table.replace("json", "yaml"),
  table.replace("application/json", "application/vnd.kubernetes.protobuf"),
  metadataOnly,
];
const review = { spec: { user: "x", resourceAttributes: { verb: "get", resource: "pods" } } };
const self = { spec: { resourceAttributes: { verb: "get", resource: "pods" } } };
const local = { metadata: { namespace: "default" }, spec: { ...review.spec } };
const answers: readonly (readonly [path: string, ask: Ask])[] = [
  ["/apis/authorization.k8s.io/v1/subjectaccessreviews", { method: "POST", body: review }],
  ["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { method: "POST", body: self }],
  [
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    { method: "POST", body: { spec: { namespace: "default" } } },
  ],
  ["/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", { method: "POST", body: local }],
  ["/apis/authentication.k8s.io/v1/tokenreviews", { method: "POST", body: { spec: { token: "x" } } }],
  ["/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body: {} }],
  ["/api/v1/namespaces/default/serviceaccounts/default/token", { method: "POST", body: { spec: {} } }],
  ["/api/v1/namespaces/default", {}],
  ["/api/v1/namespaces/default/status", {}],
  ["/api/v1/namespaces/none/finalize", { method: "PUT", body: { metadata: { name: "none" } } }],
  [`${definitions}/none.example.com/status`, {}],
  ["/apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval", {}],
  [`${apiServices}/v1.`, {}],
  [`${apiServices}/v1./status`, {}],
  [apiServices, {}],
  ["/apis/apiregistration.k8s.io/v1", {}],
];

interface Recorded {
  readonly definition: object;
  readonly policies: readonly { readonly title: string; readonly spec: object; readonly warnings: readonly object[] }[];
}
const fixture = new URL("../fixtures/kube-apiserver-1.36-type-checking.json", import.meta.url);
const recorded = JSON.parse(readFileSync(fixture, "utf8")) as Recorded;

peerSuite(
  [...kubePrograms, "../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"],
  "answers beside kube-apiserver 1.36",
  () => {
    let kubernetes: Kubernetes;
    let hub: TestHub;
    let clients: { readonly ours: ApiClient; readonly theirs: ApiClient };

    beforeAll(async () => {
      [kubernetes, hub] = await Promise.all([startKubernetes(controllers, {}, {}, "current"), startTestHub()]);
      clients = { ours: apiClient(hub), theirs: apiClient(kubernetes) };
      await eventually("the account", async () => {
        const path = "/api/v1/namespaces/default/serviceaccounts/default";
        return (await clients.theirs(path)).status === 200 ? true : undefined;
      });
      for (const client of Object.values(clients)) {
        await client(definitions, { method: "POST", body: recorded.definition });
        await eventually("boats to be served", async () =>
          (await client("/apis/example.com/v1/boats")).status === 200 ? true : undefined,
        );
      }
    }, 900_000);
    afterAll(async () => {
      for (const client of Object.values(clients ?? {})) client.close();
      await Promise.all([kubernetes?.stop(), hub?.close()]);
    });

    const both = async (
      path: string,
      ask: Ask,
      seen: (reply: Reply) => unknown,
    ): Promise<{ readonly ours: unknown; readonly theirs: unknown }> => {
      const [ours, theirs] = await Promise.all([clients.ours(path, ask), clients.theirs(path, ask)]);
      return { ours: seen(ours), theirs: seen(theirs) };
    };

    describe.each(["Strict", "Warn", "Ignore"])("fieldValidation %s", (fieldValidation) => {
      const query = `dryRun=All&fieldValidation=${fieldValidation}`;

      it.each(Object.entries(yamlBodies))("says the same of YAML with %s, created or applied", async (_title, body) => {
        const created = await both(`${maps}?${query}`, { method: "POST", type: "application/yaml", body }, decoded);
        expect(created.ours).toEqual(created.theirs);
        const ask = { method: "PATCH", type: "application/apply-patch+yaml", body };
        const applied = await both(`${maps}/x?${query}&fieldManager=m`, ask, decoded);
        expect(applied.ours).toEqual(applied.theirs);
      });

      it.each(Object.entries(jsonBodies))("says the same of JSON with %s", async (_title, body) => {
        const { ours, theirs } = await both(
          `${maps}?${query}`,
          { method: "POST", type: "application/json", body },
          decoded,
        );
        expect(ours).toEqual(theirs);
      });
    });

    it.each(["/healthz", "/livez", "/readyz"])("%s has the same statuses and bodies", async (endpoint) => {
      const names = async (client: ApiClient): Promise<readonly string[]> =>
        Array.from((await client(`${endpoint}?verbose`)).text.matchAll(/^\[\+\](\S+) ok$/gm), ([, name = ""]) => name);
      const [ours, theirs] = [await names(clients.ours), await names(clients.theirs)];
      const shared = ours.filter((name) => theirs.includes(name));
      expect(shared).toEqual(
        expect.arrayContaining(["ping", "etcd", "poststarthook/rbac/bootstrap-roles", "autoregister-completion"]),
      );
      const seen = (reply: Reply): unknown => ({
        status: reply.status,
        type: reply.headers["content-type"],
        sniff: reply.headers["x-content-type-options"],
        lines: reply.text.split("\n").filter((line) => {
          const [, name] = /^\[.\](\S+) /.exec(line) ?? [];
          return name === undefined || shared.includes(name);
        }),
      });
      for (const path of healthPaths) {
        const answer = await both(`${endpoint}${path}`, {}, seen);
        expect({ path, answer: answer.ours }).toEqual({ path, answer: answer.theirs });
      }
    });

    it("has the same APIServices of the groups that both serve, and of those of definitions", async () => {
      const seen = (reply: Reply): ReadonlyMap<string, unknown> =>
        new Map(
          reply.items().map(({ metadata, spec, status }) => {
            const shown = { labels: metadata.labels, spec, status };
            const text = JSON.stringify(shown).replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "TIME");
            return [metadata.name ?? "", JSON.parse(text) as unknown];
          }),
        );
      const names = ["v1.example.com", "v1beta1.example.com"];
      for (const client of Object.values(clients)) {
        await eventually("the APIServices of boats", async () => {
          const found = seen(await client(apiServices));
          return names.every((name) => found.has(name)) ? true : undefined;
        });
      }
      const { ours, theirs } = (await both(apiServices, {}, seen)) as Record<string, ReadonlyMap<string, unknown>>;
      const shared = [...(ours?.keys() ?? [])].filter((name) => theirs?.has(name));
      expect(shared).toEqual(expect.arrayContaining(["v1.", "v1.rbac.authorization.k8s.io", ...names]));
      for (const name of shared) expect([name, ours?.get(name)]).toEqual([name, theirs?.get(name)]);
    });

    it("has the same discovery of them, but for what changes them", async () => {
      const group = await both("/apis/apiregistration.k8s.io", {}, (reply) => reply.json());
      expect(group.ours).toEqual(group.theirs);
      const version = await both("/apis/apiregistration.k8s.io/v1", {}, (reply) => {
        const { resources, ...rest } = reply.json() as { resources: readonly Record<string, unknown>[] };
        const readable = (verb: string): boolean => ["get", "list", "watch"].includes(verb);
        return {
          ...rest,
          resources: resources.map((one) => ({ ...one, verbs: (one["verbs"] as string[]).filter(readable) })),
        };
      });
      expect(version.ours).toEqual(version.theirs);
      const columns = await both(`${apiServices}/v1.`, { accept: table }, (reply) => {
        const { columnDefinitions, rows } = reply.json() as {
          columnDefinitions: readonly { name: string; type: string; format: string; priority: number }[];
          rows: readonly { cells: readonly unknown[] }[];
        };
        return [
          columnDefinitions.map(({ name, type, format, priority }) => ({ name, type, format, priority })),
          rows.map(({ cells }) => cells.slice(0, 3)),
        ];
      });
      expect(columns.ours).toEqual(columns.theirs);
    });

    it.each(answers)("answers %s in the same forms", async (path, ask) => {
      for (const accept of accepted) {
        const { ours, theirs } = await both(path, { ...ask, accept }, shape);
        expect({ accept, answer: ours }).toEqual({ accept, answer: theirs });
      }
    });

    it.each(recorded.policies.map((policy, at) => [policy.title, { ...policy, name: `checked-${at}` }] as const))(
      "has the same type checking in the status of a policy: %s",
      async (_title, { name, spec, warnings }) => {
        const found: unknown[] = [];
        for (const client of [clients.ours, clients.theirs]) {
          const created = await client(policies, { method: "POST", body: { metadata: { name }, spec } });
          expect([created.status, created.status === 201 ? "" : created.text]).toEqual([201, ""]);
          const status = await eventually("the policy to be checked", async () => {
            const { status: now } = (await client(`${policies}/${name}`)).json() as { status?: object };
            return now !== undefined && "observedGeneration" in now ? now : undefined;
          });
          // kube-apiserver adds a number to the names of types.
          found.push(JSON.parse(JSON.stringify(status).replaceAll(/\b(ConfigMap|Pod|Boat)\d+/g, "$1")));
        }
        expect(found[0]).toEqual(found[1]);
        const typeChecking = warnings.length === 0 ? {} : { expressionWarnings: warnings };
        expect(found[1]).toEqual({ observedGeneration: 1, typeChecking });
      },
    );
  },
);

/** What became of a body. */
function decoded(reply: Reply): unknown {
  const { kind, message, reason, data, metadata } = reply.json() as Record<string, unknown> & {
    readonly metadata: { readonly labels?: unknown; readonly ownerReferences?: unknown };
  };
  const { labels, ownerReferences } = metadata;
  const warnings = [reply.headers["warning"] ?? []].flat().join(", ");
  return { status: reply.status, kind, message, reason, data, labels, ownerReferences, warnings };
}

/** In which form something was answered. */
function shape(reply: Reply): unknown {
  const type = String(reply.headers["content-type"]);
  if (type !== "application/json") return { status: reply.status, type };
  const { kind, message, reason } = reply.json();
  return { status: reply.status, type, kind, message, reason };
}
