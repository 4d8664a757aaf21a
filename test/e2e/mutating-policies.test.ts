import { afterEach, describe, expect, it } from "vitest";
import { apiClient, type Reply } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import {
  applied,
  bindingOf,
  jsonPatched,
  mutationCases,
  policyOf,
  refusedBindings,
  refusedPolicies,
  shapedRule,
} from "../kits/mutating-policies.ts";
import { thingDefinition } from "../kits/thing-definition.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/mutatingadmissionpolicies`;
const bindings = `${registration}/mutatingadmissionpolicybindings`;
const maps = "/api/v1/namespaces/default/configmaps";
const pods = "/api/v1/namespaces/default/pods";

const { hub, api, post } = await hubForFile({ users: { mallory: [] }, disableAdmissionPlugins: ["ServiceAccount"] });

afterEach(async () => {
  for (const path of [bindings, policies, maps]) await api(path, { method: "DELETE" });
});

async function enforce(spec: object, binding: object = {}): Promise<void> {
  expect((await post(policies, policyOf(spec))).json()).toHaveProperty("metadata.uid");
  expect((await post(bindings, bindingOf(binding))).json()).toHaveProperty("metadata.uid");
}

/** What a case comes to: of an object what may be mutated, of a refusal its text. */
async function outcome(name: string): Promise<unknown> {
  const { spec, binding, before = {}, object, pods: isPod = false } = mutationCases[name] ?? { spec: {}, object: {} };
  for (const body of Object.values(before)) expect((await post(maps, body)).status).toBe(201);
  await enforce(spec, binding);
  const reply = await post(`${isPod ? pods : maps}?dryRun=All`, object);
  if (reply.status !== 201) return reply.json()["message"];
  const { metadata, data, spec: stored } = reply.object();
  return { labels: metadata.labels, data, containers: (stored as { containers?: unknown } | undefined)?.containers };
}

