import { setImmediate as nextTurn } from "node:timers/promises";
import { readConfigureGlobal } from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StorageErrorCode, Store, StoreEvent, WatchBatch } from "../../src/storage/store.ts";
import { describeStoreModel } from "./store-model.ts";

/** What a suite over one kind of store needs. */
export interface StoreKit {
  /** An empty store of its own; the kit closes it. */
  readonly open: () => Promise<Store>;
  /** How many random histories the property tests go through, default 60. */
  readonly histories?: number;
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const plain = (value: Uint8Array | undefined): string => new TextDecoder().decode(value);

/** The contract of `Store` as a test suite, the same for every driver. Revisions are compared with one another, never with fixed numbers. */
export function describeStore(name: string, kit: StoreKit): void {
  describe(`${name} as a Store`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await kit.open();
    });
    afterEach(() => store.close());

    describeWrites(() => store);
    describeLists(() => store);
    describeHistory(() => store);
    describeWatch(() => store);
    describeClosing(() => store);
  });
  describeStoreModel(name, kit.open, readConfigureGlobal().numRuns ?? kit.histories ?? 60);
}

function describeWrites(current: () => Store): void {
  describe("writes", () => {
    it("answers a key that was never written with no value and the newest revision", async () => {
      const store = current();
      const revision = await put(store, "/a");
      expect(await store.get("/b")).toEqual({ value: undefined, revision });
    });

    it("gives every write the next revision", async () => {
      const store = current();
      const base = await store.currentRevision();
      const results = await Promise.all(Array.from({ length: 200 }, (_, index) => put(store, `/n/${index}`)));
      expect(results).toEqual(results.map((_, index) => base + index + 1));
      expect(await store.currentRevision()).toBe(base + 200);
    });

    it("creates an absent key and returns a present one", async () => {
      const store = current();
      const revision = await put(store, "/a", "first");
      const second = await store.create("/a", text("second"));
      expect(second).toMatchObject({ kind: "exists", current: { key: "/a", revision } });
      expect(second.kind === "exists" && plain(second.current.value)).toBe("first");
    });

    it("updates only from the revision that is there", async () => {
      const store = current();
      const revision = await put(store, "/a", "first");
      expect(await store.update("/a", text("x"), { ifRevision: revision + 1 })).toMatchObject({
        kind: "conflict",
        current: { revision },
      });
      const updated = await store.update("/a", text("second"), { ifRevision: revision });
      expect(updated).toEqual({ kind: "updated", revision: revision + 1 });
      expect(await store.update("/a", text("x"), { ifRevision: revision })).toMatchObject({
        kind: "conflict",
        current: { revision: revision + 1 },
      });
      expect(await valueOf(store, "/a")).toBe("second");
      expect(await store.update("/none", text("x"), { ifRevision: revision })).toEqual({ kind: "missing" });
    });

    it("deletes only from the revision that is there, with a revision of its own", async () => {
      const store = current();
      const revision = await put(store, "/a", "first");
      expect(await store.delete("/a", { ifRevision: revision + 1 })).toMatchObject({
        kind: "conflict",
        current: { revision },
      });
      expect(await store.delete("/a", { ifRevision: revision })).toEqual({ kind: "deleted", revision: revision + 1 });
      expect(await store.delete("/a", { ifRevision: revision })).toEqual({ kind: "missing" });
      expect(await store.update("/a", text("x"), { ifRevision: revision })).toEqual({ kind: "missing" });
      expect(await store.get("/a")).toEqual({ value: undefined, revision: revision + 1 });
      expect(await store.create("/a", text("again"))).toEqual({ kind: "created", revision: revision + 2 });
    });

    it("consumes no revision for a write that is refused", async () => {
      const store = current();
      const revision = await put(store, "/a");
      await store.create("/a", text("x"));
      await store.update("/a", text("x"), { ifRevision: revision + 5 });
      await store.delete("/b", { ifRevision: revision });
      expect(await store.currentRevision()).toBe(revision);
    });

    it("lets exactly one of many concurrent creations win, and shows the others its value", async () => {
      const store = current();
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) => store.create("/a", text(String(index)))),
      );
      const created = results.filter((result) => result.kind === "created");
      expect(created).toHaveLength(1);
      const stored = await store.get("/a");
      const shown = results.flatMap((result) => (result.kind === "exists" ? [result.current] : []));
      expect(shown).toEqual(Array.from({ length: 49 }, () => stored.value));
    });

    it("lets exactly one of many concurrent updates from one revision win", async () => {
      const store = current();
      const revision = await put(store, "/a");
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, index) => store.update("/a", text(String(index)), { ifRevision: revision })),
      );
      expect(results.filter(({ kind }) => kind === "updated")).toHaveLength(1);
      const { value } = await store.get("/a");
      const shown = results.flatMap((result) => (result.kind === "conflict" ? [result.current] : []));
      expect(shown).toEqual(Array.from({ length: 49 }, () => value));
    });

    it("decides a creation that races with a deletion by what is there afterwards", async () => {
      const store = current();
      const revision = await put(store, "/a");
      const [deleted, created, updated] = await Promise.all([
        store.delete("/a", { ifRevision: revision }),
        store.create("/a", text("new")),
        store.update("/a", text("late"), { ifRevision: revision }),
      ]);
      expect(deleted.kind).toBe("deleted");
      expect(created).toEqual({ kind: "created", revision: revision + 2 });
      expect(updated).toMatchObject({ kind: "conflict", current: { revision: revision + 2 } });
    });

    it("loses no increment of concurrent writers that retry on conflict", async () => {
      const store = current();
      await put(store, "/counter", "0");
      const increment = async (): Promise<void> => {
        for (;;) {
          const { value } = await store.get("/counter");
          const next = text(String(Number(plain(value?.value)) + 1));
          const result = await store.update("/counter", next, { ifRevision: value?.revision ?? 0 });
          if (result.kind === "updated") return;
        }
      };
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          for (let round = 0; round < 10; round += 1) await increment();
        }),
      );
      expect(await valueOf(store, "/counter")).toBe("100");
    });

    it.each([0, 1, 255, 4000, 40_000, 3 * 1024 * 1024])("returns a value of %i bytes as it was", async (size) => {
      const store = current();
      const value = Uint8Array.from({ length: size }, (_, index) => (index * 7) & 255);
      const created = await store.create("/a", value);
      await put(store, "/b");
      const stored = await store.get("/a");
      expect(stored.value?.value.length).toBe(size);
      expect(Buffer.compare(Buffer.from(stored.value?.value ?? []), Buffer.from(value))).toBe(0);
      expect(created.kind).toBe("created");
    });

    it("keeps what was written when the caller's array changes afterwards", async () => {
      const store = current();
      const value = text("before");
      const writing = store.create("/a", value);
      value.fill(0);
      await writing;
      expect(await valueOf(store, "/a")).toBe("before");
    });

    it.each(["", "/\ud800", "/".repeat(5000)])(
      "refuses a key that is empty, malformed or too long (case %#)",
      async (key) => {
        const store = current();
        await expect(store.create(key, text("x"))).rejects.toBeInstanceOf(TypeError);
        expect((await store.list("")).values).toEqual([]);
      },
    );

    it.each(["__proto__", "constructor", "/ä/日本/🜁", "/a b\n%"])("takes %j for a key like any other", async (key) => {
      const store = current();
      expect((await store.get(key)).value).toBeUndefined();
      await put(store, key, "here");
      expect(await valueOf(store, key)).toBe("here");
      expect((await store.list(key)).values.map((value) => value.key)).toEqual([key]);
    });
  });
}

