import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { admissionChain } from "../admission/admission.ts";
import { decodeContinueToken } from "../apimachinery/continue-token.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { configMaps } from "../apis/config-map.ts";
import { openMemory } from "../storage/memory.ts";
import type { Store } from "../storage/store.ts";
import { encodeObject, objectOf } from "../storage/stored-object.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import type { Backend, RequestContext } from "./backend.ts";
import { entryVersions } from "./conversion.ts";
import type { Listed, ListRequest } from "./read.ts";
import { registry, type Registry } from "./registry.ts";
import { everything, selectionOf, type Selection } from "./selection.ts";
import type { WatchItem } from "./watch.ts";

const context: RequestContext = {
  user: { username: "u", groups: [] },
  now: Date.UTC(2026, 0, 1),
  dryRun: false,
  warn: () => undefined,
  annotate: () => undefined,
  fieldManager: "test",
};

let store: Store;
let cache: WatchCache;
let verbs: Registry;
const served = [configMaps];
/** The bytes that names are generated from, in order; then zeros. */
let random: Uint8Array[];
/** How often large work has waited for its turn. */
let turns = 0;

beforeEach(async () => {
  store = await openMemory();
  cache = await openWatchCache({ store, prefix: "/registry/" });
  random = [];
  verbs = registry({
    backend: {
      store,
      cache,
      admission: admissionChain([]),
      versions: entryVersions(),
      turns: { next: async () => void (turns += 1), waiting: () => 0 },
      uuid: () => "uid",
      random: (size) => random.shift() ?? new Uint8Array(size),
    },
    resources: () => served,
    reviews: {},
    created: {},
  });
});

afterEach(async () => {
  await cache.close();
  await store.close();
});

async function create(metadata: { name?: string; generateName?: string }): Promise<string> {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata };
  return objectOf(await verbs.create(configMaps, { namespace: "ns", object, context })).metadata.name ?? "";
}

function list(from: Parameters<Registry["list"]>[1]["from"], limit?: number): Promise<Listed> {
  return verbs.list(configMaps, { namespace: "ns", selection: everything, from, limit });
}

const names = ({ entries }: Listed): readonly (string | undefined)[] =>
  entries.map((entry) => objectOf(entry).metadata.name);

async function failureOf(promise: Promise<unknown>): Promise<StatusError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StatusError)) throw new TypeError("no StatusError was thrown");
  return error;
}

describe("a watch whose first objects cannot be converted", () => {
  it("ends with that error and follows the cache no more", async () => {
    await create({ name: "a" });
    let following = 0;
    const subscribe: WatchCache["subscribe"] = (prefix, options) => {
      const subscription = cache.subscribe(prefix, options);
      if (subscription === "expired") return subscription;
      following += 1;
      const close = (): void => {
        following -= 1;
        subscription.close();
      };
      return { ...subscription, close };
    };
    const failing = new StatusError("InternalError", "conversion webhook failed");
    const versions = { ...entryVersions(), shownAll: () => Promise.reject(failing) };
    const backend: Backend = {
      store,
      cache: { ...cache, subscribe },
      admission: admissionChain([]),
      versions,
      turns: { next: async () => undefined, waiting: () => 0 },
      uuid: () => "uid",
      random: (size) => new Uint8Array(size),
    };
    const watching = registry({ backend, resources: () => served, reviews: {}, created: {} }).watch(configMaps, {
      namespace: "ns",
      selection: everything,
      start: { revision: undefined, state: "send" },
      wake: () => undefined,
    });
    expect(await failureOf(watching)).toBe(failing);
    expect(following).toBe(0);
  });
});

describe("a list whose history is gone", () => {
  beforeEach(async () => {
    for (const name of ["a", "b", "c", "d"]) await create({ name });
  });

  it("ends with Expired and a token that leads on through the present state", async () => {
    const first = await list({ kind: "newest" }, 2);
    expect(names(first)).toEqual(["a", "b"]);
    await create({ name: "b2" });
    await store.compact(await store.currentRevision());
    const error = await failureOf(list({ kind: "continue", token: decodeContinueToken(first.continue ?? "") }, 2));
    expect(error).toMatchObject({ reason: "Expired", code: 410 });
    expect(error.message).toMatch(/^The provided continue parameter is too old to display a consistent list result\./);
    const rest = await list({ kind: "continue", token: decodeContinueToken(error.continue ?? "") }, 10);
    expect(names(rest)).toEqual(["b2", "c", "d"]);
    expect(rest.continue).toBeUndefined();
  });

  it("of an exact version is Expired without such a token", async () => {
    const { revision } = await list({ kind: "newest" });
    await create({ name: "e" });
    await store.compact(await store.currentRevision());
    const error = await failureOf(list({ kind: "exactly", revision }));
    expect(error).toMatchObject({ reason: "Expired", code: 410, continue: undefined });
  });

  it("goes on where nothing under it has changed since", async () => {
    const first = await list({ kind: "newest" }, 2);
    await store.create("/registry/core/secrets/ns/other", new TextEncoder().encode('{"metadata":{}}'));
    await store.compact(await store.currentRevision());
    const rest = await list({ kind: "continue", token: decodeContinueToken(first.continue ?? "") }, 2);
    expect(names(rest)).toEqual(["c", "d"]);
  });
});

