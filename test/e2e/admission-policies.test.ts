import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;

let hub: TestHub;
let api: ApiClient;
let namespace: string;
let maps: string;
let count = 0;

beforeAll(async () => {
  hub = await startTestHub({ users: { mallory: [] } });
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
});

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

const post = (path: string, body: object): Promise<Reply> => api(path, { method: "POST", body });
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
});
