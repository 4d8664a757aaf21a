import fc from "fast-check";
import { afterAll, describe, expect, test, it } from "vitest";
import { StatusError, badRequest } from "../../apimachinery/status.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import { YamlError } from "../../serializer/yaml/yaml-error.ts";
import { yamlThread } from "../../serializer/yaml/yaml-thread.ts";
import { auditLine, type AuditEvent, traceText } from "./audit.ts";
import { requestBody, responseBody } from "./audit-trail.ts";
import { metadataPolicy, type AuditLevel } from "./audit-policy.ts";
import { requestInfo, type RequestInfo } from "../request-info.ts";
import { newProgress, type Progress } from "../progress.ts";
import type { TraceStep } from "../../authorization/chain.ts";

const thread = yamlThread({ maxJobMs: 60_000 });
const yaml = thread.of("a");
const info = requestInfo("POST", "/api/v1/namespaces/default/secrets", new URLSearchParams()) as RequestInfo;

afterAll(thread.close);

const progress: Progress = { ...newProgress("id", 0), info, user: { username: "jane", groups: [] } };
const event: Omit<AuditEvent, "decision"> = {
  stage: "ResponseComplete",
  now: 0,
  requestUri: "/api/v1/namespaces/default/secrets",
  sourceIp: "::1",
  userAgent: undefined,
  annotations: {},
  requestObject: undefined,
  responseObject: undefined,
};

function eventOf(
  changes: Partial<Omit<Progress, "annotations"> & AuditEvent>,
  level: AuditLevel = "Metadata",
): Record<string, unknown> {
  const decision = { level, omitStages: new Set<never>(), omitManagedFields: false };
  const { annotations = {}, ...others } = changes;
  const line = auditLine({ ...progress, ...others }, { ...event, decision, ...others, annotations });
  expect(line.indexOf("\n")).toBe(line.length - 1);
  return JSON.parse(line) as Record<string, unknown>;
}

describe("an audit event", () => {
  test("is bounded in bytes, whatever characters a client puts into its path, user agent and refusal", () => {
    const dense = "\u0001".repeat(20_000);
    const path = `/apis/${encodeURIComponent(dense)}/v1/x`;
    const asked = requestInfo("GET", path, new URLSearchParams()) as RequestInfo;
    const failure = new StatusError("Forbidden", dense, { details: { name: dense } });
    const reported = eventOf({ requestUri: path, info: asked, userAgent: dense, code: 403, failure });
    expect(JSON.stringify(reported).length).toBeLessThan(12_000);
  });

  test("is bounded in bytes, whatever groups, extra values and annotations there are, and says so", () => {
    const dense = "\u0001".repeat(60_000);
    const many = Array.from({ length: 30_000 }, (_, at) => `g${at}`);
    const users: readonly UserInfo[] = [
      { username: dense, uid: dense, groups: [], extra: {} },
      { username: "a", groups: many },
      { username: "a", groups: [dense, "later"] },
      { username: "a", groups: [], extra: { scopes: many, [dense]: ["x"] } },
      { username: "a", groups: [], extra: Object.fromEntries(many.map((name) => [name, []])) },
    ];
    for (const user of users) {
      const reported = eventOf({ user, impersonated: user });
      expect(JSON.stringify(reported).length).toBeLessThan(64_000);
      expect(reported["annotations"]).toEqual({ "audit.k8s.io/truncated": "true" });
    }
    for (const annotations of [{ a: dense }, Object.fromEntries(many.map((name) => [name, "x".repeat(100)]))]) {
      const reported = eventOf({ annotations });
      expect(JSON.stringify(reported).length).toBeLessThan(40_000);
      expect(reported["annotations"]).toHaveProperty(["audit.k8s.io/truncated"], "true");
    }
  });

  test("shows the first groups whole, never the beginning of one, which is the name of another", () => {
    const groups = ["admins-of-nothing", "x".repeat(20_000), "later"];
    expect(eventOf({ user: { username: "a", groups } })["user"]).toEqual({
      username: "a",
      groups: ["admins-of-nothing"],
    });
  });

  test("shows a user of two hundred groups as a whole", () => {
    const groups = Array.from({ length: 200 }, (_, at) => `company:department-${at}:members`);
    const user = { username: "jane", uid: "1", groups, extra: { "example.com/scopes": ["a", "b"] } };
    const reported = eventOf({ user, annotations: { a: "b" } });
    expect([reported["user"], reported["annotations"]]).toEqual([user, { a: "b" }]);
  });

  test("has no status before there is an answer", () => {
    expect(eventOf({})).not.toHaveProperty("responseStatus");
  });

  test("shows what a refusal quotes only where bodies are asked for", () => {
    const failure = badRequest("the value sesame is wrong");
    expect(eventOf({ code: 400, failure })["responseStatus"]).toEqual({
      metadata: {},
      status: "Failure",
      reason: "BadRequest",
      code: 400,
    });
    expect(eventOf({ code: 400, failure }, "Request")["responseStatus"]).toMatchObject({ message: failure.message });
    const other = new StatusError("Forbidden", "no", { details: { kind: "secrets" } });
    expect(eventOf({ code: 403, failure: other })["responseStatus"]).toMatchObject({
      message: "no",
      details: other.details,
    });
  });

  test("names the object as its path does, and else as the object does", () => {
    const object = { name: "s", namespace: "elsewhere", uid: "u", resourceVersion: "7" };
    expect(eventOf({ names: object })["objectRef"]).toEqual({
      resource: "secrets",
      namespace: "default",
      name: "s",
      uid: "u",
      apiVersion: "v1",
      resourceVersion: "7",
    });
  });

  test("is one line of JSON whatever the client sends", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.jsonValue(), (text, value) => {
        const event = eventOf({
          requestUri: text,
          userAgent: text,
          user: { username: text, groups: [text] },
          annotations: Object.fromEntries([[text, text]]),
          names: { name: text },
          requestObject: JSON.stringify(value),
        });
        expect(event["requestURI"]).toBe(text.slice(0, 2048));
        expect(event["requestObject"]).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 100 },
    );
  });
});

