import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { smallDisk } from "../../test/kits/small-disk.ts";
import { openLmdb } from "./lmdb.ts";
import { openLmdbLog } from "./lmdb-log.ts";
import type { LogChange } from "./revision-log.ts";
import type { StorageError, Store } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "full-disk-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const disk = smallDisk(join(root, "disk"), 16, ["a store on a file system that is really full"]);
beforeAll(disk.mount);
afterAll(disk.remove);

/** Writes until the store refuses; the revisions by key. */
async function fill(
  store: Store,
): Promise<{ readonly kept: ReadonlyMap<string, number>; readonly codes: ReadonlySet<string> }> {
  const kept = new Map<string, number>();
  const codes = new Set<string>();
  const put = async (key: string): Promise<void> => {
    try {
      const result = await store.create(key, Buffer.alloc(3000));
      if (result.kind === "created") kept.set(key, result.revision);
    } catch (error) {
      codes.add((error as StorageError).code);
    }
  };
  for (let round = 0; codes.size === 0; round += 1) {
    await Promise.all(Array.from({ length: 40 }, (_, index) => put(`/k/${round}-${index}`)));
  }
  return { kept, codes };
}

describe.skipIf(disk.missing)("a store on a file system that is really full", () => {
  const dir = (name: string): string => join(disk.path, name);

  it("refuses writes with the free bytes, reads, deletes, and writes again once there is room", async () => {
    const ballast = join(disk.path, "ballast");
    const store = await openLmdb({ dir: dir("a") });
    await store.create("/first", Buffer.from("x"));
    writeFileSync(ballast, Buffer.alloc(3 << 20));
    const { kept, codes } = await fill(store);
    expect([...codes]).toEqual(["full"]);
    expect(store.condition().refusal?.message).toMatch(
      /no room for the store in .*\/a: its file system has \d+ bytes free/,
    );
    // Whoever else fills the disk does not take the reserve.
    disk.fillUp();
    const { bavail } = await statfs(disk.path);
    expect(bavail).toBe(0);
    const [last = "", revision = 0] = [...kept].at(-1) ?? [];
    expect((await store.get(last)).value?.revision).toBe(revision);
    const lease = await store.create("/lease", Buffer.alloc(300), { mayUseReserve: true });
    let leaseRevision = "revision" in lease ? lease.revision : 0;
    for (let index = 0; index < 200; index += 1) {
      const renewed = await store.update("/lease", Buffer.alloc(300, index & 0xff), {
        ifRevision: leaseRevision,
        mayUseReserve: true,
      });
      if (renewed.kind === "updated") leaseRevision = renewed.revision;
    }
    await store.recover();
    expect(store.condition().refusal?.code).toBe("full");

    // Most of it is deleted and forgotten: that is room too, though the disk stays full.
    const victims = [...kept].slice(0, kept.size * 0.9);
    const deleted = await Promise.all(victims.map(([key, ifRevision]) => store.delete(key, { ifRevision })));
    expect(new Set(deleted.map(({ kind }) => kind))).toEqual(new Set(["deleted"]));
    await store.compact(await store.currentRevision());
    await store.recover();
    expect(store.condition().refusal).toBeUndefined();
    expect((await store.create("/again", Buffer.alloc(3000))).kind).toBe("created");

    await disk.free();
    await disk.discard(ballast);
    await store.recover();
    for (let index = 0; index < 300; index += 1) await store.create(`/room/${index}`, Buffer.alloc(3000));
    const before = await store.list("");
    await store.close();
    const reopened = await openLmdb({ dir: dir("a") });
    expect(await reopened.list("")).toEqual(before);
    await reopened.close();
  });

  it("is refused with the reason of the system, and does not end the process, where nothing can be written at all", async () => {
    const path = dir("none");
    mkdirSync(path);
    disk.fillUp();
    await expect(openLmdbLog({ dir: path, mapSizeBytes: 1 << 30, isNew: true })).rejects.toThrow("ENOSPC");
    await expect(openLmdb({ dir: path })).rejects.toMatchObject({ name: "StorageError" });
    await disk.free();
  });

  it("establishes what is on disk where the engine itself met the full disk, reads on, and writes again", async () => {
    const path = dir("b");
    mkdirSync(path);
    // Without a stretch that is kept free, as on a file system that allocates anew for what is written over.
    const log = await openLmdbLog({ dir: path, mapSizeBytes: 1 << 30, isNew: true });
    const change = (last: number): LogChange => ({
      append: [{ type: "put", key: `/${last}`, value: Buffer.alloc(3000, last & 0xff), revision: last, created: true }],
      remove: [],
      header: { last, count: last, compacted: 0, trimmed: 0 },
    });
    let last = 0;
    const refused = await (async () => {
      for (;;) {
        try {
          await log.commit(change(last + 1));
          last += 1;
        } catch (error) {
          return error;
        }
      }
    })();
    expect(String(refused)).toMatch(/No space left on device/);
    expect(await log.establish()).toEqual({ last, count: last, compacted: 0, trimmed: 0 });
    expect(log.read(last)?.key).toBe(`/${last}`);
    expect(log.read(last + 1)).toBeUndefined();
    await expect(log.commit(change(last + 1))).rejects.toThrow("No space left on device");
    rmSync(dir("a"), { recursive: true, force: true });
    expect((await log.establish()).last).toBe(last);
    await log.commit(change(last + 1));
    await log.commit(change(last + 2));
    expect([...log.scan()]).toHaveLength(last + 2);
    await log.close();
  });
});