function describeLists(current: () => Store): void {
  describe("lists", () => {
    it("lists the keys under a prefix, and no others, in order", async () => {
      const store = current();
      for (const key of ["/b/2", "/a", "/b/10", "/ba", "/b/", "/c", "/b/1"]) await put(store, key, key);
      const { values, more } = await store.list("/b/");
      expect(values.map(({ key, value }) => [key, plain(value)])).toEqual(
        ["/b/", "/b/1", "/b/10", "/b/2"].map((key) => [key, key]),
      );
      expect(more).toBe(false);
      expect((await store.list("")).values).toHaveLength(7);
      expect((await store.list("/none")).values).toEqual([]);
    });

    it("pages through a fixed revision while keys come and go", async () => {
      const store = current();
      const keys = Array.from({ length: 25 }, (_, index) => `/p/${String(index).padStart(2, "0")}`);
      for (const key of keys) await put(store, key);
      const seen: string[] = [];
      let page = await store.list("/p/", { limit: 10 });
      const { revision } = page;
      for (;;) {
        seen.push(...page.values.map(({ key }) => key));
        if (!page.more) break;
        expect(page.values).toHaveLength(10);
        await put(store, `/p/${seen.length}-new`);
        const victim = (await store.get("/p/24")).value;
        if (victim !== undefined) await store.delete("/p/24", { ifRevision: victim.revision });
        page = await store.list("/p/", { limit: 10, revision, after: seen.at(-1) ?? "" });
        expect(page.revision).toBe(revision);
      }
      expect(seen).toEqual(keys);
    });

    it("says more only when there is more", async () => {
      const store = current();
      for (const key of ["/a/1", "/a/2", "/a/3", "/b/1"]) await put(store, key);
      expect((await store.list("/a/", { limit: 3 })).more).toBe(false);
      expect((await store.list("/a/", { limit: 2 })).more).toBe(true);
      expect((await store.list("/a/", { limit: 2, after: "/a/1" })).more).toBe(false);
      expect((await store.list("/a/", { limit: 1, after: "/a/3" })).values).toEqual([]);
    });

    it("goes on after a key that is gone or that lies before the prefix", async () => {
      const store = current();
      for (const key of ["/a/1", "/a/3"]) await put(store, key);
      expect((await store.list("/a/", { after: "/a/2" })).values.map(({ key }) => key)).toEqual(["/a/3"]);
      expect((await store.list("/a/", { after: "/" })).values).toHaveLength(2);
      expect((await store.list("/a/", { after: "/b" })).values).toEqual([]);
    });

    it("lists thousands of keys whole, as of one revision, while writes go on", async () => {
      const store = current();
      await Promise.all(Array.from({ length: 2500 }, (_, index) => put(store, `/l/${String(index).padStart(5, "0")}`)));
      const listing = store.list("/l/");
      const writing = Promise.all(Array.from({ length: 100 }, (_, index) => put(store, `/l/x${index}`)));
      const { values, revision } = await listing;
      await writing;
      expect(values).toHaveLength(2500 + values.filter(({ key }) => key.startsWith("/l/x")).length);
      expect(values.every((value) => value.revision <= revision)).toBe(true);
      expect(values.map(({ key }) => key)).toEqual(values.map(({ key }) => key).sort());
    });

    it.each([0, -1, 1.5, Number.NaN])("refuses the limit %d", async (limit) => {
      await expect(current().list("/", { limit })).rejects.toBeInstanceOf(TypeError);
    });
  });
}