describe("bodies", () => {
  test("that are no JSON, or another kind of thing, are left out and throw nothing", async () => {
    const seen = { left: 0, taken: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
          fc.json().map((text) => Buffer.from(`${text}\n`)),
          fc.string().map((text) => Buffer.from(`{"a":${text}}`)),
        ),
        fc.constantFrom(
          "application/json",
          "application/yaml",
          "application/json-patch+json",
          "application/apply-patch+yaml",
          "application/vnd.kubernetes.protobuf",
          "text/plain",
          undefined,
        ),
        async (bytes, contentType) => {
          const body = await requestBody({ bytes, contentType }, "omit", yaml);
          seen[typeof body === "object" ? "taken" : "left"] += 1;
          if (typeof body !== "object") return;
          expect(body.text).not.toContain("\n");
          expect(() => void JSON.parse(body.text)).not.toThrow();
        },
      ),
      { numRuns: 200 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10);
  });

  test("in YAML that find no place to be read are marked as truncated, and not as absent", async () => {
    const busy = (): Promise<string> => Promise.reject(new YamlError("busy", "too many wait"));
    const bytes = Buffer.from(`a: b\n${"# a comment\n".repeat(200)}`);
    const receivedBody = { bytes, contentType: "application/apply-patch+yaml" };
    expect(await requestBody(receivedBody, "omit", { parse: busy, stringify: busy })).toBe("tooLong");
  });

  test("lose managedFields of the object, of items and of rows, and nothing else", () => {
    const metadata = { name: "a", managedFields: [{}] };
    const value = {
      metadata,
      items: [{ metadata, data: { managedFields: "mine" } }],
      rows: [{ cells: ["a"], object: { metadata } }],
    };
    const reply = { status: 200, contentType: "application/json", body: JSON.stringify(value) };
    const body = responseBody(reply, "omit");
    expect(typeof body === "object" && JSON.parse(body.text)).toEqual({
      metadata: { name: "a" },
      items: [{ metadata: { name: "a" }, data: { managedFields: "mine" } }],
      rows: [{ cells: ["a"], object: { metadata: { name: "a" } } }],
    });
    expect(responseBody(reply, "keep")).toEqual({ text: reply.body });
  });

  test("of answers that are no objects are left out", () => {
    expect(responseBody({ status: 429, contentType: "text/plain; charset=utf-8", body: "no" }, "keep")).toBeUndefined();
  });
});

test("without a policy everything is recorded once, when it is done", () => {
  expect(metadataPolicy(info, undefined)).toMatchObject({
    level: "Metadata",
    omitStages: new Set(["RequestReceived"]),
  });
});

const step = (changes: Partial<TraceStep> = {}): TraceStep => ({
  name: "team",
  type: "Webhook",
  verdict: "noOpinion",
  reason: "",
  ...changes,
});

describe("the trace in an audit event", () => {
  it("names who was asked, and the grant that allowed it", () => {
    const grant = {
      binding: { kind: "RoleBinding", namespace: "dev", name: "devs" },
      subject: { kind: "Group", name: "devs" },
      role: { kind: "ClusterRole", name: "view" },
      rule: '{Verbs:["get"]}',
    };
    const text = traceText([
      step({ error: "down", ms: 2.71499 }),
      { name: "RBAC", type: "RBAC", verdict: "allow", reason: "r", grant },
    ]);
    expect(JSON.parse(text)).toEqual([
      { name: "team", type: "Webhook", verdict: "noOpinion", error: "down", ms: 2.71 },
      {
        name: "RBAC",
        verdict: "allow",
        reason: "r",
        binding: "RoleBinding dev/devs",
        role: "ClusterRole view",
        rule: '{Verbs:["get"]}',
      },
    ]);
  });

  it("cuts the words of a webhook that says very much", () => {
    const text = traceText([step({ reason: "x".repeat(100_000), error: "y".repeat(100_000) })]);
    expect(text.length).toBeLessThan(700);
  });

  it("keeps verdicts alone where many say much, and stays JSON", () => {
    const many = Array.from({ length: 64 }, (_, at) => step({ name: `w${at}`, reason: '"'.repeat(256) }));
    const text = traceText(many);
    expect(text.length).toBeLessThanOrEqual(4096);
    expect(JSON.parse(text)).toHaveLength(64);
    const long = Array.from({ length: 64 }, (_, at) => step({ name: `${at}${"n".repeat(300)}` }));
    const short = JSON.parse(traceText(long)) as readonly { readonly name: string }[];
    expect(short.at(-1)?.name).toMatch(/^63n+…$/);
    expect(traceText(long).length).toBeLessThanOrEqual(4096);
  });
});