describe("a policy that mutates", () => {
  const denied = "policy 'shapes' with binding 'bound' denied request: ";
  const yes = { labels: { a: "yes" } };
  const outcomes: Readonly<Record<string, unknown>> = {
    "an apply configuration adds fields and keeps the others": {
      labels: { own: "1", a: "b" },
      data: { k: "v!", l: "w" },
    },
    "an apply configuration merges lists by their keys": {
      containers: [
        expect.objectContaining({
          image: "i:1",
          env: [
            { name: "KEPT", value: "1" },
            { name: "ADDED", value: "i:1" },
          ],
        }),
      ],
    },
    "a JSON patch adds, copies, moves, tests and removes": {
      labels: { "example.com/x": "y" },
      data: { a: "1", b: "3", c: "1", e: "2" },
    },
    "a JSON patch adds objects that the expression makes": {
      containers: [
        expect.objectContaining({ name: "c" }),
        expect.objectContaining({
          name: "side",
          ports: [{ containerPort: 80, protocol: "TCP" }],
          terminationMessagePath: "/dev/termination-log",
        }),
      ],
    },
    "a JSON patch whose test does not hold changes nothing": { data: { a: "1", after: "yes" } },
    "mutations see what those before have changed, in variables too": { data: { a: "1", first: "1", second: "2" } },
    "a policy that is not reinvoked mutates once": { data: { n: "x" } },
    "a policy that is reinvoked if needed mutates again after itself": { data: { n: "xx" } },
    "a condition that does not hold leaves the object alone": {},
    "a condition that fails refuses": `${denied}expression 'object.data.none == 'x'' resulted in error: no such key: none`,
    "a condition that fails is passed over with failurePolicy Ignore": {},
    "a binding narrows its policy": {},
    "parameters come from the object that the binding names": { data: { from: "there" } },
    "parameters that are missing refuse": `${denied}failed to configure binding: no params found for policy binding with \`Deny\` parameterNotFoundAction`,
    "an expression that fails refuses, after the other mutations were tried": `${denied}expression 'Object{data: {'x': object.data.none}}' resulted in error: no such key: none`,
    "an expression that fails is passed over with failurePolicy Ignore, and the others mutate": {
      ...yes,
      data: { a: "1" },
    },
    "an object that is not named after its field refuses": `${denied}type mismatch: unexpected type name "Object.metadatas", expected "Object.metadata", which matches field name path from root Object type`,
    "a field that the kind does not have refuses": `${denied}error applying patch: failed to convert patch object to typed object: .metadata.nothing: field not declared in schema`,
    "a value of another type refuses": expect.stringContaining(
      `${denied}error applying patch: failed to convert patch object to typed object: .metadata.labels.a: expected string, got `,
    ),
    "an apply configuration of what is replaced as a whole refuses": `${denied}error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.containers[0].args`,
    "a JSON patch with a field that the kind does not have is an error, whatever failurePolicy says":
      'Internal error occurred: strict decoding error: unknown field "metadata.nothing"',
    "a JSON patch of another type is an error": expect.stringMatching(
      /^Internal error occurred: json: cannot unmarshal /,
    ),
    "what mutations make is validated as what clients send": expect.stringContaining(
      'ConfigMap "m" is invalid: metadata.labels: Invalid value: "a b"',
    ),
  };

  it.each(Object.keys(mutationCases))("%s", async (name) => {
    const { labels, data, containers } = { labels: undefined, data: undefined, containers: undefined };
    const expected = outcomes[name];
    const isObject = typeof expected === "object" && !("asymmetricMatch" in (expected ?? {}));
    expect(await outcome(name)).toEqual(isObject ? { labels, data, containers, ...expected } : expected);
  });

  it("without a binding mutates nothing", async () => {
    await post(policies, policyOf({ mutations: [applied("Object{data: {'a': 'b'}}")] }));
    expect((await post(maps, { metadata: { name: "m" } })).json()).not.toHaveProperty("data");
  });

  it("that refuses answers 403 with the reason Invalid, and names every failure", async () => {
    await enforce({
      mutations: [applied("Object{data: {'x': object.none}}"), applied("Object{data: {'y': object.none}}")],
    });
    const reply = await post(maps, { metadata: { name: "m" } });
    expect(reply.json()).toMatchObject({ code: 403, reason: "Invalid", details: { name: "m", kind: "configmaps" } });
    expect(reply.json()).toHaveProperty("details.causes.length", 2);
  });

  it("also mutates updates, and sees the object before", async () => {
    await post(maps, { metadata: { name: "m" }, data: { k: "old" } });
    await enforce({
      mutations: [jsonPatched("[JSONPatch{op: 'add', path: '/data/was', value: oldObject.data.k}]")],
      matchConditions: [{ name: "updates", expression: "request.operation == 'UPDATE'" }],
    });
    const type = "application/merge-patch+json";
    const reply = await api(`${maps}/m`, { method: "PATCH", type, body: { data: { k: "new" } } });
    expect(reply.object()["data"]).toEqual({ k: "new", was: "old" });
  });

  it("mutates custom resources by their schema, in the version that it matches", async () => {
    expect((await post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", thingDefinition)).status).toBe(201);
    await enforce({
      matchConstraints: {
        resourceRules: [{ ...shapedRule, apiGroups: ["example.com"], apiVersions: ["*"], resources: ["things"] }],
      },
      mutations: [
        applied("Object{metadata: Object.metadata{annotations: {'kind': object.kind}}}"),
        jsonPatched("[JSONPatch{op: 'add', path: '/spec', value: Object.spec{size: 3, unknown: 1}}]"),
      ],
    });
    const things = "/apis/example.com/v1/namespaces/default/things";
    await expect.poll(async () => (await api(things)).status).toBe(200);
    const reply = await post(things, { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "t" } });
    expect(reply.json()).toMatchObject({ metadata: { annotations: { kind: "Thing" } }, spec: { size: 3 } });
    expect(reply.json()).not.toHaveProperty("spec.unknown");
  });

  it("comes before the webhooks and policies that validate, which see what it made", async () => {
    await enforce({ mutations: [applied("Object{data: {'made': 'yes'}}")] });
    const validating = `${registration}/validatingadmissionpolicies`;
    await post(validating, {
      metadata: { name: "made" },
      spec: {
        matchConstraints: { resourceRules: [shapedRule] },
        validations: [{ expression: "object.data.made == 'no'" }],
      },
    });
    await post(validating.replace(/ies$/, "ybindings"), {
      metadata: { name: "made" },
      spec: { policyName: "made", validationActions: ["Warn"] },
    });
    const reply = await post(`${maps}?dryRun=All`, { metadata: { name: "m" } });
    expect([reply.status, String(reply.headers["warning"])]).toEqual([
      201,
      expect.stringContaining("ValidatingAdmissionPolicy 'made'"),
    ]);
    await api(validating, { method: "DELETE" });
    await api(validating.replace(/ies$/, "ybindings"), { method: "DELETE" });
  });

  it("does not mutate policies and webhooks, so that it can always be put right", async () => {
    const all = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] };
    await enforce({
      matchConstraints: { resourceRules: [{ ...all, operations: ["CREATE", "UPDATE"] }] },
      mutations: [applied("Object{metadata: Object.metadata{labels: {'a': object.none}}}")],
    });
    expect((await post(`${bindings}?dryRun=All`, { ...bindingOf(), metadata: { name: "other" } })).status).toBe(201);
    expect((await post(maps, { metadata: { name: "m" } })).status).toBe(403);
  });

  it("ends where its patch is far larger than what made it", async () => {
    const doubled = Array.from({ length: 40 }, (_, index) => ({
      name: `v${index}`,
      expression: index === 0 ? "['x']" : `[variables.v${index - 1}, variables.v${index - 1}]`,
    }));
    await enforce({
      variables: doubled,
      mutations: [jsonPatched("[JSONPatch{op: 'add', path: '/data', value: variables.v39}]")],
    });
    expect((await post(maps, { metadata: { name: "m" } })).json()["message"]).toContain(
      "holds more than 100000 values",
    );
  });
});

