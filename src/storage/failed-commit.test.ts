import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { faultyLog, type CommitFault, type FaultyLog } from "../../test/kits/faulty-log.ts";
import { createMemoryLog } from "./memory.ts";
import { openMvcc } from "./mvcc.ts";
import type { RevisionLog } from "./revision-log.ts";
import { StorageError, type Store, type StoreEvent } from "./store.ts";
import { openWatchCache } from "./watch-cache.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Stage {
  readonly store: Store;
  readonly faults: FaultyLog;
  readonly inner: RevisionLog;
  readonly create: (key: string) => Promise<number>;
  /** What a new process would find. */
  readonly reopened: () => Promise<readonly string[]>;
}

function stage(errno?: string): Stage {
  const inner = createMemoryLog();
  const faults = faultyLog(inner, errno);
  const store = openMvcc(faults.log);
  return {
    store,
    faults,
    inner,
    create: async (key) => {
      const result = await store.create(key, bytes(key));
      return result.kind === "created" ? result.revision : 0;
    },
    reopened: async () => (await openMvcc(inner).list("")).values.map(({ key, revision }) => `${key} ${revision}`),
  };
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "done";
  } catch (error) {
    return error instanceof StorageError ? error.code : String(error);
  }
}

describe("a commit that failed, of which nothing is on disk", () => {
  it("is told to its writers and to all behind them, and gives their revisions to later writes", async () => {
    const { store, faults, create, reopened } = stage("ENOSPC");
    await create("/a");
    faults.commits.push("absent");
    const doomed = [create("/b"), create("/c")];
    const behind = store.create("/b", bytes("again"));
    expect(await Promise.all([...doomed, behind].map(codeOf))).toEqual(["unwritten", "unwritten", "unwritten"]);
    expect(await store.currentRevision()).toBe(1);
    expect((await store.get("/b")).value).toBeUndefined();

    await store.recover();
    expect(await create("/b")).toBe(2);
    expect(await reopened()).toEqual(["/a 1", "/b 2"]);
  });

  it("refuses writes, with the cause, until it is asked to recover, and reads go on", async () => {
    const { store, faults, create } = stage();
    await create("/a");
    faults.commits.push("absent");
    await codeOf(create("/b"));
    expect(store.condition().refusal?.message).toMatch(
      /could not be written after revision 1 \(EIO: the disk refuses\)/,
    );
    expect(await codeOf(create("/c"))).toBe("unwritten");
    expect((await store.get("/a")).value?.revision).toBe(1);
    await store.recover();
    expect(store.condition().refusal).toBeUndefined();
    expect(await create("/c")).toBe(2);
  });

  it("keeps watches open, which see what is written afterwards and nothing of what was refused", async () => {
    const { store, faults, create } = stage();
    const { signal } = new AbortController();
    const watch = store.watch("/", { fromRevision: 0, signal })[Symbol.asyncIterator]();
    const seen: StoreEvent[] = [];
    const next = async (): Promise<void> => {
      const { value } = await watch.next();
      seen.push(...(value?.events ?? []));
    };
    const first = next();
    await create("/a");
    await first;
    const second = next();
    faults.commits.push("absent");
    await codeOf(create("/lost"));
    await store.recover();
    await create("/b");
    await second;
    expect(seen.map(({ key, revision }) => `${key} ${revision}`)).toEqual(["/a 1", "/b 2"]);
  });
});

describe("a commit that failed, all of which is on disk", () => {
  it("is a success for its writers, and is seen by watches and by the cache", async () => {
    const { store, faults, create, reopened } = stage();
    const cache = await openWatchCache({ store, prefix: "/registry/" });
    faults.commits.push("present");
    const encoded = bytes('{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}');
    const result = await store.create("/registry/core/configmaps/a/a", encoded);
    expect(result).toEqual({ kind: "created", revision: 1 });
    await cache.waitFor(1);
    expect(cache.get("/registry/core/configmaps/a/a")?.revision).toBe(1);
    expect(await codeOf(create("/b"))).toBe("unwritten");
    await store.recover();
    expect(await create("/b")).toBe(2);
    expect(await reopened()).toEqual(["/b 2", "/registry/core/configmaps/a/a 1"]);
    await cache.close();
  });

  it("lets those behind it go on with the revisions that they have", async () => {
    const { faults, create, reopened } = stage();
    faults.commits.push("present");
    const first = create("/a");
    await Promise.resolve();
    const second = create("/b");
    expect(await Promise.all([first, second])).toEqual([1, 2]);
    expect(await reopened()).toEqual(["/a 1", "/b 2"]);
  });
});

describe("a commit whose outcome cannot be established", () => {
  for (const [outcome, code, found] of [
    ["absent", "missing", ["/a 1", "/c 2"]],
    ["present", "there", ["/a 1", "/b 2", "/c 3"]],
  ] as const) {
    it(`is told as unknown, blocks writing, and is ${code} once the disk answers`, async () => {
      const { store, faults, create, reopened } = stage();
      await create("/a");
      faults.commits.push(outcome);
      faults.establishFailures = 3;
      expect(await codeOf(create("/b"))).toBe("unknown");
      expect(await codeOf(create("/c"))).toBe("unwritten");
      expect((await store.get("/b")).value).toBeUndefined();
      await store.recover();
      expect(store.condition().refusal?.code).toBe("unknown");
      expect(await codeOf(store.update("/b", bytes("x"), { ifRevision: 2 }))).toBe("done");
      await store.recover();
      await store.recover();
      expect(store.condition().refusal).toBeUndefined();
      await create("/c");
      expect(await reopened()).toEqual(found);
      expect((await store.list("")).values.map(({ key, revision }) => `${key} ${revision}`)).toEqual(found);
    });
  }

  it("does not keep the store from closing", async () => {
    const { store, faults, create } = stage();
    faults.commits.push("absent");
    faults.establishFailures = Number.POSITIVE_INFINITY;
    await codeOf(create("/a"));
    await store.close();
    expect(await codeOf(store.get("/a"))).toBe("closed");
  });

  it("ends writing and watches for good where the log holds what nobody wrote", async () => {
    const { store, faults, create } = stage();
    const { signal } = new AbortController();
    const watch = store.watch("/", { fromRevision: 0, signal })[Symbol.asyncIterator]();
    const waiting = watch.next();
    faults.commits.push("foreign");
    const [ended, code] = await Promise.all([codeOf(waiting), codeOf(create("/a"))]);
    expect([ended, code]).toEqual(["corrupt", "corrupt"]);
    await store.recover();
    expect(await codeOf(create("/b"))).toBe("corrupt");
  });
});

