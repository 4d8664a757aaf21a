import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly [field: string]: unknown;
}

let folder: string;
let path: string;
let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pratique-audit-"));
  path = join(folder, "audit.log");
  hub = await startTestHub({ users: { alice: [] }, auditLogPath: path });
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
  await rm(folder, { recursive: true, force: true });
});

/** The lines of one request. A line is written just after its reply, so the log is read again until it has come. */
async function eventsOf(auditId: string, stage = "ResponseComplete"): Promise<readonly AuditEvent[]> {
  for (let attempt = 0; attempt < 5000; attempt += 1) {
    const lines = (await readFile(path, "utf8")).split("\n").slice(0, -1);
    const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(({ auditID }) => auditID === auditId);
    if (events.some((event) => event.stage === stage)) return events;
  }
  throw new Error(`no audit event ${auditId}`);
}

describe("the audit log", () => {
  it("is for its owner alone", async () => {
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("has one line for each request: who, what, from where, decided how, with what result", async () => {
    const reply = await api(maps, {
      method: "POST",
      body: { metadata: { name: "a" }, data: { password: "hunter2-in-the-body" } },
      headers: { "audit-id": "my-id-1", "user-agent": "test/1.0" },
    });
    expect(reply.headers["audit-id"]).toBe("my-id-1");
    const events = await eventsOf("my-id-1");
    expect(events).toEqual([
      {
        kind: "Event",
        apiVersion: "audit.k8s.io/v1",
        level: "Metadata",
        auditID: "my-id-1",
        stage: "ResponseComplete",
        requestURI: maps,
        verb: "create",
        user: {
          username: "kubernetes-admin",
          groups: ["system:masters", "system:authenticated"],
          extra: { "authentication.kubernetes.io/credential-id": [expect.stringMatching(/^X509SHA256=/) as unknown] },
        },
        sourceIPs: ["127.0.0.1"],
        userAgent: "test/1.0",
        objectRef: { resource: "configmaps", namespace: "default", name: "a", apiVersion: "v1" },
        responseStatus: { metadata: {}, code: 201 },
        requestReceivedTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as unknown,
        stageTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/) as unknown,
        annotations: {
          "authorization.k8s.io/decision": "allow",
          "authorization.k8s.io/reason": expect.any(String) as unknown,
          "authorization.pratique.dev/trace": expect.stringMatching(
            /^\[\{"name":"Masters","verdict":"allow",.*"ms":[\d.]+\}\]$/,
          ) as unknown,
        },
      },
    ]);
  });

  it("gives a request without an id one of its own, and does not take over an odd one", async () => {
    for (const headers of [{}, { "audit-id": "has spaces" }, { "audit-id": "x".repeat(65) }]) {
      const id = String((await api(maps, { headers })).headers["audit-id"]);
      expect(id).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/);
      expect(await eventsOf(id)).toHaveLength(1);
    }
  });

  it("has two lines for a watch, the first as soon as it begins", async () => {
    const stream = await api.stream(`${maps}?watch=true`, { headers: { "audit-id": "watch-1" } });
    const [started] = await eventsOf("watch-1", "ResponseStarted");
    expect(started).toMatchObject({ stage: "ResponseStarted", verb: "watch", responseStatus: { code: 200 } });
    stream.close();
    const events = await eventsOf("watch-1");
    expect(events.map(({ stage }) => stage)).toEqual(["ResponseStarted", "ResponseComplete"]);
  });

  it("names both users of an impersonation, the refused ones too", async () => {
    const headers = { "impersonate-user": "jane", "impersonate-group": "devs", "audit-id": "as-jane" };
    await api(maps, { headers });
    const [event] = await eventsOf("as-jane");
    expect(event).toMatchObject({
      user: { username: "kubernetes-admin" },
      impersonatedUser: { username: "jane", groups: ["devs", "system:authenticated"] },
      responseStatus: { status: "Failure", reason: "Forbidden", code: 403 },
      annotations: { "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "" },
    });
  });

  it("tells of requests that were turned away, without their credentials", async () => {
    const stranger = apiClient(hub, { token: "nonsense-secret-token" });
    await stranger("/version", { headers: { "audit-id": "turned-away" } });
    stranger.close();
    expect((await eventsOf("turned-away"))[0]).toMatchObject({
      user: {},
      verb: "get",
      responseStatus: { status: "Failure", reason: "Unauthorized", code: 401 },
      annotations: {},
    });
    await api("/none", { headers: { "audit-id": "no-such-path" } });
    expect((await eventsOf("no-such-path"))[0]).toMatchObject({ requestURI: "/none", responseStatus: { code: 404 } });
    expect((await eventsOf("no-such-path"))[0]).not.toHaveProperty("objectRef");
  });

  it("never holds a body, a token, or a value that a message quotes", async () => {
    const secrets = "/api/v1/namespaces/default/secrets";
    const headers = (id: string): object => ({ headers: { "audit-id": id } });
    await api(secrets, {
      method: "POST",
      body: { metadata: { name: "s" }, stringData: { p: "sesame-1" } },
      ...headers("s-1"),
    });
    await api(secrets, {
      method: "POST",
      body: { metadata: { name: "T" }, type: "sesame-2 type", data: { p: "sesame-3" } },
      ...headers("s-2"),
    });
    await api(secrets, {
      method: "POST",
      body: '{"metadata":{"name":"t"},"data":{"p":"sesame-4',
      type: "application/json",
      ...headers("s-3"),
    });
    await api(`${secrets}/s`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { data: { p: "sesame-5" } },
      ...headers("s-4"),
    });
    await api("/apis/authentication.k8s.io/v1/tokenreviews", {
      method: "POST",
      body: { spec: { token: hub.token("alice") } },
      ...headers("s-5"),
    });
    const alice = apiClient(hub, { token: hub.token("alice") });
    await alice(secrets, headers("s-6"));
    alice.close();
    for (const id of ["s-1", "s-2", "s-3", "s-4", "s-5", "s-6"]) await eventsOf(id);
    const log = await readFile(path, "utf8");
    expect(log).not.toMatch(/sesame|hunter2|nonsense-secret-token|alice-token/);
  });
});
