import { describe, expect, it } from "vitest";
import { forbidden } from "../../apimachinery/status.ts";
import { configMaps } from "../../apis/config-map.ts";
import { recorded, type ClientWrite } from "../../registry/in-process-call.ts";
import type { YamlThread } from "../../serializer/yaml/yaml-thread.ts";
import { compileAuditPolicy, type AuditLevel, type AuditRule } from "./audit-policy.ts";
import { writeAudit } from "./audit-trail.ts";

const rule: AuditRule = {
  level: "Metadata",
  users: [],
  userGroups: [],
  verbs: [],
  resources: [],
  namespaces: [],
  nonResourceURLs: [],
  omitStages: ["RequestReceived"],
  omitManagedFields: false,
};
const user = { username: "system:serviceaccount:kube-system:c", groups: [] };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "ns" }, data: { a: "b" } };
const write: ClientWrite = {
  user,
  verb: "update",
  resource: configMaps,
  namespace: "ns",
  name: "a",
  subresource: "",
  sent: object,
};

/** The events of one write at a level. */
async function eventsOf(level: AuditLevel, act: () => Promise<unknown>): Promise<readonly unknown[]> {
  const lines: string[] = [];
  const begin = writeAudit({
    audit: { policy: compileAuditPolicy([{ ...rule, level }]), sink: (line) => void lines.push(line) },
    yaml: { of: () => undefined } as unknown as YamlThread,
    clock: { now: () => Date.UTC(2026, 0, 1), sleep: async () => undefined },
    uuid: () => "id",
    fault: (error) => {
      throw error;
    },
  });
  const authorizer = async () => ({ verdict: "allow", reason: "RBAC: allowed" }) as const;
  await recorded({ begin, authorizer }, write, async (call) => {
    await call.authorizer({ ...write, group: "", version: "v1", resource: "configmaps", path: undefined });
    call.annotate("a.example.com/b", "c");
    return act();
  }).catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  return lines.map((line) => JSON.parse(line) as unknown);
}

describe("a write inside the hub", () => {
  it("is recorded as a request over HTTP, without an address", async () => {
    const [event, ...more] = await eventsOf("Metadata", async () => object);
    expect(more).toEqual([]);
    expect(event).toEqual({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: "id",
      stage: "ResponseComplete",
      requestURI: "/api/v1/namespaces/ns/configmaps/a",
      verb: "update",
      user: { username: user.username, groups: [] },
      objectRef: { resource: "configmaps", namespace: "ns", name: "a", apiVersion: "v1" },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
      stageTimestamp: "2026-01-01T00:00:00.000000Z",
      annotations: {
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "RBAC: allowed",
        "a.example.com/b": "c",
      },
    });
  });

  it("is recorded with what it sent and what was answered where the policy says so", async () => {
    const answer = { ...object, data: { a: "answered" } };
    expect(await eventsOf("Request", async () => answer)).toMatchObject([{ requestObject: object }]);
    expect(await eventsOf("RequestResponse", async () => answer)).toMatchObject([
      { requestObject: object, responseObject: answer },
    ]);
  });

  it("is recorded with its refusal, and with Panic where the hub failed", async () => {
    const refused = await eventsOf("Metadata", async () => Promise.reject(forbidden(configMaps, "a", "no")));
    expect(refused).toMatchObject([{ responseStatus: { code: 403, reason: "Forbidden" } }]);
    const fault = await eventsOf("Metadata", async () => Promise.reject(new TypeError("fault")));
    expect(fault).toMatchObject([{ stage: "Panic", responseStatus: { code: 500 } }]);
  });

  it("is not recorded where the policy records nothing of it", async () => {
    expect(await eventsOf("None", async () => object)).toEqual([]);
  });
});
