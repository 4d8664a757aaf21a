import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareWithModel, histories, runHistory } from "../../test/kits/store-model.ts";
import { createMemoryLog } from "./memory.ts";
import { openMvcc } from "./mvcc.ts";
import type { LogChange, RevisionLog } from "./revision-log.ts";
import type { Store } from "./store.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A log whose commits wait until they are let through, one by one. */
function gated(log: RevisionLog): {
  readonly log: RevisionLog;
  readonly sizes: number[];
  readonly pass: () => Promise<void>;
} {
  const gates: (() => void)[] = [];
  const sizes: number[] = [];
  const commit = async (change: LogChange): Promise<void> => {
    sizes.push(change.append.length);
    await new Promise<void>((resolve) => gates.push(resolve));
    await log.commit(change);
  };
  return {
    log: over(log, commit),
    sizes,
    async pass() {
      await settle();
      gates.shift()?.();
      await settle();
    },
  };
}

/** A log that commits so often, and then fails. */
function failing(log: RevisionLog, commits: number): RevisionLog {
  let left = commits;
  return over(log, async (change) => {
    left -= 1;
    if (left < 0) throw new TypeError("no space left on device");
    await log.commit(change);
  });
}

function over(log: RevisionLog, commit: RevisionLog["commit"]): RevisionLog {
  return {
    header: log.header,
    place: log.place,
    commit,
    establish: () => log.establish(),
    hasRoom: (change, reserve) => log.hasRoom(change, reserve),
    makeRoom: (change, reserve) => log.makeRoom(change, reserve),
    usage: () => log.usage(),
    read: (revision) => log.read(revision),
    scan: () => log.scan(),
    close: () => log.close(),
  };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function state(promise: Promise<unknown>): Promise<string> {
  return Promise.race([
    promise.then(
      () => "settled",
      () => "failed",
    ),
    settle().then(() => "waiting"),
  ]);
}

async function create(store: Store, key: string): Promise<number> {
  const result = await store.create(key, bytes(key));
  return result.kind === "created" ? result.revision : 0;
}

describe("group commit", () => {
  it("puts all that is proposed while a commit is under way into the next one", async () => {
    const { log, sizes, pass } = gated(createMemoryLog());
    const store = openMvcc(log);
    const first = create(store, "/a");
    await settle();
    const rest = Promise.all(Array.from({ length: 50 }, (_, index) => create(store, `/b/${index}`)));
    await pass();
    expect(await first).toBe(1);
    expect(await state(rest)).toBe("waiting");
    await pass();
    expect(await rest).toEqual(Array.from({ length: 50 }, (_, index) => index + 2));
    expect(sizes).toEqual([1, 50]);
  });

  it("shows nothing of a write before it is durable", async () => {
    const { log, pass } = gated(createMemoryLog());
    const store = openMvcc(log);
    const writing = create(store, "/a");
    await settle();
    expect(await store.get("/a")).toEqual({ value: undefined, revision: 0 });
    expect((await store.list("")).values).toEqual([]);
    expect(await store.currentRevision()).toBe(0);
    await pass();
    expect(await writing).toBe(1);
    expect((await store.get("/a")).value?.revision).toBe(1);
  });

  it("tells who loses to a pending write only when that write is durable", async () => {
    const { log, pass } = gated(createMemoryLog());
    const store = openMvcc(log);
    const winner = store.create("/a", bytes("winner"));
    const exists = store.create("/a", bytes("loser"));
    const conflict = store.update("/a", bytes("loser"), { ifRevision: 7 });
    const refused = store.delete("/a", { ifRevision: 7 });
    expect(await Promise.all([exists, conflict, refused].map(state))).toEqual(["waiting", "waiting", "waiting"]);
    await pass();
    expect(await winner).toEqual({ kind: "created", revision: 1 });
    expect(await exists).toMatchObject({ kind: "exists", current: { revision: 1 } });
    expect(await conflict).toMatchObject({ kind: "conflict", current: { revision: 1 } });
    expect(await refused).toMatchObject({ kind: "conflict", current: { revision: 1 } });
  });

  it("keeps a write in mind that follows a pending one of the same key into the next commit", async () => {
    const { log, pass } = gated(createMemoryLog());
    const store = openMvcc(log);
    const first = create(store, "/a");
    await pass();
    const deleted = store.delete("/a", { ifRevision: await first });
    await settle();
    const again = store.create("/a", bytes("again"));
    await pass();
    expect((await deleted).kind).toBe("deleted");
    const loser = store.create("/a", bytes("loser"));
    await pass();
    expect(await again).toEqual({ kind: "created", revision: 3 });
    expect(await loser).toMatchObject({ kind: "exists", current: { revision: 3 } });
  });

  it("splits a flood of large values into several commits", async () => {
    const { log, sizes, pass } = gated(createMemoryLog());
    const store = openMvcc(log);
    const value = new Uint8Array(1024 * 1024);
    const writes = Promise.all(Array.from({ length: 40 }, (_, index) => store.create(`/${index}`, value)));
    await pass();
    await pass();
    await writes;
    expect(sizes.length).toBe(2);
    expect(sizes[0]).toBeLessThan(40);
  });
});

describe("a compaction that is interrupted", () => {
  it("is refused to readers at once, loses nothing, and is finished by the next one", async () => {
    const log = createMemoryLog();
    const first = openMvcc(log);
    let revision = await create(first, "/a");
    for (let index = 0; index < 2500; index += 1) {
      const result = await first.update("/a", bytes(String(index)), { ifRevision: revision });
      if (result.kind === "updated") ({ revision } = result);
    }
    await create(first, "/b");
    const records = (): number => [...log.scan()].length;
    const whole = records();
    // The compacted revision and the first of many slices are durable, then the process is gone.
    await expect(openMvcc(failing(log, 2)).compact(revision)).rejects.toMatchObject({ code: "unwritten" });
    const left = records();
    expect(left).toBeLessThan(whole);
    expect(log.header.trimmed).toBeLessThan(log.header.compacted);

    const second = openMvcc(log);
    expect(await second.compactedRevision()).toBe(revision);
    await expect(second.get("/a", { revision: revision - 1 })).rejects.toMatchObject({ code: "compacted" });
    expect((await second.get("/a")).value?.revision).toBe(revision);
    await second.compact(revision);
    expect(records()).toBe(2);
    expect((await openMvcc(log).list("")).values.map(({ key }) => key)).toEqual(["/a", "/b"]);
  });
});

describe("a long list", () => {
  async function overtaken(
    revision?: number,
  ): Promise<{ readonly outcome: PromiseSettledResult<unknown>; readonly store: Store }> {
    const store = openMvcc(createMemoryLog());
    await Promise.all(
      Array.from({ length: 2500 }, (_, index) => create(store, `/l/${String(index).padStart(4, "0")}`)),
    );
    const listing = Promise.allSettled([store.list("/l/", revision === undefined ? {} : { revision })]);
    const victim = (await store.get("/l/2400")).value?.revision ?? 0;
    await store.delete("/l/2400", { ifRevision: victim });
    await store.compact(2501);
    const [outcome] = await listing;
    return { outcome, store };
  }

  it("begins again when a compaction overtakes it", async () => {
    const { outcome, store } = await overtaken();
    const value = await store.list("/l/");
    expect(value).toMatchObject({ revision: 2501, more: false });
    expect(outcome).toEqual({ status: "fulfilled", value });
  });

  it("fails as compacted when a compaction overtakes the revision it was asked for", async () => {
    const { outcome } = await overtaken(2500);
    expect(outcome).toMatchObject({ status: "rejected", reason: { name: "StorageError", code: "compacted" } });
  });
});

describe("an index rebuilt from its log", () => {
  it("answers as the one that was there before", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const log = createMemoryLog();
        const model = await runHistory(openMvcc(log), history);
        const reopened = openMvcc(log);
        expect(await reopened.currentRevision()).toBe(model.events.length);
        await compareWithModel(reopened, model);
      }),
      { numRuns: 100 },
    );
  });
});

describe("a watch", () => {
  it("refuses a second demand before the first is met", async () => {
    const store = openMvcc(createMemoryLog());
    const stop = new AbortController();
    const watch = store.watch("/", { fromRevision: 0, signal: stop.signal })[Symbol.asyncIterator]();
    const first = watch.next();
    await expect(watch.next()).rejects.toBeInstanceOf(TypeError);
    stop.abort();
    expect(await first).toEqual({ done: true, value: undefined });
  });

  it("lets others have their turn while it replays a long history", async () => {
    const store = openMvcc(createMemoryLog());
    await Promise.all(Array.from({ length: 3000 }, (_, index) => create(store, `/w/${index}`)));
    let turns = 0;
    let going = true;
    const tick = (): void => {
      turns += 1;
      if (going) setImmediate(tick);
    };
    setImmediate(tick);
    const stop = new AbortController();
    let batches = 0;
    for await (const batch of store.watch("/", { fromRevision: 0, signal: stop.signal })) {
      batches += 1;
      if (batch.revision === 3000) stop.abort();
    }
    going = false;
    expect(batches).toBeGreaterThan(4);
    expect(turns).toBeGreaterThanOrEqual(batches - 1);
  });
});
