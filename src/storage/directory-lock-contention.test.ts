import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockDirectory } from "./directory-lock.ts";

test("of two that come at once, never both have the lock", async () => {
  const dir = await mkdtemp(join(tmpdir(), "lock-"));
  let [holders, most] = [0, 0];
  const take = async (): Promise<void> => {
    const lock = await lockDirectory(dir);
    holders += 1;
    most = Math.max(most, holders);
    await new Promise((resolve) => setImmediate(resolve));
    holders -= 1;
    await lock.release();
  };
  for (let round = 0; round < 300; round += 1) await Promise.allSettled([take(), take(), take()]);
  await rm(dir, { recursive: true });
  expect(most).toBe(1);
});
