import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openLmdb } from "../../src/storage/lmdb.ts";
import { bundleProgram, type Program } from "./bundle-program.ts";

interface Holder {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly outcome: string;
  readonly message?: string;
}

const root = mkdtempSync(join(tmpdir(), "lock-test-"));
const running = new Set<ChildProcess>();
let program: Program;
let made = 0;

const freshDir = (): string => join(root, `store-${(made += 1)}`);
const locks = (dir: string): readonly string[] => readdirSync(dir).filter((name) => /^(claim|lock)-/.test(name));

beforeAll(async () => {
  program = await bundleProgram("holder.ts");
});
afterEach(async () => {
  await Promise.all([...running].map(kill));
});
afterAll(() => {
  program.remove();
  rmSync(root, { recursive: true, force: true });
});

async function start(dir: string): Promise<Holder> {
  const child = spawn(process.execPath, [program.path, dir], { stdio: ["ignore", "pipe", "inherit"] });
  running.add(child);
  for await (const line of createInterface({ input: child.stdout })) {
    return { pid: child.pid ?? 0, child, ...(JSON.parse(line) as { outcome: string; message?: string }) };
  }
  return { pid: child.pid ?? 0, child, outcome: "silent" };
}

async function kill(child: ChildProcess): Promise<void> {
  running.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

describe("a store directory that another process holds", () => {
  it("is refused with the directory and the process, and taken over once that process was killed", async () => {
    const dir = freshDir();
    const holder = await start(dir);
    expect(holder.outcome).toBe("open");
    const refusal = { code: "locked", message: expect.stringMatching(new RegExp(`${dir}.*process ${holder.pid};`)) };
    await expect(openLmdb({ dir })).rejects.toMatchObject(refusal);
    // A second refusal shows that the first one left the holder's lock alone.
    await expect(openLmdb({ dir })).rejects.toMatchObject(refusal);
    await kill(holder.child);
    const store = await openLmdb({ dir });
    expect(locks(dir)).toHaveLength(1);
    await store.close();
    expect(locks(dir)).toEqual([]);
  });

  it("stays refused while that process is stopped", async () => {
    const dir = freshDir();
    const holder = await start(dir);
    holder.child.kill("SIGSTOP");
    await expect(openLmdb({ dir })).rejects.toMatchObject({ code: "locked" });
  });

  it("goes to exactly one of several processes that start at once", { timeout: 120_000 }, async () => {
    for (let round = 0; round < 3; round += 1) {
      const dir = freshDir();
      mkdirSync(dir);
      const holders = await Promise.all([start(dir), start(dir), start(dir), start(dir)]);
      expect(holders.map(({ outcome }) => outcome).toSorted()).toEqual(["locked", "locked", "locked", "open"]);
      await Promise.all(holders.map(async ({ child }) => kill(child)));
    }
  });

  it("is refused by the same process as well", async () => {
    const dir = freshDir();
    const store = await openLmdb({ dir });
    await expect(openLmdb({ dir })).rejects.toMatchObject({
      code: "locked",
      message: expect.stringContaining(`this process (${process.pid})`),
    });
    await store.close();
    await (await openLmdb({ dir })).close();
  });

  it("is held and freed under a path too long for a socket's address", async () => {
    const dir = join(freshDir(), "d".repeat(100), "e".repeat(100));
    const store = await openLmdb({ dir });
    await expect(openLmdb({ dir })).rejects.toMatchObject({ code: "locked" });
    await store.close();
    expect(locks(dir)).toEqual([]);
  });
});
