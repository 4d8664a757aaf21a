import { randomBytes } from "node:crypto";
import {
  chmod,
  mkdtemp,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
  chown,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as immediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { privateFiles, type PrivateFiles } from "../host/private-files.ts";
import { lockDirectory } from "../storage/directory-lock.ts";
import { isRootFor } from "../../test/kits/machine-abilities.ts";
import { changeAuthorities, openAuthorities, pinsOf, readState, type Authorities } from "./ca-folder.ts";
import type { AuthorityStep } from "./ca-state.ts";

const now = Date.UTC(2026, 10, 21);
const random = (size: number): Uint8Array => randomBytes(size);
let root: string;
let dir: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "pratique-cas-"));
  dir = join(root, "pki");
  await open();
});

afterEach(() => rm(root, { recursive: true, force: true }));

/** As a hub does at its start. */
function open(at = now): Promise<Authorities> {
  return openAuthorities({ dir, certFile: undefined, keyFile: undefined, now: at, random });
}

async function take(...steps: readonly AuthorityStep[]): Promise<void> {
  for (const step of steps) await changeAuthorities(dir, step, { now, random });
}

async function keys(): Promise<readonly string[]> {
  return (await readdir(dir)).filter((name) => name.endsWith(".key")).toSorted();
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await immediate();
}

class Killed extends Error {}

/** Files whose user is gone at the given operation: nothing it would have done later happens. */
function dyingAt(fatal: number): { readonly files: PrivateFiles; readonly count: () => number } {
  let count = 0;
  const step = <In extends readonly unknown[], Out>(run: (...args: In) => Promise<Out>) => {
    return async (...args: In): Promise<Out> => {
      count += 1;
      if (count >= fatal) throw new Killed();
      return run(...args);
    };
  };
  const { privateFolder, replaceFile, removeFile, removeUnfinished } = privateFiles;
  const files: PrivateFiles = {
    ...privateFiles,
    privateFolder: step(privateFolder),
    replaceFile: step(replaceFile),
    removeFile: step(removeFile),
    removeUnfinished: step(removeUnfinished),
  };
  return { files, count: () => count };
}

const ways: readonly (readonly [AuthorityStep, readonly AuthorityStep[]])[] = [
  ["prepare", []],
  ["cancel", ["prepare"]],
  ["activate", ["prepare"]],
  ["revoke", ["prepare", "activate"]],
];

describe("the first CA", () => {
  it("is one for all programs that start at once in one folder", async () => {
    for (let round = 0; round < 20; round += 1) {
      dir = join(root, `shared-${round}`);
      // Each comes a few turns of the event loop after the one before: when that has written the key and no certificate yet, for instance.
      const opened = await Promise.all(Array.from({ length: 5 }, (_, at) => turns(at * round).then(() => open())));
      expect(new Set(opened.flatMap(pinsOf)).size).toBe(1);
      expect(await readdir(dir)).toEqual(["ca.crt", "ca.key"]);
    }
  });
});

describe("a change of the CA that is killed", () => {
  it.each(ways)(
    "at any file operation of `%s` leaves the state before or after, and is gone over again",
    async (step, before) => {
      let [fatal, operations] = [1, -1];
      for (; ; fatal += 1) {
        await rm(dir, { recursive: true });
        await open();
        await take(...before);
        const { text } = await readState(dir);
        const first = await open();
        const { files, count } = dyingAt(fatal);
        const end = await changeAuthorities(dir, step, { now, random, files }).then(
          () => "taken",
          (error: unknown) => {
            if (!(error instanceof Killed)) throw error;
            return "killed";
          },
        );
        // A hub that starts now has a CA, and the one that signed before where nothing was changed.
        const found = await open();
        const state = await readState(dir);
        expect(state.text !== text || pinsOf(found).join() === pinsOf(first).join()).toBe(true);
        if (end === "taken") {
          operations = count();
          break;
        }
        // Whatever the step, the change can be brought to its end, and no key is left that nothing needs.
        const rest = await readState(dir);
        if (rest.state.previous === undefined && rest.state.next === undefined) await take("prepare");
        if ((await readState(dir)).state.previous === undefined) await take("activate");
        await take("revoke");
        const last = await open();
        expect(await keys()).toEqual([`${last.state.signer}.key`]);
        expect(last.trusted).toHaveLength(1);
      }
      expect([operations, operations > 1]).toEqual([fatal - 1, true]);
    },
  );

  it("leaves no half written key for ever", async () => {
    const left = join(dir, ".0123456789ab.tmp");
    await writeFile(left, "key");
    await utimes(left, now / 1000 - 3600, now / 1000 - 3600);
    await take("prepare");
    expect(await readdir(dir)).not.toContain(".0123456789ab.tmp");
  });

  it("loses its revoked key at the next step where it could not be removed at its own", async () => {
    const { files } = dyingAt(4);
    await take("prepare", "activate");
    const failing = { ...files, replaceFile: privateFiles.replaceFile, removeUnfinished: async () => undefined };
    let removed = 0;
    const removeFile = async (): Promise<void> => {
      removed += 1;
      throw new Killed();
    };
    await expect(changeAuthorities(dir, "revoke", { now, random, files: { ...failing, removeFile } })).rejects.toThrow(
      Killed,
    );
    expect([removed, await keys()]).toEqual([1, ["ca-2.key", "ca.key"]]);
    await expect(take("revoke")).rejects.toThrow("no next CA is prepared");
    expect(await keys()).toEqual(["ca-2.key"]);
  });
});