describe("a generated name", () => {
  it("is tried again when it is taken", async () => {
    const taken = await create({ generateName: "x-" });
    random = [new Uint8Array(8), new Uint8Array(8).fill(1)];
    expect(await create({ generateName: "x-" })).not.toBe(taken);
  });

  it("that is taken each of eight times ends with AlreadyExists, to be tried a second later", async () => {
    const taken = await create({ generateName: "x-" });
    const error = await failureOf(create({ generateName: "x-" }));
    expect(error).toMatchObject({
      reason: "AlreadyExists",
      message: `configmaps "${taken}" already exists`,
      details: { name: taken, retryAfterSeconds: 1 },
    });
  });
});

describe("ten thousand objects", () => {
  const many = 10_000;
  const chosen = [0, 5000, 9999];
  const turn = async (): Promise<void> => void (turns += 1);
  const selected = (labelSelector: string): Selection => selectionOf(configMaps, { labelSelector, fieldSelector: "" });

  beforeEach(async () => {
    for (let index = 0; index < many; index += 1) {
      const object = labelled(`n${index}`, chosen.includes(index) ? "yes" : "no");
      await store.create(`/registry/core/configmaps/ns/n${index}`, encodeObject(object));
    }
    turns = 0;
  });

  it("are listed whole in one go", async () => {
    const listed = await verbs.list(configMaps, { ...all, selection: everything, turn });
    expect([listed.entries.length, turns]).toEqual([many, 0]);
  });

  it("are looked through in parts for a selector, of one moment, though objects come and go meanwhile", async () => {
    const begun = await store.currentRevision();
    const disturb = async (): Promise<void> => {
      await turn();
      await store.create(`/registry/core/configmaps/ns/a${turns}`, encodeObject(labelled(`a${turns}`, "yes")));
      await store.create(`/registry/core/configmaps/ns/z${turns}`, encodeObject(labelled(`z${turns}`, "yes")));
    };
    const listed = await verbs.list(configMaps, { ...all, selection: selected("chosen=yes"), turn: disturb });
    expect(turns).toBeGreaterThanOrEqual(9);
    expect(names(listed)).toEqual(chosen.map((index) => `n${index}`));
    expect(listed.revision).toBe(begun);
  });

  it("come in pages with a selector, each looked through no further than it needs", async () => {
    const found: (string | undefined)[] = [];
    let from: ListRequest["from"] = { kind: "newest" };
    for (let pages = 0; pages < 10; pages += 1) {
      const page: Listed = await verbs.list(configMaps, {
        ...all,
        selection: selected("chosen=yes"),
        from,
        limit: 1,
        turn,
      });
      found.push(...names(page));
      if (page.continue === undefined) break;
      from = { kind: "continue", token: decodeContinueToken(page.continue) };
    }
    const whole = await verbs.list(configMaps, { ...all, selection: selected("chosen=yes"), turn });
    expect(found).toEqual(names(whole));
  });

  it("are looked through in parts at the start of a watch whose selector passes most of them over", async () => {
    let woken = 0;
    const start = { revision: undefined, state: "send-and-mark" } as const;
    const handle = await verbs.watch(configMaps, {
      namespace: "ns",
      selection: selected("chosen=yes"),
      start,
      wake: () => (woken += 1),
    });
    const items: WatchItem[] = [];
    let empty = 0;
    while (items.at(-1)?.type !== "BOOKMARK") {
      const taken = handle.take(32);
      if (!Array.isArray(taken)) throw new TypeError("the watch has ended");
      items.push(...(taken as readonly WatchItem[]));
      if (taken.length > 0) continue;
      empty += 1;
      // It is called when there is more to take, and only then.
      await vi.waitFor(() => expect(woken).toBe(empty), 45_000);
    }
    handle.close();
    expect(items).toHaveLength(chosen.length + 1);
    expect(empty).toBeGreaterThan(10);
    expect(turns).toBe(empty);
  });
});

const all = { namespace: "ns", from: { kind: "newest" }, limit: undefined } as const;

function labelled(name: string, chosen: string): ApiObject {
  return { kind: "ConfigMap", apiVersion: "v1", metadata: { name, namespace: "ns", labels: { chosen } } };
}
