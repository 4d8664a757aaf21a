import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { open } from "lmdb";
import * as fc from "fast-check";
import { afterAll, describe, expect, it, test } from "vitest";
import { describeStore } from "../../test/kits/store.ts";
import { compareWithModel, histories, runHistory } from "../../test/kits/store-model.ts";
import { openLmdb, defaultQuotaBytes } from "./lmdb.ts";
import { inspectDataFile } from "./lmdb-file.ts";
import { encodeHeader, encodeRecord, writeU64 } from "./record.ts";
import { StorageError, type Store } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "lmdb-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
const freshDir = (): string => join(root, `store-${(made += 1)}`);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describeStore("lmdb", { open: () => openLmdb({ dir: freshDir() }), histories: 30 });

/** A closed store: revisions 1 to 60 over eleven keys, one of them written once, values of 1 KiB and one of 20 KiB, compacted to 20. */
async function filled(): Promise<string> {
  const dir = freshDir();
  const store = await openLmdb({ dir });
  const latest = new Map<string, number>();
  for (let index = 0; index < 60; index += 1) {
    const key = index === 4 ? "/once" : `/k/${index % 10}`;
    const value = Buffer.alloc(index === 33 ? 20_000 : 1000, index);
    const ifRevision = latest.get(key);
    const result =
      ifRevision === undefined ? await store.create(key, value) : await store.update(key, value, { ifRevision });
    if ("revision" in result) latest.set(key, result.revision);
  }
  await store.compact(20);
  await store.close();
  return dir;
}

/** The directory's files and their bytes. */
function contents(dir: string): unknown {
  return Object.fromEntries(
    readdirSync(dir)
      .filter((name) => name !== "lock.mdb")
      .map((name) => [name, readFileSync(join(dir, name)).toString("base64")]),
  );
}

/** Changes the records behind the store's back. */
async function tamper(
  dir: string,
  change: (put: (revision: number, value: Buffer) => void, remove: (revision: number) => void) => void,
): Promise<void> {
  const db = open<Buffer, Buffer>({ path: dir, encoding: "binary", keyEncoding: "binary", overlappingSync: false });
  const key = (revision: number): Buffer => {
    const target = Buffer.alloc(8);
    writeU64(target, revision, 0);
    return target;
  };
  db.transactionSync(() =>
    change(
      (revision, value) => db.putSync(key(revision), value),
      (revision) => db.removeSync(key(revision)),
    ),
  );
  await db.close();
}

describe("an LMDB store on disk", () => {
  it("finds everything again after it was closed, whatever was done to it", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const dir = freshDir();
        const first = await openLmdb({ dir });
        const model = await runHistory(first, history);
        const compacted = await first.compactedRevision();
        await first.close();
        expect(inspectDataFile(join(dir, "data.mdb"))).toBeUndefined();
        const second = await openLmdb({ dir });
        expect(await second.compactedRevision()).toBe(compacted);
        await compareWithModel(second, model);
        expect(await second.create("/new", bytes("x"))).toMatchObject({ revision: await second.currentRevision() });
        await second.close();
      }),
      { numRuns: 25 },
    );
  });

  it("keeps everyone but its owner out, also where the directory was open before", async () => {
    const dir = freshDir();
    mkdirSync(dir);
    chmodSync(dir, 0o777);
    const store = await openLmdb({ dir });
    await store.create("/a", bytes("x"));
    const mode = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(mode(dir)).toBe("700");
    const files = readdirSync(dir).filter((name) => statSync(join(dir, name)).isFile());
    expect(files.toSorted()).toEqual(["data.mdb", "format", "lock.mdb"]);
    expect(files.map((name) => mode(join(dir, name)))).toEqual(["600", "600", "600"]);
    await store.close();
  });

  it("reclaims the space of what was compacted", async () => {
    const dir = freshDir();
    const store = await openLmdb({ dir });
    const created = await store.create("/a", Buffer.alloc(1000));
    let revision = created.kind === "created" ? created.revision : 0;
    let size = 0;
    for (let round = 0; round < 12; round += 1) {
      for (let index = 0; index < 40; index += 1) {
        const result = await store.update("/a", Buffer.alloc(1000, index), { ifRevision: revision });
        if (result.kind === "updated") revision = result.revision;
      }
      await store.compact(revision);
      if (round === 5) size = statSync(join(dir, "data.mdb")).size;
    }
    await store.close();
    expect(statSync(join(dir, "data.mdb")).size).toBeLessThan(size * 1.5);
  });

  it("begins anew where a crash interrupted the very first start", async () => {
    const dir = freshDir();
    mkdirSync(dir);
    writeFileSync(join(dir, "format"), "pratique-store 1 unfinished\n");
    writeFileSync(join(dir, "format.new"), "prat");
    writeFileSync(join(dir, "data.mdb"), "half a page");
    const store = await openLmdb({ dir });
    expect(await store.currentRevision()).toBe(0);
    await store.close();
    expect(readFileSync(join(dir, "format"), "utf8")).toBe("pratique-store 1\n");
  });

  it("takes a directory whose name looks like a file's", async () => {
    const dir = `${freshDir()}.mdb`;
    const store = await openLmdb({ dir });
    await store.close();
    expect(statSync(dir).isDirectory()).toBe(true);
  });
});

