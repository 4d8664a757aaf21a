import { generateKeyPairSync, type KeyPairKeyObjectResult } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import type { AccessRequest } from "../../src/apis/access-request.ts";
import { provePossession } from "../../src/trust/possession.ts";
import { isReady, startAccessStage, type AccessStage } from "../kits/access-stage.ts";

const hour = 3_600_000;
const accounts = "/api/v1/namespaces/vms/serviceaccounts";
const revocations = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";

let stage: AccessStage;
let ahead = 0;

beforeAll(async () => {
  const accessRequests = { perAddress: 10_000, inAll: 10_000, pending: 10_000 };
  const clock = { now: () => systemClock.now() + ahead, sleep: systemClock.sleep };
  stage = await startAccessStage({ accessRequests, clock });
  for (const [name, recovery] of Object.entries({
    back: { windowSeconds: 86_400, times: 2 },
    near: { networks: ["10.0.0.0/8"] },
    brief: { windowSeconds: 60 },
    never: undefined,
  })) {
    await stage.profile(name, { namespace: "vms", ...(recovery === undefined ? {} : { recovery }) });
  }
});
afterAll(() => stage.close());

type Pair = KeyPairKeyObjectResult;
const newKey = (): Pair => generateKeyPairSync("ed25519");

let count = 0;

interface Wish {
  readonly profile?: string;
  readonly name?: string;
  readonly proof?: string | undefined;
}

function proofOf({ privateKey, publicKey }: Pair, name: string): string {
  const { fingerprint } = sshPublicKeyOf(publicKey);
  return provePossession(privateKey, "ed25519", { name, fingerprint, caPin: stage.hub.hub.caPin });
}

/** Asks with this key, and says under which name and with what status. */
async function ask(pair: Pair, wish: Wish = {}): Promise<{ readonly name: string; readonly status: number }> {
  const { name = `vm-${(count += 1)}`, profile = "back" } = wish;
  const proof = "proof" in wish ? wish.proof : proofOf(pair, name);
  const spec = {
    pubKey: sshPublicKeyOf(pair.publicKey, name).text,
    profile,
    ...(proof === undefined ? {} : { proof }),
  };
  const { status } = await stage.nobody(stage.requests, { method: "POST", body: { metadata: { name }, spec } });
  return { name, status };
}

/** Lets a machine in; by a person. */
async function letIn(pair: Pair, profile = "back"): Promise<AccessRequest> {
  const { name } = await ask(pair, { profile });
  expect((await stage.decide(name, { accepted: true })).status).toBe(200);
  return stage.until(name, isReady);
}

/** What the controller has made of a request: `in`, or why not. */
async function verdict({ name }: { readonly name: string }): Promise<string> {
  const said = (one: AccessRequest): string | undefined =>
    one.status?.ready === true ? "in" : one.status?.conditions?.find(({ type }) => type === "Returning")?.message;
  return said(await stage.until(name, (one) => said(one) !== undefined)) ?? "";
}

test("whose token has ended is let in again, and what it had is taken away", async () => {
  const pair = newKey();
  const first = await letIn(pair);
  const before = stage.as((await stage.open(first, "ed25519", pair.privateKey)).token);
  const { name: old = "" } = first.metadata;
  expect((await stage.admin(`${accounts}/${old}`)).status).toBe(200);
  ahead += 2 * hour;
  const again = await ask(pair);
  expect(await verdict(again)).toBe("in");
  expect((await stage.admin(`${accounts}/${old}`)).status).toBe(404);
  ahead -= 2 * hour;
  expect((await before("/api/v1/namespaces/vms/pods")).status).toBe(401);
  ahead += 2 * hour;
});

test("whose access is still good waits for a person: somebody else may hold the key", async () => {
  const pair = newKey();
  const first = await letIn(pair);
  expect(await verdict(await ask(pair))).toContain("is still valid, so another machine may hold its key");
  const machine = stage.as((await stage.open(first, "ed25519", pair.privateKey)).token);
  ahead += 50 * 60_000;
  const path = `${accounts}/${first.metadata.name}/token`;
  expect((await machine(path, { method: "POST", body: { spec: {} } })).status).toBe(201);
  ahead += 20 * 60_000;
  // The first token is over, and the one that it was renewed to is not.
  expect(await verdict(await ask(pair))).toContain("is still valid");
});

