import { expect, it } from "vitest";
import type { Registry } from "./registry.ts";
import { configMaps } from "../apis/config-map.ts";
import { encodeObject, entryOf } from "../storage/stored-object.ts";
import { inProcessClient } from "./in-process-client.ts";

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
