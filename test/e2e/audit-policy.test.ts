import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as textOf } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { loadCa } from "../../src/pki/ca.ts";
import { apiClient, type ApiClient, type Ask, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const policy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    nonResourceURLs: ["/readyz*"]
  - level: Metadata
    resources: [{group: "", resources: [secrets, serviceaccounts/token]}, {group: authentication.k8s.io}]
  - level: RequestResponse
    omitManagedFields: true
    resources: [{group: "", resources: [configmaps]}]
  - level: Request
    omitStages: [ResponseStarted]
    resources: [{group: coordination.k8s.io, resources: [leases]}]
  - level: Metadata
    users: [alice]
`;

const maps = "/api/v1/namespaces/default/configmaps";
const secrets = "/api/v1/namespaces/default/secrets";
const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const protobuf = "application/vnd.kubernetes.protobuf";

interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly level: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly [field: string]: unknown;
}

let folder: string;
let hub: TestHub;
let api: ApiClient;
let receiver: Receiver;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pratique-audit-policy-"));
  receiver = await startReceiver();
  await writeFile(join(folder, "policy.yaml"), policy);
  await writeFile(join(folder, "webhook.kubeconfig"), receiver.kubeconfig);
  hub = await startTestHub({
    users: { alice: [] },
    auditPolicyFile: join(folder, "policy.yaml"),
    auditLogPath: join(folder, "audit.log"),
    auditWebhookConfigFile: join(folder, "webhook.kubeconfig"),
    auditWebhookBatchMaxSize: 1000,
    auditWebhookBatchMaxWaitMs: 60_000,
  });
  api = apiClient(hub);
});

afterAll(async () => {
  api.close();
  await hub.close();
  receiver.close();
  await rm(folder, { recursive: true, force: true });
});

/** A service that takes events, with a CA of its own. */
interface Receiver {
  readonly kubeconfig: string;
  readonly events: AuditEvent[];
  readonly seen: {
    readonly url: string | undefined;
    readonly authorization: string | undefined;
    readonly type: string | undefined;
  }[];
  readonly close: () => void;
}

async function startReceiver(): Promise<Receiver> {
  const other = await startTestHub();
  const files = await Promise.all(
    ["ca.crt", "ca.key"].map((file) => readFile(join(other.dataDir, "pki", file), "utf8")),
  );
  await other.close();
  const [certificatePem = "", keyPem = ""] = files;
  const pair = issueOwn(
    loadCa({ certificatePem, keyPem, now: Date.now() }),
    { commonName: "audit", organizations: [], dnsNames: ["localhost"], ipAddresses: [], usage: "server auth" },
    { now: Date.now(), random: (size) => crypto.getRandomValues(new Uint8Array(size)) },
  );
  const events: AuditEvent[] = [];
  const seen: Receiver["seen"] = [];
  const server: Server = createServer({ cert: pair.certPem, key: pair.keyPem }, (request, response) => {
    void textOf(request).then((body) => {
      const { authorization, "content-type": type } = request.headers;
      seen.push({ url: request.url, authorization, type });
      events.push(...(JSON.parse(body) as { readonly items: readonly AuditEvent[] }).items);
      response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { readonly port: number };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [
      {
        name: "audit",
        cluster: {
          server: `https://localhost:${port}/sink`,
          "certificate-authority-data": Buffer.from(certificatePem).toString("base64"),
        },
      },
    ],
    users: [{ name: "hub", user: { token: "sesame-of-the-webhook" } }],
    contexts: [{ name: "c", context: { cluster: "audit", user: "hub" } }],
  };
  return { kubeconfig: JSON.stringify(kubeconfig), events, seen, close: () => server.close() };
}

const logText = (): Promise<string> => readFile(join(folder, "audit.log"), "utf8");

/** The events of one request; what is written just after the reply is waited for. */
async function eventsOf(id: string, count = 1): Promise<readonly AuditEvent[]> {
  for (let attempt = 0; attempt < 5000; attempt += 1) {
    const lines = (await logText()).split("\n").slice(0, -1);
    const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(({ auditID }) => auditID === id);
    if (events.length >= count) return events;
  }
  throw new Error(`no ${count} audit events of ${id}`);
}

let asked = 0;