test("that was revoked or denied, by request or by user, waits for a person", async () => {
  const [revoked, denied, user] = [newKey(), newKey(), newKey()];
  const one = await letIn(revoked);
  await stage.decide(one.metadata.name ?? "", { revoked: true });
  await letIn(denied);
  const { name } = await ask(denied);
  await stage.decide(name, { denied: true });
  const other = await letIn(user);
  const spec = { user: `system:serviceaccount:vms:${other.metadata.name}` };
  await stage.admin(revocations, { method: "POST", body: { metadata: { name: "v" }, spec } });
  ahead += 2 * hour;
  expect(
    (await stage.until((await ask(revoked)).name, ({ status }) => status?.evidence?.possession !== undefined)).status
      ?.accepted,
  ).toBeUndefined();
  expect(await verdict(await ask(denied))).toContain("of the same key was denied");
  expect(await verdict(await ask(user))).toContain("is revoked");
});

test("is nobody without the key: no proof, a proof for another name, the key of another", async () => {
  const pair = newKey();
  const first = await letIn(pair);
  ahead += 2 * hour;
  expect(await verdict(await ask(pair, { proof: undefined }))).toContain("does not prove that it holds the key");
  const { proof = "" } = first.spec;
  expect((await ask(pair, { proof })).status).toBe(403);
  const thief = newKey();
  const name = "vm-thief";
  expect((await ask(pair, { name, proof: proofOf(thief, name) })).status).toBe(403);
});

test("is let in for nothing but what people let it in for", async () => {
  const pair = newKey();
  await letIn(pair, "never");
  ahead += 2 * hour;
  const other = await ask(pair, { profile: "back" });
  const seen = await stage.until(other.name, ({ status }) => status?.evidence?.earlierRequests !== undefined);
  expect(seen.status?.evidence?.returning).toMatchObject({ times: 1 });
  expect(seen.status?.accepted).toBeUndefined();
  expect(await verdict(await ask(pair, { profile: "never" }))).toContain("profile never recovers no machine");
});

test("comes within the terms: networks, window by the hub's clock, number of times", async () => {
  const [near, brief, often] = [newKey(), newKey(), newKey()];
  await letIn(near, "near");
  await letIn(brief, "brief");
  await letIn(often);
  ahead += 2 * hour;
  expect(await verdict(await ask(near, { profile: "near" }))).toContain(
    "127.0.0.1, which is in none of the allowed networks",
  );
  expect(await verdict(await ask(brief, { profile: "brief" }))).toContain("ago");
  for (let time = 0; time < 2; time += 1) {
    expect(await verdict(await ask(often))).toBe("in");
    ahead += 2 * hour;
  }
  expect(await verdict(await ask(often))).toContain("has come back 2 times");
});

test("of which nothing is known any more is a stranger, also to whoever repeats its request", async () => {
  const pair = newKey();
  const first = await letIn(pair);
  const { name = "" } = first.metadata;
  await stage.admin(`${stage.requests}/${name}`, { method: "DELETE" });
  ahead += 2 * hour;
  const again = await ask(pair, { name, proof: first.spec.proof });
  expect(again.status).toBe(201);
  const seen = await stage.until(name, ({ status }) => status?.evidence?.earlierRequests !== undefined);
  expect([seen.status?.accepted, seen.status?.evidence?.returning]).toEqual([undefined, undefined]);
});

test("is not made by approvers who write its history, nor by profiles that need several of them", async () => {
  const { name } = await ask(newKey());
  const ada = stage.person("ada");
  const forged = { conditions: [{ type: "Recovered", status: "True", reason: "x", message: "" }] };
  expect((await stage.decide(name, forged, ada)).status).toBe(403);
  expect((await stage.decide(name, { evidence: { returning: { request: "x", times: 1 } } }, ada)).status).toBe(403);
  expect((await stage.profile("several", { namespace: "vms", approvers: 2, recovery: {} })).status).toBe(422);
  expect((await stage.profile("odd", { namespace: "vms", recovery: { times: 17 } })).status).toBe(422);
  expect((await stage.profile("odd", { namespace: "vms", recovery: { networks: ["10.0.0.1/99"] } })).status).toBe(422);
});