function describeHistory(current: () => Store): void {
  describe("history", () => {
    it("reads each key as of each revision", async () => {
      const store = current();
      const first = await put(store, "/a", "one");
      await store.update("/a", text("two"), { ifRevision: first });
      await store.delete("/a", { ifRevision: first + 1 });
      await store.create("/a", text("three"));
      const seen = await Promise.all([0, 1, 2, 3].map(async (step) => valueOf(store, "/a", first + step)));
      expect(seen).toEqual(["one", "two", undefined, "three"]);
      expect((await store.get("/a", { revision: first - 1 })).value).toBeUndefined();
      expect((await store.list("/", { revision: first + 2 })).values).toEqual([]);
      expect((await store.list("/", { revision: first + 1 })).revision).toBe(first + 1);
    });

    it("refuses a revision that is not there yet", async () => {
      const store = current();
      const revision = (await put(store, "/a")) + 1;
      await expect(store.get("/a", { revision })).rejects.toMatchObject(refusal("future"));
      await expect(store.list("/", { revision })).rejects.toMatchObject(refusal("future"));
      await expect(store.compact(revision)).rejects.toMatchObject(refusal("future"));
    });

    it("refuses what is below the compacted revision, and reads at it and above", async () => {
      const store = current();
      const first = await put(store, "/a", "one");
      await put(store, "/gone");
      await store.update("/a", text("two"), { ifRevision: first });
      await store.delete("/gone", { ifRevision: first + 1 });
      await store.update("/a", text("three"), { ifRevision: first + 2 });
      await store.compact(first + 3);
      expect(await store.compactedRevision()).toBe(first + 3);
      expect(await store.currentRevision()).toBe(first + 4);
      await expect(store.get("/a", { revision: first + 2 })).rejects.toMatchObject(refusal("compacted"));
      await expect(store.list("/", { revision: first })).rejects.toMatchObject(refusal("compacted"));
      expect(await valueOf(store, "/a", first + 3)).toBe("two");
      expect(await valueOf(store, "/a", first + 4)).toBe("three");
      expect((await store.list("/", { revision: first + 3 })).values.map(({ key }) => key)).toEqual(["/a"]);
      expect(await valueOf(store, "/gone", first + 3)).toBeUndefined();
    });

    it("keeps a value that is older than the compacted revision and still current", async () => {
      const store = current();
      const revision = await put(store, "/old", "kept");
      for (let index = 0; index < 5; index += 1) await put(store, `/other/${index}`);
      await store.compact(await store.currentRevision());
      expect((await store.get("/old")).value).toMatchObject({ key: "/old", revision });
      expect(await valueOf(store, "/old")).toBe("kept");
      expect(await store.update("/old", text("new"), { ifRevision: revision })).toMatchObject({ kind: "updated" });
    });

    it("does nothing when asked to compact to where it already is, or below", async () => {
      const store = current();
      const revision = await put(store, "/a");
      await put(store, "/b");
      await store.compact(revision + 1);
      await store.compact(revision + 1);
      await store.compact(revision);
      expect(await store.compactedRevision()).toBe(revision + 1);
    });

    it("takes writes while it compacts thousands of revisions", async () => {
      const store = current();
      const keys = Array.from({ length: 50 }, (_, index) => `/c/${index}`);
      const latest = new Map<string, number>();
      for (const key of keys) latest.set(key, await put(store, key));
      const rewrite = async (key: string): Promise<void> => {
        const result = await store.update(key, text(`${key} again`), { ifRevision: latest.get(key) ?? 0 });
        if (result.kind === "updated") latest.set(key, result.revision);
      };
      for (let round = 0; round < 60; round += 1) await Promise.all(keys.map(rewrite));
      const target = await store.currentRevision();
      const [, ...rest] = await Promise.all([store.compact(target), ...keys.map(rewrite)]);
      expect(rest).toHaveLength(50);
      expect(await store.compactedRevision()).toBe(target);
      const { values } = await store.list("/c/");
      expect(new Map(values.map(({ key, revision }) => [key, revision]))).toEqual(latest);
      expect((await store.list("/c/", { revision: target })).values).toHaveLength(50);
    });
  });
}

