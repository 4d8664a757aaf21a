import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { admissionChain } from "../admission/admission.ts";
import { decodeContinueToken } from "../core/continue-token.ts";
import { StatusError } from "../core/status.ts";
import { configMaps } from "../resources/config-map.ts";
import { openMemory } from "../storage/memory.ts";
import type { Store } from "../storage/store.ts";
import { objectOf } from "../storage/stored-object.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import type { RequestContext } from "./context.ts";
import { entryVersions } from "./entry-versions.ts";
import type { Listed } from "./list.ts";
import { registry, type Registry } from "./registry.ts";
import { everything } from "./selection.ts";

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
      turns: { next: async () => undefined, waiting: () => 0 },
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
