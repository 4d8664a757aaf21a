import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openLmdb } from "./lmdb.ts";
import type { StorageError, Store } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "quota-test-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const mebibyte = 1024 * 1024;
const value = Buffer.alloc(100_000, 1);

/** Creates until the store refuses; the revisions by key, and the refusal. */
async function fill(store: Store): Promise<{ readonly kept: ReadonlyMap<string, number>; readonly code: string }> {
  const kept = new Map<string, number>();
  for (;;) {
    try {
      const result = await store.create(`/k/${kept.size}`, value);
      if (result.kind === "created") kept.set(`/k/${kept.size}`, result.revision);
    } catch (error) {
      return { kept, code: (error as StorageError).code };
    }
  }
}

describe("a store with a quota", () => {
  it("takes no more than that, goes on with what may use the reserve, and takes writes again once some were deleted", async () => {
    const store = await openLmdb({ dir: join(root, "a"), quotaBytes: 8 * mebibyte });
    const { kept, code } = await fill(store);
    expect(code).toBe("quota");
    expect(kept.size).toBeGreaterThan(40);
    const usage = await store.usage();
    expect(usage.quotaBytes).toBe(8 * mebibyte);
    expect(usage.usedBytes).toBeLessThan(8 * mebibyte);
    expect(store.condition().refusal?.message).toMatch(
      /reached its quota: \d+ bytes are used of 8388608; delete objects/,
    );
    const lease = await store.create("/lease", Buffer.alloc(300), { mayUseReserve: true });
    expect(lease.kind).toBe("created");

    for (const [key, ifRevision] of [...kept].slice(0, 6)) await store.delete(key, { ifRevision });
    await store.recover();
    expect(store.condition().refusal?.code).toBe("quota");
    await store.compact(await store.currentRevision());
    await store.recover();
    expect(store.condition().refusal).toBeUndefined();
    expect((await store.create("/again", value)).kind).toBe("created");
    await store.close();
  });

  it("opens beyond it, reads and deletes", async () => {
    const dir = join(root, "b");
    const large = await openLmdb({ dir, quotaBytes: 12 * mebibyte });
    const { kept } = await fill(large);
    await large.close();
    const small = await openLmdb({ dir, quotaBytes: 4 * mebibyte });
    expect((await small.list("/k/")).values).toHaveLength(kept.size);
    await expect(small.create("/new", value)).rejects.toMatchObject({ code: "quota" });
    const deleted = await Promise.all([...kept].map(([key, ifRevision]) => small.delete(key, { ifRevision })));
    expect(new Set(deleted.map(({ kind }) => kind))).toEqual(new Set(["deleted"]));
    await small.compact(await small.currentRevision());
    await small.recover();
    expect((await small.create("/new", value)).kind).toBe("created");
    await small.close();
  });
});
