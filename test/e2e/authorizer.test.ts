import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { fakeClock, type FakeClock } from "../kits/fake-clock.ts";
import { fakeIo, runLine, type FakeIo } from "../kits/fake-io.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const classic = `package k8s

import future.keywords

default allow = false

allow {
	"admin" in input.spec.groups
	input.spec.resourceAttributes.verb in ["create", "list", "delete", "update"]
}

allow {
	"conf" in input.spec.groups
	input.spec.resourceAttributes.verb == "list"
}
`;

const users = { ada: ["admin"], cora: ["conf"], nora: [], olga: ["late"] } as const;
const path = "/api/v1/namespaces/default/configmaps";

let dir: string;
let policy: string;
let clock: FakeClock;
let io: FakeIo;
let ended: Promise<number>;
let hub: TestHub;
const clients: ApiClient[] = [];

function as(user: keyof typeof users): ApiClient {
  const made = apiClient(hub, { token: hub.token(user) });
  clients.push(made);
  return made;
}

function worldWithFiles(): FakeIo {
  return { ...fakeIo({ clock }), readFile: (file) => readFile(file) };
}

async function listening(): Promise<string> {
  return vi.waitFor(() => {
    const port = /reason=Listening port=(\d+)/.exec(io.err())?.[1];
    if (port === undefined) throw new Error("not yet");
    return port;
  }, 45_000);
}

/** Lets the time pass after which files are looked at, again while it still looks, until the log says so. */
async function looked(said: string): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(2_000);
    expect(io.err()).toContain(said);
  }, 45_000);
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-authorizer-"));
  policy = join(dir, "policy");
  await mkdir(policy);
  await writeFile(join(policy, "k8s.rego"), classic);
  clock = fakeClock(Date.now());
  io = worldWithFiles();
  const words = ["authorizer", `--policy=${policy}`, `--cert-dir=${join(dir, "certs")}`];
  ended = runLine([...words, "--secure-port=0"], io);
  const printing = worldWithFiles();
  const url = `https://127.0.0.1:${await listening()}`;
  await runLine([...words, `--url=${url}`, "--print-kubeconfig"], printing);
  const configFile = join(dir, "authorizer.kubeconfig");
  await writeFile(configFile, printing.out());
  hub = await startTestHub({
    users,
    authorizationModes: ["Webhook"],
    authorizationWebhook: { configFile, version: "v1beta1", authorizedMs: 300_000, unauthorizedMs: 30_000 },
  });
});

afterAll(async () => {
  for (const one of clients) one.close();
  await hub?.close();
  io.interrupt();
  await ended;
  await rm(dir, { recursive: true, force: true });
});

describe("a hub that asks the authorizer", () => {
  it("lets admin create, list and delete, and not watch", async () => {
    const ada = as("ada");
    const made = await ada(path, { method: "POST", body: { metadata: { name: "one" } } });
    expect(made.status).toBe(201);
    expect((await ada(path)).status).toBe(200);
    const watch = await ada(`${path}?watch=true`);
    expect([watch.status, watch.json()["message"]]).toEqual([
      403,
      'configmaps is forbidden: User "ada" cannot watch resource "configmaps" in API group "" in the namespace "default"',
    ]);
    expect((await ada(`${path}/one`, { method: "DELETE" })).status).toBe(200);
  });

  it("lets conf only list, and others nothing", async () => {
    const cora = as("cora");
    expect((await cora(path)).status).toBe(200);
    const refused = await cora(path, { method: "POST", body: { metadata: { name: "two" } } });
    expect([refused.status, refused.json()["message"]]).toEqual([
      403,
      'configmaps is forbidden: User "cora" cannot create resource "configmaps" in API group "" in the namespace "default"',
    ]);
    expect((await as("nora")(path)).status).toBe(403);
  });

  it("takes up a changed policy, and keeps the last good one", async () => {
    await writeFile(join(policy, "k8s.rego"), classic.replace('"conf" in', '"late" in'));
    await looked("reason=Reloaded");
    expect((await as("olga")(path)).status).toBe(200);
    await writeFile(join(policy, "k8s.rego"), "package k8s\n\nallow {");
    await looked("reason=ReloadFailed");
    expect((await as("olga")(`${path}?limit=1`)).status).toBe(200);
    expect((await as("olga")("/api/v1/namespaces/default/secrets")).status).toBe(200);
  });
});