describe("two changes of the CA at once", () => {
  it("are one: the other is told", async () => {
    const outcomes = await Promise.allSettled([take("prepare"), take("prepare"), take("prepare")]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const found = await open();
    expect(found.state).toEqual({ signer: "ca", next: "ca-2" });
    expect(found.trusted).toHaveLength(2);
  });

  it("never leave a CA that signs without its key", async () => {
    for (let round = 0; round < 10; round += 1) {
      await rm(dir, { recursive: true });
      await open();
      await take("prepare");
      await Promise.allSettled([take("activate"), take("cancel")]);
      const found = await open();
      expect(found.trusted.length).toBe(found.state.previous === undefined ? 1 : 2);
    }
  });

  it("wait for nobody: the second says who is at it", async () => {
    const lock = await lockDirectory(dir);
    await expect(take("prepare")).rejects.toThrow(/another change of the CA is under way/);
    await lock.release();
    await take("prepare");
  });
});

describe("the folder of CAs", () => {
  it.runIf(isRootFor("belongs to the hub whoever takes a step: root gives its files away"))(
    "belongs to the hub whoever takes a step: root gives its files away",
    async () => {
      await chown(dir, 65_534, 65_534);
      await take("prepare", "activate");
      for (const name of ["ca-2.key", "ca-2.crt", "ca-2-by-ca.crt", "ca-state.json"]) {
        const { uid, gid, mode } = await stat(join(dir, name));
        expect([name, uid, gid, mode & 0o077]).toEqual([name, 65_534, 65_534, name.endsWith(".crt") ? 0o044 : 0]);
      }
    },
  );

  it("leads nowhere else: links are replaced and not followed, states name nothing outside of it", async () => {
    const outside = join(root, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "precious"), "precious");
    await writeFile(join(outside, "state"), '{"signer":"ca"}');
    await chmod(join(outside, "precious"), 0o600);
    await symlink(join(outside, "precious"), join(dir, "ca-2-by-ca.crt"));
    await symlink(join(outside, "state"), join(dir, "ca-state.json"));
    await take("prepare", "activate");
    expect(await readFile(join(outside, "precious"), "utf8")).toBe("precious");
    expect(await readFile(join(outside, "state"), "utf8")).toBe('{"signer":"ca"}');
    for (const signer of [".//", "ca/../ca", "/etc/passwd", "ca\u0000", "", "CA", "ca-", "__proto__"]) {
      await writeFile(join(dir, "ca-state.json"), JSON.stringify({ signer }));
      await expect(open()).rejects.toThrow("is damaged");
    }
  });

  it("keeps keys of other names", async () => {
    await writeFile(join(dir, "ca-backup.key"), "of the operator");
    await writeFile(join(dir, "sa.key"), "of tokens");
    await take("prepare", "activate", "revoke");
    expect(await keys()).toEqual(["ca-2.key", "ca-backup.key", "sa.key"]);
  });
});

describe("a hub that starts while its clock is wrong", () => {
  const day = 86_400_000;

  it("goes on trusting a CA that is not valid yet by it, beside the one that signs", async () => {
    await changeAuthorities(dir, "prepare", { now: now + 30 * day, random });
    const { trusted } = await open();
    expect(trusted).toHaveLength(2);
    expect((await open(now + 40 * day)).trusted).toEqual(trusted.map((ca) => expect.objectContaining({ pin: ca.pin })));
  });

  it("starts again once the steps that it names were taken", async () => {
    const later = now + 11 * 365 * day;
    for (const step of ["prepare", "activate"] as const) await changeAuthorities(dir, step, { now: later, random });
    expect((await open(later)).signer.notAfter).toBeGreaterThan(later);
  });

  it.each([
    [now - day, "the CA certificate is not valid before 2026-11-20T23:55:00Z"],
    [now + 11 * 365 * day, "the CA certificate has expired on 2036-11-18T00:00:00Z"],
  ])("says what to do where the CA that signs is not valid (%d)", async (at, why) => {
    await expect(open(at)).rejects.toMatchObject({
      code: "ca",
      message: `${join(dir, "ca.crt")}, ${join(dir, "ca.key")}: ${why}; correct the clock of this machine; if the clock is right, make another CA with \`pratique ca prepare\`, then \`pratique ca activate\`, and start the hub again`,
    });
  });
});
