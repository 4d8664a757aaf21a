import { describe, expect, test } from "vitest";
import { StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { memoryApi } from "../../test/kits/memory-api.ts";
import type { MemoryApi } from "../../test/kits/memory-api.ts";
import { fakeClock, settled } from "../../test/kits/fake-clock.ts";
import type { FakeClock } from "../../test/kits/fake-clock.ts";
import { ConnectionError } from "./client.ts";
import type { Client, ResourceRef } from "./client.ts";
import { informer } from "./informer.ts";
import type { Informer, InformerOptions } from "./informer.ts";
import type { Change } from "./object-store.ts";

const configMaps: ResourceRef = {
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  scope: "Namespaced",
};
const lost = new ConnectionError("ECONNRESET", "reset");

function configMap(name: string, value: string, uid?: string): ApiObject {
  const metadata = { namespace: "n", name, ...(uid === undefined ? {} : { uid }) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value } };
}

interface Scene {
  readonly api: MemoryApi;
  readonly clock: FakeClock;
  readonly following: Informer;
  readonly changes: string[];
  readonly errors: unknown[];
  readonly stop: AbortController;
  /** Begins to follow, and resolves when all is quiet. */
  readonly start: () => Promise<void>;
  readonly stopped: Promise<void>;
}

function scene(options: Partial<InformerOptions> = {}): Scene {
  const clock = fakeClock();
  const api = memoryApi({ clock });
  const errors: unknown[] = [];
  const changes: string[] = [];
  const stop = new AbortController();
  const following = informer({
    client: api.client,
    resource: configMaps,
    clock,
    backoff: { initialMs: 100, maxMs: 1000 },
    random: () => 1,
    onError: (error) => errors.push(error),
    ...options,
  });
  following.onChange((change) => changes.push(shown(change)));
  let begin: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => (begin = resolve)).then(() => following.run(stop.signal));
  const start = async (): Promise<void> => {
    begin();
    await settled();
  };
  return { api, clock, following, changes, errors, stop, start, stopped };
}

function shown(change: Change): string {
  const value = (object: ApiObject | undefined): string => {
    const data = object?.["data"];
    return typeof data === "object" && data !== null && "value" in data ? String(data.value) : "-";
  };
  return `${change.type} ${change.object.metadata.name} ${value(change.previous)}>${value(change.object)}`;
}

