import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { definition, establish, version } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
});

const ruled = (rule: object, properties: object = {}): object =>
  version({
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: { low: { type: "integer" }, high: { type: "integer" }, ...properties },
            "x-kubernetes-validations": [rule],
          },
        },
      },
    },
  });
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ranges = "/apis/example.com/v1/namespaces/default/ranges";
const range = (name: string, spec: object): object => ({
  apiVersion: "example.com/v1",
  kind: "Range",
  metadata: { name },
  spec,
});

describe("rules of a definition", () => {
  it("bind new objects and changes", async () => {
    const rule = { rule: "self.low <= self.high", message: "low is at most high" };
    await establish(api, definition({ plural: "ranges", kind: "Range", versions: [ruled(rule)] }));
    const wrong = await api(ranges, { method: "POST", body: range("a", { low: 2, high: 1 }) });
    expect([wrong.status, wrong.json()["message"]]).toEqual([
      422,
      'Range.example.com "a" is invalid: spec: Invalid value: low is at most high',
    ]);
    expect((await api(ranges, { method: "POST", body: range("a", { low: 1, high: 1 }) })).status).toBe(201);
    const patched = await api(`${ranges}/a`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"spec":{"low":3}}',
    });
    expect(patched.status).toBe(422);
  });

  it("compare with what was before", async () => {
    const rule = { rule: "self.low >= oldSelf.low", messageExpression: "'low was ' + string(oldSelf.low)" };
    await establish(api, definition({ plural: "steps", kind: "Step", versions: [ruled(rule)] }));
    const steps = "/apis/example.com/v1/namespaces/default/steps";
    const step = { ...range("a", { low: 2, high: 9 }), kind: "Step" };
    expect((await api(steps, { method: "POST", body: step })).status).toBe(201);
    const lower = await api(`${steps}/a`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"spec":{"low":1}}',
    });
    expect(lower.json()["message"]).toContain("spec: Invalid value: low was 2");
  });

  it("are refused when they do not compile or may cost too much", async () => {
    const bad = definition({ plural: "bads", kind: "Bad", versions: [ruled({ rule: "self.none > 1" })] });
    const refused = await api(definitions, { method: "POST", body: bad });
    expect([refused.status, refused.json()["message"]]).toEqual([
      422,
      expect.stringContaining(
        "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule",
      ),
    ]);
    const list = { names: { type: "array", items: { type: "string" } } };
    const dear = ruled({ rule: "self.names.all(x, self.names.all(y, x == y))" }, list);
    const costly = definition({ plural: "dears", kind: "Dear", versions: [dear] });
    const tooDear = await api(definitions, { method: "POST", body: costly });
    expect([tooDear.status, tooDear.json()["message"]]).toEqual([
      422,
      expect.stringContaining("estimated rule cost exceeds budget"),
    ]);
  });
});