function describeWatch(current: () => Store): void {
  describe("watch", () => {
    it("replays what happened after a revision, then goes on live, only under its prefix", async () => {
      const store = current();
      const first = await put(store, "/w/a", "one");
      await put(store, "/other");
      await store.update("/w/a", text("two"), { ifRevision: first });
      const watching = take(store, { prefix: "/w/", fromRevision: first, count: 4 });
      await store.delete("/w/a", { ifRevision: first + 2 });
      await put(store, "/w", "no");
      await put(store, "/w/a", "three");
      await put(store, "/w/b", "four");
      const events = await watching;
      expect(events.map(summary)).toEqual([
        ["put", "/w/a", "two", first + 2, false],
        ["delete", "/w/a", undefined, first + 3, undefined],
        ["put", "/w/a", "three", first + 5, true],
        ["put", "/w/b", "four", first + 6, true],
      ]);
    });

    it("delivers batches in revision order, each saying how far it reaches", async () => {
      const store = current();
      const base = await store.currentRevision();
      const stop = new AbortController();
      const batches: WatchBatch[] = [];
      const watching = (async () => {
        for await (const batch of store.watch("/w/", { fromRevision: base, signal: stop.signal })) {
          batches.push(batch);
          if (batch.revision >= base + 600) stop.abort();
        }
      })();
      for (let round = 0; round < 3; round += 1) {
        await Promise.all(Array.from({ length: 200 }, (_, index) => put(store, `/w/${round}-${index}`)));
      }
      await watching;
      const revisions = batches.flatMap(({ events }) => events.map(({ revision }) => revision));
      expect(revisions).toEqual(Array.from({ length: 600 }, (_, index) => base + index + 1));
      for (const batch of batches)
        expect(batch.revision).toBeGreaterThanOrEqual(batch.events.at(-1)?.revision ?? Infinity);
    });

    it("delivers a write to a waiting watcher before the writer goes on", async () => {
      const store = current();
      const stop = new AbortController();
      const base = await put(store, "/other");
      await put(store, "/unseen");
      const seen = [base];
      const watching = (async () => {
        for await (const batch of store.watch("/w/", { fromRevision: base, signal: stop.signal }))
          seen.push(batch.revision);
      })();
      // The first write may meet a watcher that is still reading what came before it.
      await put(store, "/w/first");
      while (seen.length === 1) await nextTurn();
      for (let index = 0; index < 20; index += 1) {
        const revision = await put(store, `/w/${index}`);
        expect(seen.at(-1)).toBeGreaterThanOrEqual(revision);
      }
      stop.abort();
      await watching;
    });

    it("gives a slow watcher everything, from the log", async () => {
      const store = current();
      const base = await store.currentRevision();
      const stop = new AbortController();
      const watch = iterate(store, { fromRevision: base, signal: stop.signal });
      const first = watch.next();
      await put(store, "/w/first");
      expect((await first).done).toBe(false);
      await Promise.all(
        Array.from({ length: 1200 }, (_, index) => put(store, `${index % 3 === 0 ? "/x/" : "/w/"}${index}`)),
      );
      const revisions: number[] = [];
      while (revisions.length < 800) {
        const result = await watch.next();
        if (result.done === true) break;
        revisions.push(...result.value.events.map(({ revision }) => revision));
      }
      expect(revisions).toHaveLength(800);
      expect(revisions).toEqual(revisions.toSorted((one, other) => one - other));
      stop.abort();
      expect(await watch.next()).toEqual({ done: true, value: undefined });
    });

    it("tells a slow watcher when its history was compacted", async () => {
      const store = current();
      const base = await put(store, "/w/0");
      const watch = iterate(store, { fromRevision: base, signal: new AbortController().signal });
      await put(store, "/w/1");
      await watch.next();
      await put(store, "/w/2");
      await put(store, "/w/3");
      await store.compact(base + 3);
      await expect(watch.next()).rejects.toMatchObject(refusal("compacted"));
      expect(await watch.next()).toEqual({ done: true, value: undefined });
    });

    it("starts at the compacted revision, and not below it", async () => {
      const store = current();
      const base = await put(store, "/w/0");
      await put(store, "/w/1");
      await put(store, "/w/2");
      await store.compact(base + 1);
      expect(
        (await take(store, { prefix: "/w/", fromRevision: base + 1, count: 1 })).map(({ revision }) => revision),
      ).toEqual([base + 2]);
      await expect(take(store, { prefix: "/w/", fromRevision: base, count: 1 })).rejects.toMatchObject(
        refusal("compacted"),
      );
    });

    it("does not lose its place to a compaction while it waits for a quiet prefix", async () => {
      const store = current();
      const base = await put(store, "/w/0");
      const watching = take(store, { prefix: "/w/", fromRevision: base, count: 1 });
      for (let index = 0; index < 5; index += 1) await put(store, `/x/${index}`);
      await store.compact(base + 5);
      await put(store, "/w/1");
      expect((await watching).map(({ revision }) => revision)).toEqual([base + 6]);
    });

    it("waits for a revision that is not there yet", async () => {
      const store = current();
      const base = await store.currentRevision();
      const watching = take(store, { prefix: "/w/", fromRevision: base + 2, count: 1 });
      for (let index = 0; index < 3; index += 1) await put(store, `/w/${index}`);
      expect((await watching).map(({ revision }) => revision)).toEqual([base + 3]);
    });

    it("serves several watchers of one prefix alike", async () => {
      const store = current();
      const base = await store.currentRevision();
      const watching = Array.from({ length: 5 }, () => take(store, { prefix: "/w/", fromRevision: base, count: 20 }));
      await Promise.all(Array.from({ length: 20 }, (_, index) => put(store, `/w/${index}`)));
      const [first, ...others] = await Promise.all(watching);
      expect(first).toHaveLength(20);
      for (const other of others) expect(other).toEqual(first);
    });

    it("ends without an error when its signal aborts, before, while and after it waits", async () => {
      const store = current();
      const stop = new AbortController();
      const fromRevision = await store.currentRevision();
      const waiting = iterate(store, { fromRevision, signal: stop.signal });
      const next = waiting.next();
      stop.abort();
      expect(await next).toEqual({ done: true, value: undefined });
      expect(await waiting.next()).toEqual({ done: true, value: undefined });
      const late = iterate(store, { fromRevision, signal: stop.signal });
      expect(await late.next()).toEqual({ done: true, value: undefined });
    });
  });
}