describe("informer", () => {
  test("delivers what exists, then is synced, then follows every change", async () => {
    const { api, following, changes, start } = scene();
    await api.client.create(configMaps, configMap("a", "1"));
    await start();
    await following.synced;
    await api.client.update(configMaps, configMap("a", "2"));
    await api.client.create(configMaps, configMap("b", "1"));
    await api.client.delete(configMaps, { namespace: "n", name: "a" });
    await settled();
    expect(changes).toEqual(["ADDED a ->1", "MODIFIED a 1>2", "ADDED b ->1", "DELETED a 2>2"]);
    expect(following.list().map((object) => object.metadata.name)).toEqual(["b"]);
  });

  test("keeps and tells what the transform leaves of each object, listed or watched", async () => {
    const transform = (object: ApiObject): ApiObject => ({ ...object, data: { value: "left" } });
    const { api, following, changes, start } = scene({ transform });
    await api.client.create(configMaps, configMap("a", "1"));
    await start();
    await api.client.update(configMaps, configMap("a", "2"));
    await api.client.delete(configMaps, { namespace: "n", name: "a" });
    await api.client.create(configMaps, configMap("b", "1"));
    await settled();
    expect(changes).toEqual(["ADDED a ->left", "MODIFIED a left>left", "DELETED a left>left", "ADDED b ->left"]);
    expect(following.list().map((object) => object["data"])).toEqual([{ value: "left" }]);
  });

  test("resumes a broken watch without listing and without missing what happened meanwhile", async () => {
    const { api, clock, changes, errors, start } = scene();
    await start();
    api.breakWatches(lost);
    await settled();
    await api.client.create(configMaps, configMap("a", "1"));
    api.failNext("list", configMaps, new StatusError("InternalError", "must not be asked"));
    await clock.advance(100);
    expect(changes).toEqual(["ADDED a ->1"]);
    expect(errors).toEqual([lost]);
  });

  test("lists anew after Expired and reports only the difference", async () => {
    const { api, clock, changes, start } = scene();
    for (const name of ["same", "changed", "gone"]) await api.client.create(configMaps, configMap(name, "1"));
    await start();
    changes.length = 0;
    api.breakWatches(lost);
    await settled();
    await api.client.update(configMaps, configMap("changed", "2"));
    await api.client.delete(configMaps, { namespace: "n", name: "gone" });
    await api.client.create(configMaps, configMap("new", "1"));
    api.compact();
    await clock.advance(100);
    expect(changes).toEqual(["DELETED gone 1>1", "MODIFIED changed 1>2", "ADDED new ->1"]);
  });

  test("reports an object that was deleted and made anew under its name as two changes", async () => {
    const { api, clock, changes, start } = scene();
    await api.client.create(configMaps, configMap("a", "1", "first"));
    await start();
    api.breakWatches(lost);
    await settled();
    await api.client.delete(configMaps, { namespace: "n", name: "a" });
    await api.client.create(configMaps, configMap("a", "2", "second"));
    api.compact();
    await clock.advance(100);
    expect(changes).toEqual(["ADDED a ->1", "DELETED a 1>1", "ADDED a ->2"]);
  });

  test("goes on after a list that fails, with growing pauses", async () => {
    const { api, clock, following, errors, start } = scene();
    for (let round = 0; round < 3; round += 1) api.failNext("list", configMaps, lost);
    await start();
    await clock.advance(100 + 200);
    expect(errors).toHaveLength(3);
    let synced = false;
    void following.synced.then(() => (synced = true));
    await clock.advance(399);
    expect(synced).toBe(false);
    await clock.advance(1);
    expect(synced).toBe(true);
  });

  test("is synced as false when it stops before its first list", async () => {
    const { api, following, stop, stopped, start } = scene();
    api.failNext("list", configMaps, lost);
    await start();
    stop.abort();
    await stopped;
    expect(await following.synced).toBe(false);
  });

  test("stops its watch and all its waiting on abort", async () => {
    const { api, clock, changes, stop, stopped, start } = scene();
    await start();
    stop.abort();
    await stopped;
    await api.client.create(configMaps, configMap("a", "1"));
    await settled();
    expect(changes).toEqual([]);
    expect(clock.sleeping()).toBe(0);
  });

  test("pauses before asking again when a server ends each watch at once", async () => {
    const { api, clock, start } = scene();
    await start();
    let opened = 0;
    const watch = api.client.watch.bind(api.client);
    Object.assign(api.client, { watch: (...args: Parameters<Client["watch"]>) => ((opened += 1), watch(...args)) });
    for (let round = 0; round < 5; round += 1) {
      api.breakWatches();
      await settled();
    }
    expect(opened).toBe(0);
    await clock.advance(100);
    expect(opened).toBe(1);
  });

  test("lists anew when resuming fails again and again", async () => {
    const { api, clock, changes, start } = scene();
    await start();
    for (let round = 0; round < 6; round += 1) api.failNext("watch", configMaps, lost);
    api.breakWatches(lost);
    await settled();
    await api.client.create(configMaps, configMap("a", "1"));
    api.compact();
    await clock.advance(10_000);
    expect(changes).toEqual(["ADDED a ->1"]);
  });

  test("follows only its selection, and sees an object leave it as deleted", async () => {
    const { api, changes, start } = scene({ fieldSelector: "metadata.name=a", labelSelector: "on=yes" });
    await start();
    const labelled = { ...configMap("a", "1"), metadata: { namespace: "n", name: "a", labels: { on: "yes" } } };
    await api.client.create(configMaps, labelled);
    await api.client.create(configMaps, configMap("b", "1"));
    await api.client.update(configMaps, configMap("a", "2"));
    await settled();
    expect(changes.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["ADDED a", "DELETED a"]);
  });

  test("leaves it to its client how many pages make a list", async () => {
    const { api, start, following } = scene();
    await api.client.create(configMaps, configMap("a", "1"));
    const list = api.client.list.bind(api.client);
    const asked: unknown[] = [];
    Object.assign(api.client, {
      list: (...args: Parameters<Client["list"]>) => {
        asked.push(args[1]);
        return list(...args);
      },
    });
    await start();
    expect(following.list()).toHaveLength(1);
    expect(asked).toEqual([{}]);
  });

  test("replays what it knows to a listener that comes later", async () => {
    const { api, following, start } = scene();
    await api.client.create(configMaps, configMap("a", "1"));
    await start();
    const late: string[] = [];
    const end = following.onChange((change) => late.push(shown(change)));
    end();
    await api.client.create(configMaps, configMap("b", "1"));
    await settled();
    expect(late).toEqual(["ADDED a ->1"]);
  });

  test("outlives a listener that throws", async () => {
    const { api, following, changes, errors, start } = scene();
    following.onChange(() => {
      throw new TypeError("a listener's bug");
    });
    await start();
    await api.client.create(configMaps, configMap("a", "1"));
    await api.client.create(configMaps, configMap("b", "1"));
    await settled();
    expect(changes).toHaveLength(2);
    expect(errors).toHaveLength(2);
  });
});