/** Makes one request and waits for its last event. */
async function audited(path: string, ask: Ask = {}): Promise<{ readonly reply: Reply; readonly event: AuditEvent }> {
  asked += 1;
  const id = `asked-${asked}`;
  const reply = await api(path, { ...ask, headers: { ...ask.headers, "audit-id": id } });
  const [event] = await eventsOf(id);
  return { reply, event: event as AuditEvent };
}

const map = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { a: "b" } });

describe("an audit policy", () => {
  it("records what was sent and what was answered where it asks for both", async () => {
    const { event } = await audited(maps, { method: "POST", body: map("one") });
    expect(event).toMatchObject({
      level: "RequestResponse",
      stage: "ResponseComplete",
      objectRef: { resource: "configmaps", namespace: "default", name: "one", apiVersion: "v1" },
      requestObject: map("one"),
      responseObject: {
        ...map("one"),
        metadata: { name: "one", namespace: "default", uid: expect.any(String) as unknown },
      },
    });
  });

  it("records the patch of a patch, whatever its type", async () => {
    await audited(maps, { method: "POST", body: map("two") });
    const merge = await audited(`${maps}/two`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{\n"data":{"a":"c"}}',
    });
    expect(merge.event).toMatchObject({ requestObject: { data: { a: "c" } }, responseObject: { data: { a: "c" } } });
    const operations = [{ op: "replace", path: "/data/a", value: "d" }];
    const json = await audited(`${maps}/two`, {
      method: "PATCH",
      type: "application/json-patch+json",
      body: JSON.stringify(operations),
    });
    expect(json.event.requestObject).toEqual(operations);
    const apply = await audited(`${maps}/two?fieldManager=m&force=true`, {
      method: "PATCH",
      type: "application/apply-patch+yaml",
      body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\ndata: {a: e}\n",
    });
    expect(apply.event.requestObject).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "two" },
      data: { a: "e" },
    });
  });

  it("shows YAML, protobuf, tables and lists as JSON, and leaves managedFields out where it says so", async () => {
    const yaml = await audited(maps, {
      method: "POST",
      type: "application/yaml",
      accept: "application/yaml",
      body: "metadata: {name: three}\ndata: {a: b}\n",
    });
    expect(yaml.event).toMatchObject({
      requestObject: { metadata: { name: "three" }, data: { a: "b" } },
      responseObject: { kind: "ConfigMap", metadata: { name: "three" } },
    });
    const encoded = await audited(`${maps}/three`, { accept: protobuf });
    expect(encoded.reply.headers["content-type"]).toBe(protobuf);
    expect(encoded.event.responseObject).toMatchObject({ kind: "ConfigMap", data: { a: "b" } });
    const copy = await audited(`${maps}?dryRun=All`, {
      method: "POST",
      type: protobuf,
      body: withName(encoded.reply.body),
    });
    expect(copy.event.requestObject).toMatchObject({ metadata: { name: "thref" }, data: { a: "b" } });
    const list = await audited(maps, { accept: protobuf });
    expect(list.event.responseObject).toMatchObject({ kind: "ConfigMapList" });
    const pretty = await audited(`${maps}/three?pretty=true`);
    expect(pretty.event.responseObject).toMatchObject({ kind: "ConfigMap" });
    const table = await audited(maps, { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" });
    expect(table.event.responseObject).toMatchObject({ kind: "Table" });
    for (const { event } of [yaml, encoded, list, pretty, table])
      expect(JSON.stringify(event)).not.toContain("managedFields");
  });

  it("records refusals and deletions with what they say", async () => {
    const missing = await audited(`${maps}/none`);
    expect(missing.event).toMatchObject({
      responseStatus: {
        code: 404,
        status: "Failure",
        reason: "NotFound",
        details: { name: "none", kind: "configmaps" },
      },
      responseObject: { kind: "Status", code: 404 },
    });
    await audited(maps, { method: "POST", body: map("four") });
    const options = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" };
    const deleted = await audited(`${maps}/four`, { method: "DELETE", body: options });
    expect(deleted.event).toMatchObject({
      requestObject: options,
      responseObject: { kind: "Status", status: "Success" },
    });
  });

  it("leaves out a body that is too long, and says so", async () => {
    const big = { ...map("big"), data: { a: "x".repeat(900_000), b: '"'.repeat(120_000) } };
    const { event, reply } = await audited(maps, { method: "POST", body: big });
    expect(reply.status).toBe(201);
    expect(event).not.toHaveProperty("requestObject");
    expect(event).not.toHaveProperty("responseObject");
    expect(event.annotations["audit.k8s.io/truncated"]).toBe("true");
  });

  it("records no answer at level Request, both stages of a watch, and no bodies of it", async () => {
    const { event } = await audited(leases, { method: "POST", body: { metadata: { name: "l" }, spec: {} } });
    expect(event.requestObject).toEqual({ metadata: { name: "l" }, spec: {} });
    expect(event).not.toHaveProperty("responseObject");
    const stages = async (path: string, id: string, count: number): Promise<readonly string[]> => {
      const stream = await api.stream(`${path}?watch=true`, { headers: { "audit-id": id } });
      stream.close();
      const events = await eventsOf(id, count);
      expect(events.some((one) => "responseObject" in one)).toBe(false);
      return events.map(({ stage }) => stage);
    };
    expect(await stages(leases, "quiet", 1)).toEqual(["ResponseComplete"]);
    expect(await stages(maps, "loud", 2)).toEqual(["ResponseStarted", "ResponseComplete"]);
  });

  it("keeps Secrets and tokens out, and records nothing that no rule asks for", async () => {
    await audited(secrets, { method: "POST", body: { metadata: { name: "s" }, stringData: { p: "sesame-1" } } });
    const { event } = await audited(`${secrets}/s`);
    expect(event).toMatchObject({ level: "Metadata", objectRef: { name: "s" } });
    await audited(secrets, { method: "POST", body: { metadata: { name: "T" }, type: "sesame-2 type" } });
    await audited("/apis/authentication.k8s.io/v1/tokenreviews", {
      method: "POST",
      body: { spec: { token: hub.token("alice") } },
    });
    await api("/readyz", { headers: { "audit-id": "health" } });
    await api("/version", { headers: { "audit-id": "version" } });
    const alice = apiClient(hub, { token: hub.token("alice") });
    await alice("/version", { headers: { "audit-id": "alice" } });
    alice.close();
    await eventsOf("alice");
    const log = await logText();
    expect(log).not.toMatch(/sesame|alice-token/);
    expect(log).not.toMatch(/"auditID":"(health|version)"/);
  });

  it("sends the webhook the same events when the hub stops, with its credential and no other", async () => {
    api.close();
    await hub.close("keep");
    const written = (await logText())
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent);
    expect(written.length).toBeGreaterThan(20);
    expect(receiver.events).toEqual(written);
    expect(receiver.seen[0]).toEqual({
      url: "/sink",
      authorization: "Bearer sesame-of-the-webhook",
      type: "application/json",
    });
    expect(JSON.stringify(hub.log)).not.toContain("sesame-of-the-webhook");
  });
});

