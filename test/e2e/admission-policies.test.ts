import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { apiClient, type Reply } from "../kits/api-client.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import { peerSuite } from "../kits/peers.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;

const { hub, api, post } = await hubForFile({ users: { mallory: [] } });
let namespace: string;
let maps: string;
let count = 0;

beforeEach(async () => {
  count += 1;
  namespace = `policies-${count}`;
  maps = `/api/v1/namespaces/${namespace}/configmaps`;
  await post("/api/v1/namespaces", { metadata: { name: namespace, labels: { team: "red" } } });
});

afterEach(async () => {
  await api(policies, { method: "DELETE" });
  await api(bindings, { method: "DELETE" });
});

const map = (name: string, data: object = {}): Promise<Reply> => post(maps, { metadata: { name }, data });
const rule = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };

function policyObject(spec: object): object {
  return { metadata: { name: "rules" }, spec: { matchConstraints: { resourceRules: [rule] }, ...spec } };
}

/** Puts a policy into force. */
async function enforce(spec: object, binding: object = {}): Promise<void> {
  expect((await post(policies, policyObject(spec))).json()).toHaveProperty("metadata.uid");
  const bound = await post(bindings, {
    metadata: { name: "bound" },
    spec: { policyName: "rules", validationActions: ["Deny"], ...binding },
  });
  expect(bound.json()).toHaveProperty("metadata.uid");
}

/** What a refused request was told, without who refused it. */
function told(reply: Reply): unknown {
  const message = String(reply.json()["message"]);
  return message.slice(message.indexOf("denied request: ") + "denied request: ".length);
}