describe("a directory that is not a healthy store", () => {
  const cases: Readonly<
    Record<string, { readonly code: string; readonly says: RegExp; readonly harm: (dir: string) => unknown }>
  > = {
    "holds files of something else": {
      code: "format",
      says: /holds "notes\.txt", but no store; choose an empty directory/,
      harm: (dir) => {
        rmSync(dir, { recursive: true });
        mkdirSync(dir);
        writeFileSync(join(dir, "notes.txt"), "mine");
      },
    },
    "lost its format file": { code: "format", says: /but no store/, harm: (dir) => rmSync(join(dir, "format")) },
    "has a format file of noise": {
      code: "format",
      says: /format is damaged; restore/,
      harm: (dir) => writeFileSync(join(dir, "format"), Buffer.from([0, 255, 10])),
    },
    "has an empty format file": {
      code: "format",
      says: /format is damaged/,
      harm: (dir) => writeFileSync(join(dir, "format"), ""),
    },
    "was written by a newer program": {
      code: "format",
      says: /has format 2, and this program reads format 1 only; use the program that wrote it/,
      harm: (dir) => writeFileSync(join(dir, "format"), "pratique-store 2\n"),
    },
    "has a header of a newer program": {
      code: "format",
      says: /have format 7, and this program reads format 1 only/,
      harm: (dir) => tamper(dir, (put) => put(0, headerOfFormat(7))),
    },
    "lost its data file": {
      code: "corrupt",
      says: /without its data\.mdb; restore/,
      harm: (dir) => rmSync(join(dir, "data.mdb")),
    },
    "has an empty data file": {
      code: "corrupt",
      says: /data\.mdb: it does not begin/,
      harm: (dir) => truncateSync(join(dir, "data.mdb"), 0),
    },
    "has a data file of noise": {
      code: "corrupt",
      says: /data\.mdb: it does not begin/,
      harm: (dir) => writeFileSync(join(dir, "data.mdb"), Buffer.alloc(100_000, 0xa5)),
    },
    "has a data file cut short": {
      code: "corrupt",
      says: /data\.mdb: it ends before page \d+; restore/,
      harm: (dir) => truncateSync(join(dir, "data.mdb"), 60_000),
    },
    "lost its header": {
      code: "corrupt",
      says: /header is unreadable/,
      harm: (dir) => tamper(dir, (_, remove) => remove(0)),
    },
    "has a header with a flipped bit": {
      code: "corrupt",
      says: /header is unreadable/,
      harm: (dir) =>
        tamper(dir, (put) => {
          const header = encodeHeader({ last: 60, count: 51, compacted: 20, trimmed: 20 });
          header[20] = 1;
          put(0, header);
        }),
    },
    "lost a revision in the middle": {
      code: "corrupt",
      says: /revision 40 is missing/,
      harm: (dir) => tamper(dir, (_, remove) => remove(40)),
    },
    "lost its last revision": {
      code: "corrupt",
      says: /last revision is 59, but should be 60/,
      harm: (dir) => tamper(dir, (_, remove) => remove(60)),
    },
    "lost a value older than the compaction": {
      code: "corrupt",
      says: /has 50 records, but should have 51/,
      harm: (dir) => tamper(dir, (_, remove) => remove(5)),
    },
    "has a revision that nobody wrote": {
      code: "corrupt",
      says: /last revision is 61, but should be 60/,
      harm: (dir) =>
        tamper(dir, (put) =>
          put(61, encodeRecord({ type: "put", key: "/x", value: bytes("x"), revision: 61, created: true })),
        ),
    },
    "has a record under another revision": {
      code: "corrupt",
      says: /record of revision 40 is unreadable/,
      harm: (dir) =>
        tamper(dir, (put) =>
          put(40, encodeRecord({ type: "put", key: "/k/9", value: bytes("x"), revision: 41, created: false })),
        ),
    },
    "has an update of a key that was not there": {
      code: "corrupt",
      says: /revision 40 contradicts those before it/,
      harm: (dir) =>
        tamper(dir, (put) =>
          put(40, encodeRecord({ type: "put", key: "/new", value: bytes("x"), revision: 40, created: false })),
        ),
    },
    "has a key of another length": {
      code: "corrupt",
      says: /data\.mdb: page \d+ is not what it was/,
      harm: async (dir) => {
        const db = open<Buffer, Buffer>({
          path: dir,
          encoding: "binary",
          keyEncoding: "binary",
          overlappingSync: false,
        });
        await db.put(Buffer.from("foreign key"), Buffer.from("x"));
        await db.close();
      },
    },
  };

  for (const [name, { code, says, harm }] of Object.entries(cases)) {
    it(`is refused and left as it is when it ${name}`, async () => {
      const dir = await filled();
      await harm(dir);
      const before = contents(dir);
      const refusal = { name: "StorageError", code, message: expect.stringMatching(says) };
      await expect(openLmdb({ dir })).rejects.toMatchObject(refusal);
      // Once more: a refusal frees the lock, and changes nothing.
      await expect(openLmdb({ dir })).rejects.toMatchObject({ ...refusal, message: expect.stringContaining(dir) });
      expect(contents(dir)).toEqual(before);
    });
  }

  it("is refused, or reads as it was, when a byte anywhere in its data file changes", async () => {
    const dir = await filled();
    const file = join(dir, "data.mdb");
    const whole = readFileSync(file);
    const healthy = await openLmdb({ dir });
    const { values } = await healthy.list("");
    // What lies behind it is kept free.
    const { usedBytes } = await healthy.usage();
    await healthy.close();
    const refusals: string[] = [];
    const harmed = fc.record({ at: fc.nat(usedBytes - 1), bit: fc.nat(7) });
    await fc.assert(
      fc.asyncProperty(harmed, async ({ at, bit }) => {
        const changed = Buffer.from(whole);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        writeFileSync(file, changed);
        const store = await openLmdb({ dir }).catch((error: unknown) => error);
        if (store instanceof StorageError) {
          refusals.push(store.code);
          return;
        }
        const opened = store as Store;
        expect((await opened.list("")).values).toEqual(values);
        await opened.close();
      }),
      { numRuns: 60 },
    );
    expect(refusals.length).toBeGreaterThan(10);
    expect(new Set(refusals)).toEqual(new Set(["corrupt"]));
  });

  it("is refused, and not awaited for ever, where no directory can be made", async () => {
    const path = join(freshDir(), "x");
    writeFileSync(join(path, ".."), "a file");
    await expect(openLmdb({ dir: path })).rejects.toMatchObject({ code: "unreachable" });
    await expect(openLmdb({ dir: "/proc/nowhere/store" })).rejects.toMatchObject({ code: "unreachable" });
  });

  it("is refused when its path is a file", async () => {
    const path = freshDir();
    writeFileSync(path, "x");
    await expect(openLmdb({ dir: path })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining(path),
    });
  });
});

function headerOfFormat(format: number): Buffer {
  const header = encodeHeader({ last: 0, count: 0, compacted: 0, trimmed: 0 });
  header.writeUInt32BE(format, 4);
  header.writeUInt32BE(crc32(header.subarray(4)), 0);
  return header;
}

const mebibyte = 1024 * 1024;

test.each([
  ["etcd's, where there is memory for it", 32_768, 32_768, 2048],
  ["an eighth of the heap beyond what an idle hub takes", 4224, 65_536, 512],
  ["an eighth of what the cgroup allows beyond it", 4224, 640, 64],
  ["never less than a hub needs for itself", 100, 65_536, 16],
])("the default quota is %s", (_, heap, whole, quota) => {
  const limits = { heapBytes: heap * mebibyte, processBytes: whole * mebibyte };
  expect(defaultQuotaBytes(limits)).toBe(quota * mebibyte);
});
