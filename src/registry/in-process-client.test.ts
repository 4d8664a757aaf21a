import { expect, it, afterEach, beforeEach, describe } from "vitest";
import { type Registry, registry } from "./registry.ts";
import { configMaps } from "../apis/config-map.ts";
import { encodeObject, entryOf } from "../storage/stored-object.ts";
import { inProcessClient } from "./in-process-client.ts";
import { admissionChain } from "../admission/admission.ts";
import { StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { customKinds } from "../apis/custom/custom-kind.ts";
import type { Resource } from "../apis/resource.ts";
import type { Client } from "../client/client.ts";
import { openMemory } from "../storage/memory.ts";
import type { Store } from "../storage/store.ts";
import { openWatchCache, type WatchCache } from "../storage/watch-cache.ts";
import { entryVersions } from "./conversion.ts";
import { largeBytes } from "./turns.ts";

it("parses a large list in parts, with a turn before each but the first", async () => {
  const entries = Array.from({ length: 2500 }, (_, index) => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `a-${index}` } };
    return entryOf(`/registry/core/configmaps/ns/a-${index}`, encodeObject(object), index + 1);
  });
  const parsed: number[] = [];
  const registry = {
    find: () => configMaps,
    list: async () => ({ entries, revision: 2500, continue: undefined, remaining: undefined }),
  } as unknown as Registry;
  const client = inProcessClient({
    registry,
    authorizer: async () => ({ verdict: "allow", reason: "" }),
    clock: { now: () => 0, sleep: async () => undefined },
    user: { username: "a", groups: [] },
    turn: async () => void parsed.push(entries.filter((entry) => entry.parsed !== undefined).length),
  });
  const { items } = await client.list(configMaps);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(entries.map((_, index) => `a-${index}`));
  expect(parsed).toEqual([1024, 2048]);
});

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { size: { type: "integer" }, colour: { type: "string", default: "red" } },
    },
  },
};

function widgets(): Resource {
  const [kind] = customKinds(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "widgets", kind: "Widget" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    },
    { since: 0, convert: undefined },
  );
  if (kind === undefined) throw new TypeError("no kind");
  return kind;
}

const widget = widgets();
let store: Store;
let cache: WatchCache;
let client: Client;
/** How often the client has waited for a turn of its own. */
let turns: number;

beforeEach(async () => {
  turns = 0;
  store = await openMemory();
  cache = await openWatchCache({ store, prefix: "/registry/" });
  const served = [configMaps, widget];
  const verbs = registry({
    backend: {
      store,
      cache,
      admission: admissionChain([]),
      versions: entryVersions(),
      turns: { next: async () => undefined, waiting: () => 0 },
      uuid: () => "uid",
      random: (size) => new Uint8Array(size),
    },
    resources: () => served,
    reviews: {},
    created: {},
  });
  client = inProcessClient({
    registry: verbs,
    authorizer: async () => ({ verdict: "allow", reason: "" }),
    clock: { now: () => Date.UTC(2026, 0, 1), sleep: async () => undefined },
    user: { username: "u", groups: [] },
    turn: async () => void (turns += 1),
  });
});

afterEach(async () => {
  await cache.close();
  await store.close();
});

const key = { namespace: "ns", name: "a" };
const aWidget = (spec: object): ApiObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: key,
  spec,
});
const aConfigMap = (data: object): ApiObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: key, data });
const specNow = async (): Promise<unknown> => (await client.get<ApiObject>(widget, key))["spec"];

describe("a write of a client inside the hub", () => {
  it("is pruned and defaulted as over HTTP: create, update and patch", async () => {
    await client.create(widget, aWidget({ size: 1, unknown: true }));
    expect(await specNow()).toEqual({ size: 1, colour: "red" });
    const stored = await client.get<ApiObject>(widget, key);
    await client.update(widget, { ...stored, spec: { size: 2, unknown: true } });
    expect(await specNow()).toEqual({ size: 2, colour: "red" });
    await client.patch(widget, key, { spec: { size: 3, colour: null, unknown: true } });
    expect(await specNow()).toEqual({ size: 3, colour: "red" });
  });

  it("loses what the schema of a built-in kind does not have, and members that are undefined", async () => {
    const made = await client.create<ApiObject>(configMaps, {
      ...aConfigMap({ a: "b" }),
      unknown: true,
      immutable: undefined,
    });
    expect(Object.keys(made)).toEqual(["kind", "apiVersion", "metadata", "data"]);
  });

  it("is refused where a field has another type", async () => {
    const failed = client.create(configMaps, aConfigMap({ a: 1 }));
    await expect(failed).rejects.toBeInstanceOf(StatusError);
    await expect(failed).rejects.toMatchObject({
      reason: "BadRequest",
      message: expect.stringContaining('ConfigMap in version "v1" cannot be handled as a ConfigMap: ') as unknown,
    });
  });

  it("decodes a large object in turns of its user, and a small one at once", async () => {
    await client.create(configMaps, aConfigMap({ a: "b" }));
    await client.patch(configMaps, key, { data: { a: "c" } });
    expect(turns).toBe(0);
    await client.update(configMaps, aConfigMap({ a: "b".repeat(largeBytes) }));
    expect(turns).toBeGreaterThan(0);
  });
});