/** The name `three` in protobuf becomes `thref`, of the same length. */
function withName(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll("three", "thref"), "latin1");
}

describe("a hub whose audit cannot be as it is told", () => {
  it.each([
    ["a policy with an unknown level", { auditPolicyFile: "bad.yaml" }, "rules[0].level"],
    ["a policy that is not there", { auditPolicyFile: "none.yaml" }, "--audit-policy-file"],
    ["a webhook file that is no kubeconfig", { auditWebhookConfigFile: "bad.yaml" }, "--audit-webhook-config-file"],
    ["a log in a folder that is not there", { auditLogPath: "none/audit.log" }, "--audit-log-path"],
  ])("does not start with %s", async (_name, files, problem) => {
    await writeFile(join(folder, "bad.yaml"), "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: All}]\n");
    const options = Object.fromEntries(Object.entries(files).map(([name, file]) => [name, join(folder, file)]));
    await expect(startTestHub(options)).rejects.toThrow(problem);
  });

  it("puts a full log aside", async () => {
    const dir = await mkdtemp(join(folder, "full-"));
    const small = await startTestHub({
      auditLogPath: join(dir, "audit.log"),
      auditLogMaxSizeMb: 1,
      auditLogMaxBackups: 1,
    });
    const client = apiClient(small);
    const agent = "x".repeat(1000);
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 50 }, () => client("/version", { headers: { "user-agent": agent } })));
    }
    client.close();
    await small.close();
    expect((await readdir(dir)).length).toBe(2);
  });
});