const text = (reply: Reply): string => String(reply.json()["message"]);

describe("writing a policy that mutates", () => {
  it.each(Object.entries(refusedPolicies))("%s is refused", async (_title, body) => {
    const reply = await post(policies, body);
    expect([reply.status, text(reply)]).toEqual([422, expect.stringContaining("MutatingAdmissionPolicy")]);
  });

  it.each(Object.entries(refusedBindings))("a binding %s is refused", async (_title, body) => {
    const reply = await post(bindings, body);
    expect([reply.status, text(reply)]).toEqual([422, expect.stringContaining("MutatingAdmissionPolicyBinding")]);
  });

  it("fills in the defaults of Kubernetes, and shows its columns", async () => {
    const mutations = [applied("Object{}"), jsonPatched("[JSONPatch{}]")];
    const stored = (await post(policies, policyOf({ mutations }))).object();
    expect(stored["spec"]).toMatchObject({
      failurePolicy: "Fail",
      matchConstraints: { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} },
    });
    const table = await api(policies, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    expect(table.json()).toMatchObject({ rows: [{ cells: ["shapes", 2, "<unset>", expect.any(String)] }] });
  });

  it("with parameters is refused to a user who may not read them", async () => {
    const role = { name: "author" };
    await post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      metadata: role,
      rules: [{ apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] }],
    });
    await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: role,
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "author" },
      subjects: [{ kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" }],
    });
    const mallory = apiClient(hub, { token: hub.token("mallory") });
    const paramKind = { apiVersion: "v1", kind: "Secret" };
    const body = policyOf({ paramKind, mutations: [applied("Object{}")] });
    expect(text(await mallory(policies, { method: "POST", body }))).toContain(
      'spec.paramKind: Forbidden: user mallory must have "get" permission',
    );
    await post(policies, body);
    const paramRef = { name: "s", namespace: "default", parameterNotFoundAction: "Deny" };
    expect(text(await mallory(bindings, { method: "POST", body: bindingOf({ paramRef }) }))).toContain(
      'spec.paramRef: Forbidden: user mallory does not have "get" permission on the object referenced by paramRef',
    );
    mallory.close();
  });
});
