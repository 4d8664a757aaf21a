import { afterEach, describe, expect, test } from "vitest";
import { ConnectionError } from "../client/client.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { memoryApi, type MemoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock, settled, type FakeClock } from "../../test/kits/fake-clock.ts";
import { askedReview } from "../policy-server/authorizer-review.ts";
import { watchedRevocations, type WatchedRevocations } from "./watched-revocations.ts";

let life = new AbortController();
afterEach(() => life.abort());

interface World {
  readonly api: MemoryApi;
  readonly clock: FakeClock;
  readonly watched: WatchedRevocations;
}

function world(prepare: (api: MemoryApi) => void = () => undefined): World {
  life = new AbortController();
  const clock = fakeClock();
  const api = memoryApi({ clock });
  prepare(api);
  const watched = watchedRevocations({ client: api.client, clock, log: () => undefined, signal: life.signal });
  return { api, clock, watched };
}

function review(spec: object): ReturnType<typeof askedReview>["asked"] {
  const resourceAttributes = { verb: "get", resource: "pods", namespace: "default" };
  const apiVersion = "authorization.k8s.io/v1";
  return askedReview({ apiVersion, kind: "SubjectAccessReview", spec: { resourceAttributes, ...spec } }).asked;
}

async function revoke({ api }: World, name: string, spec: object): Promise<void> {
  const apiVersion = "access.pratique.dev/v1alpha1";
  await api.client.create(credentialRevocations, {
    apiVersion,
    kind: "CredentialRevocation",
    metadata: { name },
    spec,
  });
  await settled();
}

const key = "authentication.kubernetes.io/credential-id";

describe("an authorizer that follows the revocations", () => {
  test("denies by user and by credential id, in whatever case the key comes, and nothing else", async () => {
    const here = world();
    await settled();
    expect(here.watched.isLoaded()).toBe(true);
    expect(here.watched.denial(review({ user: "ann" }))).toBeUndefined();
    await revoke(here, "r1", { user: "ann" });
    await revoke(here, "r2", { credentialID: "JTI=x" });
    await revoke(here, "r3", { fingerprint: "ab".repeat(32) });
    const reason = "the credential is revoked: r1";
    expect(here.watched.denial(review({ user: "ann" }))).toEqual({ allowed: false, denied: true, reason });
    expect(here.watched.denial(review({ user: "anne" }))).toBeUndefined();
    expect(here.watched.denial(review({ user: "sa", extra: { [key]: ["JTI=y", "JTI=x"] } }))?.denied).toBe(true);
    expect(here.watched.denial(review({ user: "sa", extra: { [key.toUpperCase()]: ["JTI=x"] } }))?.denied).toBe(true);
    const extra = { [key]: [`X509SHA256=${"ab".repeat(32)}`] };
    expect(here.watched.denial(review({ user: "node", extra }))?.denied).toBe(true);
    expect(here.watched.denial(review({ user: "sa", extra: { other: ["JTI=x"] } }))).toBeUndefined();
    await here.api.client.delete(credentialRevocations, { name: "r1" });
    await settled();
    expect(here.watched.denial(review({ user: "ann" }))).toBeUndefined();
  });

  test("denies everything but reading the list until it is known, and goes on with what it knew", async () => {
    const down = new ConnectionError("ECONNREFUSED", "down");
    const here = world((api) => api.failNext("list", credentialRevocations, down));
    await settled();
    expect(here.watched.isLoaded()).toBe(false);
    const reason = "the revocations are not known yet";
    expect(here.watched.denial(review({ user: "ann" }))).toEqual({ allowed: false, denied: true, reason });
    const group = "access.pratique.dev";
    const reading = (verb: string, resource = "credentialrevocations"): object => ({
      user: "authorizer",
      resourceAttributes: { verb, group, resource },
    });
    expect(here.watched.denial(review(reading("list")))).toBeUndefined();
    expect(here.watched.denial(review(reading("watch")))).toBeUndefined();
    expect(here.watched.denial(review(reading("delete")))?.denied).toBe(true);
    expect(here.watched.denial(review(reading("list", "accessrequests")))?.denied).toBe(true);
    await here.clock.advance(10_000);
    expect(here.watched.isLoaded()).toBe(true);
    await revoke(here, "r1", { user: "ann" });
    here.api.breakWatches(down);
    await settled();
    expect(here.watched.denial(review({ user: "ann" }))?.denied).toBe(true);
  });
});