describe("a store without room", () => {
  it("refuses ordinary writes, takes those that may use the reserve, and takes all once there is room", async () => {
    const { store, faults, create, reopened } = stage();
    for (const key of ["/a", "/b"]) await create(key);
    faults.room = 3;
    expect(await codeOf(create("/c"))).toBe("full");
    expect(store.condition().refusal?.code).toBe("full");
    expect(await codeOf(store.update("/a", bytes("x"), { ifRevision: 1 }))).toBe("full");
    expect(await codeOf(store.update("/a", bytes("x"), { ifRevision: 1, mayUseReserve: true }))).toBe("done");
    expect(await store.delete("/b", { ifRevision: 2 })).toEqual({ kind: "deleted", revision: 4 });
    await store.recover();
    expect(await codeOf(create("/c"))).toBe("full");
    faults.room = 100;
    await store.recover();
    expect(await create("/c")).toBe(5);
    expect(await reopened()).toEqual(["/a 3", "/c 5"]);
  });

  it("takes a deletion that was queued with writes that have no room", async () => {
    const { store, faults, create } = stage();
    await create("/a");
    faults.room = 3;
    const [refused, deleted] = await Promise.all([codeOf(create("/b")), store.delete("/a", { ifRevision: 1 })]);
    expect(refused).toBe("full");
    expect(deleted).toEqual({ kind: "deleted", revision: 2 });
  });

  it("compacts, and finishes a compaction that was refused in the middle", async () => {
    const { store, faults, create, inner } = stage();
    let revision = await create("/a");
    for (let index = 0; index < 1000; index += 1) {
      const result = await store.update("/a", bytes(String(index)), { ifRevision: revision });
      if (result.kind === "updated") ({ revision } = result);
    }
    faults.room = 0;
    faults.commits.push("none", "none", "absent");
    expect(await codeOf(store.compact(revision))).toBe("unwritten");
    await store.recover();
    faults.commits.push("present");
    expect(await codeOf(store.compact(revision))).toBe("unwritten");
    await store.recover();
    await store.compact(revision);
    expect([...inner.scan()].map((event) => event.revision)).toEqual([revision]);
    expect((await openMvcc(inner).get("/a")).value?.revision).toBe(revision);
  });
});

type Action = { readonly keys: readonly number[]; readonly fault: CommitFault; readonly blind: number };

describe("whatever commits fail, and however", () => {
  const actions: fc.Arbitrary<readonly Action[]> = fc.array(
    fc.record({
      keys: fc.array(fc.nat(5), { minLength: 1, maxLength: 6 }),
      fault: fc.constantFrom<CommitFault>("none", "absent", "present"),
      blind: fc.nat(2),
    }),
    { maxLength: 12 },
  );

  it("loses no acknowledged write, shows no refused one, and gives no revision twice", async () => {
    await fc.assert(
      fc.asyncProperty(actions, async (list) => {
        const { store, faults, inner } = stage();
        const acknowledged = new Map<number, string>();
        const refused = new Set<string>();
        const twice: number[] = [];
        const watched: StoreEvent[] = [];
        const stop = new AbortController();
        const watching = (async () => {
          for await (const batch of store.watch("", { fromRevision: 0, signal: stop.signal }))
            watched.push(...batch.events);
        })();
        let value = 0;
        const put = async (key: string): Promise<void> => {
          const text = `value ${(value += 1)}`;
          try {
            const { value: there } = await store.get(key);
            const result =
              there === undefined
                ? await store.create(key, bytes(text))
                : await store.update(key, bytes(text), { ifRevision: there.revision });
            if ("revision" in result) {
              if (acknowledged.has(result.revision)) twice.push(result.revision);
              acknowledged.set(result.revision, text);
            }
          } catch (error) {
            if ((error as StorageError).code !== "unknown") refused.add(text);
          }
        };
        for (const { keys, fault, blind } of list) {
          faults.commits.push(fault);
          faults.establishFailures = blind;
          await Promise.all(keys.map((key) => put(`/${key}`)));
          await store.recover();
        }
        while (store.condition().refusal !== undefined) await store.recover();
        await settle();
        stop.abort();
        await watching;
        const log = new Map([...inner.scan()].map((event) => [event.revision, event]));
        const texts = new Map(
          [...log].map(([at, event]) => [at, event.type === "put" ? Buffer.from(event.value).toString() : ""]),
        );
        expect(twice).toEqual([]);
        for (const [revision, text] of acknowledged) expect(texts.get(revision)).toBe(text);
        expect([...texts.values()].filter((text) => refused.has(text))).toEqual([]);
        expect(watched).toEqual([...log.values()]);
        expect(watched.map(({ revision }) => revision)).toEqual(watched.map((_, index) => index + 1));
        expect(await openMvcc(inner).list("")).toEqual(await store.list(""));
      }),
      { numRuns: 150 },
    );
  });
});