function describeClosing(current: () => Store): void {
  describe("closing", () => {
    it("finishes the writes under way, then refuses everything", async () => {
      const store = current();
      const base = await store.currentRevision();
      const writing = Array.from({ length: 20 }, (_, index) => put(store, `/n/${index}`));
      const closing = store.close();
      await expect(store.create("/late", text("x"))).rejects.toMatchObject(refusal("closed"));
      expect(await Promise.all(writing)).toEqual(writing.map((_, index) => base + index + 1));
      await closing;
      await store.close();
      await expect(store.get("/n/1")).rejects.toMatchObject(refusal("closed"));
      await expect(store.list("/")).rejects.toMatchObject(refusal("closed"));
      await expect(store.currentRevision()).rejects.toMatchObject(refusal("closed"));
      await expect(store.compactedRevision()).rejects.toMatchObject(refusal("closed"));
      await expect(store.compact(0)).rejects.toMatchObject(refusal("closed"));
      await expect(store.delete("/n/1", { ifRevision: base + 2 })).rejects.toMatchObject(refusal("closed"));
      await expect(take(store, { prefix: "/", fromRevision: base + 20, count: 1 })).rejects.toMatchObject(
        refusal("closed"),
      );
    });

    it("ends a watch that waits", async () => {
      const store = current();
      const fromRevision = await store.currentRevision();
      const watching = take(store, { prefix: "/", fromRevision, count: 1 });
      const [outcome] = await Promise.allSettled([watching, store.close()]);
      expect(outcome).toMatchObject({ status: "rejected", reason: refusal("closed") });
    });
  });
}

