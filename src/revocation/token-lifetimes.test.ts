import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { encodeObject } from "../storage/stored-object.ts";
import { openMemory } from "../storage/memory.ts";
import type { Store } from "../storage/store.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import { tokenSecretLifetimes } from "./token-lifetimes.ts";

const key = "/registry/core/secrets/kube-system/token";
let store: Store;
let cache: WatchCache;
beforeEach(async () => {
  store = await openMemory();
  cache = await openWatchCache({ store, prefix: "/registry/" });
});
afterEach(async () => {
  await cache.close();
  await store.close();
});

const value = (text: string): Uint8Array =>
  encodeObject({ apiVersion: "v1", kind: "Secret", metadata: { name: "token" }, data: { text } });

async function created(): Promise<number> {
  const made = await store.create(key, value("a"));
  if (made.kind !== "created") throw new TypeError("exists");
  await cache.waitFor(made.revision);
  return made.revision;
}

async function changed(ifRevision: number): Promise<void> {
  const made = await store.update(key, value("b"), { ifRevision });
  if (made.kind !== "updated") throw new TypeError("conflict");
  await cache.waitFor(made.revision);
}

const judgedAt = (revision: number): Parameters<ReturnType<typeof tokenSecretLifetimes>>[0] => ({
  username: "a",
  ids: [],
  secret: "kube-system/token",
  secretVersion: String(revision),
});

describe("what a token in a Secret has opened", () => {
  it("lives until the Secret changes", async () => {
    const revision = await created();
    const life = tokenSecretLifetimes(cache)(judgedAt(revision));
    expect(life?.aborted).toBe(false);
    await changed(revision);
    expect(life?.aborted).toBe(true);
  });

  it("ends at once where the Secret has changed between the judgement of the token and the opening", async () => {
    const revision = await created();
    const lifeOf = tokenSecretLifetimes(cache);
    await changed(revision);
    expect(lifeOf(judgedAt(revision))?.aborted).toBe(true);
  });
});