describe("a policy", () => {
  it("refuses what its expression does not hold for, with 422 and the expression", async () => {
    await enforce({ validations: [{ expression: "has(object.data) && size(object.data) < 2" }] });
    const refused = await map("a", { one: "1", two: "2" });
    const message =
      "ValidatingAdmissionPolicy 'rules' with binding 'bound' denied request: failed expression: has(object.data) && size(object.data) < 2";
    expect(refused.status).toBe(422);
    expect(refused.json()).toMatchObject({
      message: `configmaps "a" is forbidden: ${message}`,
      reason: "Invalid",
      details: { name: "a", kind: "configmaps", causes: [{ message }] },
      code: 422,
    });
    expect((await map("a", { one: "1" })).status).toBe(201);
  });

  it("without a binding says nothing", async () => {
    await post(policies, policyObject({ validations: [{ expression: "false" }] }));
    expect((await map("a")).status).toBe(201);
  });

  it.each([
    [{ message: "  too many " }, 422, "Invalid", "too many"],
    [{ message: "m", messageExpression: "'at most ' + string(1 + 1)" }, 422, "Invalid", "at most 2"],
    [{ message: "m", messageExpression: "string(object.missing)" }, 422, "Invalid", "m"],
    [{ messageExpression: "' '" }, 422, "Invalid", "failed expression: false"],
    [{ reason: "Forbidden" }, 403, "Forbidden", "failed expression: false"],
    [{ reason: "RequestEntityTooLarge" }, 413, "RequestEntityTooLarge", "failed expression: false"],
  ])("with %j answers %i %s: %s", async (fields, code, reason, message) => {
    await enforce({ validations: [{ expression: "false", ...fields }] });
    const reply = await map("a");
    expect([reply.status, reply.json()["reason"], told(reply)]).toEqual([code, reason, message]);
  });

  it("sees the object before and after, the request, and the namespace", async () => {
    await enforce({
      validations: [
        { expression: "request.operation != 'UPDATE' || object.data.k >= oldObject.data.k", message: "k shrank" },
        { expression: "request.operation != 'CREATE' || oldObject == null", message: "not new" },
        { expression: "request.operation != 'DELETE' || object == null", message: "not gone" },
        { expression: "namespaceObject.metadata.labels.team == 'red'", message: "not red" },
        { expression: "request.namespace == namespaceObject.metadata.name", message: "elsewhere" },
        { expression: "request.kind.kind == 'ConfigMap' && request.resource.resource == 'configmaps'" },
        { expression: "'system:masters' in request.userInfo.groups && !request.dryRun" },
      ],
    });
    expect((await map("a", { k: "5" })).status).toBe(201);
    const merge = "application/merge-patch+json";
    const shrunk = await api(`${maps}/a`, { method: "PATCH", type: merge, body: { data: { k: "4" } } });
    expect(told(shrunk)).toBe("k shrank");
    expect((await api(`${maps}/a`, { method: "DELETE" })).status).toBe(200);
  });

  it("evaluates variables when they are used, each with those before it", async () => {
    await enforce({
      variables: [
        { name: "data", expression: "has(object.data) ? object.data : {}" },
        { name: "count", expression: "size(variables.data)" },
        { name: "broken", expression: "object.missing.field" },
      ],
      validations: [
        { expression: "variables.count < 2", messageExpression: "'has ' + string(variables.count)" },
        { expression: "true || variables.broken" },
      ],
    });
    expect(told(await map("a", { one: "1", two: "2" }))).toBe("has 2");
    expect((await map("b", { one: "1" })).status).toBe(201);
  });

  it("asks the authorizers, also for somebody else, and about the request itself", async () => {
    const robot = `authorizer.serviceAccount('${namespace}', 'robot')`;
    await enforce({
      validations: [
        {
          expression: "authorizer.group('').resource('secrets').namespace('x').check('get').allowed()",
          message: "no secrets",
        },
        { expression: "authorizer.path('/metrics').check('get').allowed()", message: "no metrics" },
        { expression: "authorizer.requestResource.check('approve').allowed()", message: "no approval" },
        { expression: `!${robot}.group('').resource('secrets').check('get').allowed()`, message: "robot reads" },
        { expression: "!authorizer.requestResource.check('x').errored() || object.data.size() > 5" },
      ],
      matchConditions: [
        { name: "c", expression: "authorizer.group('apps').resource('deployments').check('get').allowed()" },
      ],
    });
    expect((await map("a")).status).toBe(201);
    const mallory = apiClient(hub, { token: hub.token("mallory") });
    const granted = {
      rules: [{ apiGroups: ["", "apps"], resources: ["configmaps", "deployments"], verbs: ["create", "get"] }],
    };
    await post("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: `maps-${count}` }, ...granted });
    await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: `maps-${count}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `maps-${count}` },
      subjects: [{ kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" }],
    });
    const refused = await mallory(maps, { method: "POST", body: { metadata: { name: "b" } } });
    mallory.close();
    expect(told(refused)).toBe("no secrets");
  });

  it("whose variable fails says so, where it is used", async () => {
    await enforce({
      variables: [{ name: "broken", expression: "object.missing.field" }],
      validations: [{ expression: "variables.broken == 1" }],
    });
    expect(told(await map("a"))).toBe(
      `expression 'variables.broken == 1' resulted in error: composited variable "broken" fails to evaluate: expression 'object.missing.field' resulted in error: no such key: missing`,
    );
  });

  it("that fails refuses, or with failurePolicy Ignore lets pass", async () => {
    const validations = [{ expression: "object.data.missing == 'x'" }];
    await enforce({ validations });
    expect(told(await map("a"))).toBe(
      "expression 'object.data.missing == 'x'' resulted in error: no such key: missing",
    );
    await api(policies, { method: "DELETE" });
    await api(bindings, { method: "DELETE" });
    await enforce({ validations, failurePolicy: "Ignore" });
    expect((await map("a")).status).toBe(201);
  });

  it("that costs too much is an error, each expression by itself and all together", async () => {
    const all = "[1,2,3,4,5,6,7,8,9,10]";
    const loops = ["a", "b", "c", "d", "e", "f", "g"].reduce((body, name) => `${all}.all(${name}, ${body})`, "true");
    await enforce({ validations: [{ expression: loops }, { expression: "true" }] });
    expect(told(await map("a"))).toBe(
      `expression '${loops}' resulted in error: operation cancelled: actual cost limit exceeded`,
    );
    await api(policies, { method: "DELETE" });
    await api(bindings, { method: "DELETE" });
    await enforce({ validations: Array.from({ length: 11 }, () => ({ expression: loops })) });
    expect(told(await map("a"))).toBe(
      "validation failed due to running out of cost budget, no further validation rules will be run",
    );
  });

  it("speaks of what its conditions and rules select, and not of what they exclude", async () => {
    await enforce({
      matchConstraints: {
        resourceRules: [rule],
        excludeResourceRules: [{ ...rule, resourceNames: ["excluded"] }],
        objectSelector: { matchExpressions: [{ key: "skip", operator: "DoesNotExist" }] },
      },
      matchConditions: [{ name: "not-free", expression: "!object.metadata.name.startsWith('free')" }],
      validations: [{ expression: "false" }],
    });
    expect((await map("a")).status).toBe(422);
    expect((await map("excluded")).status).toBe(201);
    expect((await map("free-1")).status).toBe(201);
    expect((await post(maps, { metadata: { name: "b", labels: { skip: "" } } })).status).toBe(201);
  });

  it("is narrowed by its binding", async () => {
    await enforce(
      { validations: [{ expression: "false" }] },
      { matchResources: { namespaceSelector: { matchLabels: { team: "blue" } } } },
    );
    expect((await map("a")).status).toBe(201);
  });
});

describe("the parameters of a policy", () => {
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    matchConstraints: {
      resourceRules: [rule],
      excludeResourceRules: [{ ...rule, resourceNames: ["limit", "limit-a", "limit-b"] }],
    },
    validations: [
      {
        expression: "!has(object.data) || size(object.data) <= int(params.data.max)",
        messageExpression: "string(params.data.max)",
      },
    ],
  };

  it("are the object that the binding names, as it is now", async () => {
    await enforce(spec, { paramRef: { name: "limit", parameterNotFoundAction: "Deny" } });
    const without = await map("a");
    expect(told(without)).toBe(
      "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction",
    );
    await map("limit", { max: "1" });
    expect((await map("a", { one: "1" })).status).toBe(201);
    expect(told(await map("b", { one: "1", two: "2" }))).toBe("1");
  });

  it("for a namespace lie in that namespace, which is not told as the one it is in", async () => {
    const namespaces = { ...rule, resources: ["namespaces"], operations: ["UPDATE"] };
    await map("limit", { max: "red" });
    await enforce(
      {
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        matchConstraints: { resourceRules: [namespaces] },
        validations: [
          { expression: "object.metadata.labels.team == params.data.max", message: "team" },
          { expression: "namespaceObject == null", message: "in itself" },
        ],
      },
      { paramRef: { name: "limit", parameterNotFoundAction: "Deny" } },
    );
    const label = (team: string): Promise<Reply> =>
      api(`/api/v1/namespaces/${namespace}`, {
        method: "PATCH",
        type: "application/merge-patch+json",
        body: { metadata: { labels: { team } } },
      });
    expect(told(await label("blue"))).toBe("team");
    expect((await label("red")).status).toBe(200);
  });

  it("that are missing let pass with Allow", async () => {
    await enforce(spec, { paramRef: { name: "limit", parameterNotFoundAction: "Allow" } });
    expect((await map("a", { one: "1" })).status).toBe(201);
  });

  it("that a selector finds are all tried", async () => {
    await enforce(spec, { paramRef: { selector: { matchLabels: { limit: "" } }, parameterNotFoundAction: "Deny" } });
    for (const [name, max] of Object.entries({ "limit-a": "5", "limit-b": "0" })) {
      await post(maps, { metadata: { name, labels: { limit: "" } }, data: { max } });
    }
    expect(told(await map("a", { one: "1" }))).toBe("0");
  });

  it("of a kind that is not known are an error", async () => {
    await enforce(
      { ...spec, paramKind: { apiVersion: "x.example/v1", kind: "Limit" } },
      { paramRef: { name: "limit", parameterNotFoundAction: "Deny" } },
    );
    expect(told(await map("a"))).toBe(
      "failed to configure binding: paramKind kind `x.example/v1, Kind=Limit` not known",
    );
  });

  it("are refused to somebody who may write policies and not read what they would tell", async () => {
    await post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
      metadata: { name: `author-${count}` },
      rules: [{ apiGroups: ["admissionregistration.k8s.io"], resources: ["*"], verbs: ["*"] }],
    });
    await post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: `author-${count}` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: `author-${count}` },
      subjects: [{ kind: "User", name: "mallory", apiGroup: "rbac.authorization.k8s.io" }],
    });
    const mallory = apiClient(hub, { token: hub.token("mallory") });
    const body = policyObject({ ...spec, paramKind: { apiVersion: "v1", kind: "Secret" } });
    const policy = await mallory(policies, { method: "POST", body });
    expect([policy.status, policy.json()["message"]]).toEqual([
      422,
      'ValidatingAdmissionPolicy.admissionregistration.k8s.io "rules" is invalid: spec.paramKind: Forbidden: user mallory must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)',
    ]);
    await post(policies, body);
    const paramRef = { name: "s", namespace, parameterNotFoundAction: "Deny" };
    const binding = await mallory(bindings, {
      method: "POST",
      body: { metadata: { name: "b" }, spec: { policyName: "rules", validationActions: ["Deny"], paramRef } },
    });
    expect(binding.json()["message"]).toContain(
      'spec.paramRef: Forbidden: user mallory does not have "get" permission on the object referenced by paramRef',
    );
    mallory.close();
  });
});

describe("what a binding does", () => {
  it("with Warn is a warning, and the object is stored", async () => {
    await enforce({ validations: [{ expression: "false", message: "tut" }] }, { validationActions: ["Warn", "Audit"] });
    const reply = await map("a");
    expect([reply.status, reply.headers["warning"]]).toEqual([
      201,
      `299 - "Validation failed for ValidatingAdmissionPolicy 'rules' with binding 'bound': tut"`,
    ]);
  });
});

describe("writing a policy", () => {
  it("fills in the defaults of Kubernetes", async () => {
    const stored = (await post(policies, policyObject({ validations: [{ expression: "true" }] }))).object();
    expect(stored.metadata.generation).toBe(1);
    expect(stored["spec"]).toEqual({
      failurePolicy: "Fail",
      matchConstraints: {
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        resourceRules: [{ ...rule, scope: "*" }],
      },
      validations: [{ expression: "true" }],
    });
  });

  it.each([
    [
      "an expression with a typo",
      { validations: [{ expression: "objekt.x" }] },
      /^spec\.validations\[0\]\.expression: Invalid value: "objekt\.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'objekt'/,
    ],
    ["an expression of another type", { validations: [{ expression: "1 + 1" }] }, /must evaluate to bool but got int$/],
    [
      "a message of another type",
      { validations: [{ expression: "true", messageExpression: "1" }] },
      /messageExpression: Invalid value: "1": must evaluate to string but got int$/,
    ],
    ["a broken expression", { validations: [{ expression: "a +" }] }, /compilation failed: ERROR: <input>:1:/],
    ["params without a kind", { validations: [{ expression: "params.x" }] }, /undeclared reference to 'params'/],
    ["a field that a request does not have", { validations: [{ expression: "request.foo" }] }, /undefined field 'foo'/],
    [
      "a later variable",
      {
        variables: [
          { name: "a", expression: "variables.b" },
          { name: "b", expression: "1" },
        ],
        validations: [{ expression: "true" }],
      },
      /spec\.variables\[0\]\.expression: Invalid value: "variables\.b": .*undefined field 'b'/,
    ],
    [
      "a variable of no name",
      { variables: [{ name: "for", expression: "1" }], validations: [{ expression: "true" }] },
      /spec\.variables\[0\]\.name: Invalid value: "for": must be a valid CEL identifier/,
    ],
    [
      "a variable of a dangerous name",
      { variables: [{ name: "__proto__", expression: "1" }], validations: [{ expression: "true" }] },
      /must be a valid CEL identifier/,
    ],
    [
      "nothing to do",
      {},
      /^\[spec\.validations: Required value: validations or auditAnnotations must contain at least one item, spec\.auditAnnotations: Required/,
    ],
    [
      "an unknown reason",
      { validations: [{ expression: "true", reason: "Gone" }] },
      /reason: Unsupported value: "Gone": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"$/,
    ],
    [
      "an annotation that is no text",
      { auditAnnotations: [{ key: "k", valueExpression: "1" }] },
      /valueExpression: Invalid value: "1": must evaluate to one of \[string null(_type)?\] but got int$/,
    ],
  ])("is refused for %s", async (_what, spec, message) => {
    const reply = await post(policies, policyObject(spec));
    expect(reply.status).toBe(422);
    const text = String(reply.json()["message"]);
    expect(text.slice(text.indexOf(" is invalid: ") + " is invalid: ".length)).toMatch(message);
  });

  it("of a binding is refused for what contradicts itself", async () => {
    const reply = await post(bindings, {
      metadata: { name: "b" },
      spec: { policyName: "p", validationActions: ["Deny", "Warn"], paramRef: { parameterNotFoundAction: "Maybe" } },
    });
    const [, ...errors] = String(reply.json()["message"]).split(/ is invalid: \[|, spec/);
    expect(errors).toEqual([
      ".paramRef: Required value: one of name or selector must be specified".replace(/^/, "spec"),
      '.paramRef.parameterNotFoundAction: Unsupported value: "Maybe": supported values: "Deny", "Allow"',
      expect.stringContaining(
        '.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn',
      ) as unknown,
    ]);
  });
});

peerSuite("kubectl", "kubectl and admission policies", () => {
  it("shows a refusal and the lists", async () => {
    await enforce({ validations: [{ expression: "false", message: "never" }] });
    const { err } = await hub.kubectl("create", "configmap", "x", "-n", namespace);
    expect(err).toBe(
      `error: failed to create configmap: configmaps "x" is forbidden: ValidatingAdmissionPolicy 'rules' with binding 'bound' denied request: never\n`,
    );
    expect(await hub.kubectl.ok("get", "validatingadmissionpolicies")).toMatch(
      /^NAME +VALIDATIONS +PARAMKIND +AGE\nrules +1 +<unset> +\d+s\n$/,
    );
    expect(await hub.kubectl.ok("get", "validatingadmissionpolicybindings")).toMatch(
      /^NAME +POLICYNAME +PARAMREF +AGE\nbound +rules +<unset> +\d+s\n$/,
    );
  });
});