async function put(store: Store, key: string, value = key): Promise<number> {
  const result = await store.create(key, text(value));
  expect(result.kind).toBe("created");
  return result.kind === "created" ? result.revision : 0;
}

async function valueOf(store: Store, key: string, revision?: number): Promise<string | undefined> {
  const { value } = await store.get(key, revision === undefined ? {} : { revision });
  return value === undefined ? undefined : plain(value.value);
}

async function take(
  store: Store,
  { prefix, fromRevision, count }: { readonly prefix: string; readonly fromRevision: number; readonly count: number },
): Promise<StoreEvent[]> {
  const stop = new AbortController();
  const events: StoreEvent[] = [];
  for await (const batch of store.watch(prefix, { fromRevision, signal: stop.signal })) {
    events.push(...batch.events);
    if (events.length >= count) stop.abort();
  }
  return events;
}

function iterate(
  store: Store,
  options: { readonly fromRevision: number; readonly signal: AbortSignal },
): AsyncIterator<WatchBatch> {
  return store.watch("/w/", options)[Symbol.asyncIterator]();
}

function summary(event: StoreEvent): readonly unknown[] {
  return event.type === "put"
    ? ["put", event.key, plain(event.value), event.revision, event.created]
    : ["delete", event.key, undefined, event.revision, undefined];
}

function refusal(code: StorageErrorCode): { readonly name: string; readonly code: string } {
  return { name: "StorageError", code };
}
