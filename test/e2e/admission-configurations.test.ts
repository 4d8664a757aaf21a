import { afterEach, describe, expect, it } from "vitest";
import { hubForFile } from "../kits/hub-for-file.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";

const { api, post } = await hubForFile();

afterEach(async () => {
  for (const plural of ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]) {
    await api(`${registration}/${plural}`, { method: "DELETE" });
  }
});

const everything = { operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
const usual = {
  name: "test.hooks.example",
  clientConfig: { url: "https://h" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

describe("a configuration of webhooks", () => {
  it("has the defaults of Kubernetes filled in", async () => {
    await post(`${registration}/mutatingwebhookconfigurations`, {
      metadata: { name: "test" },
      webhooks: [{ ...usual, clientConfig: { service: { name: "svc", namespace: "ns" } }, rules: [everything] }],
    });
    const stored = (await api(`${registration}/mutatingwebhookconfigurations/test`)).object();
    expect(stored.metadata.generation).toBe(1);
    expect(stored["webhooks"]).toEqual([
      {
        name: "test.hooks.example",
        clientConfig: { service: { name: "svc", namespace: "ns", port: 443 } },
        rules: [{ ...everything, scope: "*" }],
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
        sideEffects: "None",
        timeoutSeconds: 10,
        admissionReviewVersions: ["v1"],
        reinvocationPolicy: "Never",
      },
    ]);
  });

  it.each<[string, object, string]>([
    [
      "a name of two segments",
      { name: "hooks.example" },
      'name: Invalid value: "hooks.example": should be a domain with at least three segments separated by dots',
    ],
    [
      "plain http",
      { clientConfig: { url: "http://h/x" } },
      `clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
    [
      "a user in the URL",
      { clientConfig: { url: "https://me:pw@h/x" } },
      'clientConfig.url: Invalid value: "me:xxxxx": user information is not permitted in the URL',
    ],
    [
      "a query in the URL",
      { clientConfig: { url: "https://h/x?y=1" } },
      'clientConfig.url: Invalid value: "y=1": query parameters are not permitted in the URL',
    ],
    ["no target", { clientConfig: {} }, "clientConfig: Required value: exactly one of url or service is required"],
    [
      "side effects",
      { sideEffects: "Some" },
      'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    ],
    [
      "a long timeout",
      { timeoutSeconds: 31 },
      "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ],
    [
      "unknown versions",
      { admissionReviewVersions: ["v3"] },
      'admissionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, v1beta1',
    ],
    ["no operation", { rules: [{ ...everything, operations: [] }] }, "rules[0].operations: Required value"],
    [
      "an unknown operation",
      { rules: [{ ...everything, operations: ["READ"] }] },
      'rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    [
      "a part that is named twice",
      { rules: [{ ...everything, resources: ["pods/*", "pods/log"] }] },
      `rules[0].resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
    ],
    [
      "a selector that cannot be",
      { objectSelector: { matchExpressions: [{ key: "a", operator: "In", values: ["b c"] }] } },
      'objectSelector.matchExpressions[0].values[0]: Invalid value: "b c": a valid label must be',
    ],
    [
      "a condition that does not compile",
      { matchConditions: [{ name: "c", expression: "params.x" }] },
      "matchConditions[0].expression: Invalid value: \"params.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'",
    ],
    [
      "two conditions of one name",
      {
        matchConditions: [
          { name: "c", expression: "true" },
          { name: "c", expression: "true" },
        ],
      },
      'matchConditions[1].name: Duplicate value: "c"',
    ],
    [
      "too many conditions",
      { matchConditions: Array.from({ length: 65 }, (_, index) => ({ name: `c${index}`, expression: "true" })) },
      "matchConditions: Too many: 65: must have at most 64 items",
    ],
  ])("is refused for %s", async (_what, fields, message) => {
    const reply = await post(`${registration}/validatingwebhookconfigurations`, {
      metadata: { name: "test" },
      webhooks: [{ ...usual, ...fields }],
    });
    expect([reply.status, reply.json()["message"]]).toEqual([
      422,
      expect.stringContaining(`"test" is invalid: webhooks[0].${message}`),
    ]);
  });

  it("is not replaced by one that names no version", async () => {
    await post(`${registration}/validatingwebhookconfigurations`, { metadata: { name: "test" }, webhooks: [usual] });
    const path = `${registration}/validatingwebhookconfigurations/test`;
    const reply = await api(path, { method: "PUT", body: { metadata: { name: "test" } } });
    expect([reply.status, reply.json()["message"]]).toEqual([
      422,
      'validatingwebhookconfigurations.admissionregistration.k8s.io "test" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    ]);
  });
});
