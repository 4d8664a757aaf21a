import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateFiles, type PrivateFiles } from "../../host/private-files.ts";
import { folderStore } from "./folder-store.ts";
import { credentialKeys, isComplete, type CredentialFiles } from "./klusterlet-store.ts";

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-store-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const files = (text: string): CredentialFiles => ({
  kubeconfig: `${text} 1`,
  "tls.crt": `${text} 2`,
  "tls.key": `${text} 3`,
  "cluster-name": `${text} 4`,
  "agent-name": `${text} 5`,
});

/** The file system, whose change with this number fails. */
function failing(at: number): { readonly files: PrivateFiles; readonly count: () => number } {
  let count = 0;
  const step = <A extends readonly unknown[], R>(run: (...args: A) => Promise<R>) => {
    return (...args: A): Promise<R> => {
      count += 1;
      return count === at ? Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" })) : run(...args);
    };
  };
  return {
    count: () => count,
    files: {
      ...privateFiles,
      privateFolder: step(privateFiles.privateFolder),
      replaceFile: step(privateFiles.replaceFile),
      replaceLink: step(privateFiles.replaceLink),
      removeFile: step(privateFiles.removeFile),
    },
  };
}

describe("a registration in a folder", () => {
  it("holds what was written, for its owner only", async () => {
    const store = folderStore(join(dir, "plain"), privateFiles);
    expect([await store.readState(), await store.readCredential()]).toEqual([undefined, {}]);
    await store.writeState("a state");
    for (const text of ["one", "two", "three"]) {
      await store.writeCredential(files(text));
      expect(await store.readCredential()).toEqual(files(text));
    }
    for (const key of [...credentialKeys, "klusterlet.json"]) {
      expect((await stat(join(dir, "plain", key))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(dir, "plain", "klusterlet.json"), "utf8")).toBe("a state");
  });

  it("holds one whole credential or the other, wherever its writer was killed", async () => {
    let kills = 0;
    for (let at = 1; ; at += 1) {
      const place = join(dir, `killed-${at}`);
      await folderStore(place, privateFiles).writeCredential(files("old"));
      const broken = failing(at);
      const outcome = await folderStore(place, broken.files)
        .writeCredential(files("new"))
        .catch((error: unknown) => error);
      const left = await folderStore(place, privateFiles).readCredential();
      expect(isComplete(left) && left.kubeconfig.startsWith("old") ? left : files("new")).toEqual(left);
      await folderStore(place, privateFiles).writeCredential(files("newer"));
      expect(await folderStore(place, privateFiles).readCredential()).toEqual(files("newer"));
      if (broken.count() < at) break;
      expect(outcome).toMatchObject({ code: "write-failed", causeCode: "ENOSPC" });
      kills += 1;
    }
    expect(kills).toBeGreaterThan(3);
  });

  it("shows a kubeconfig only beside all that it names, wherever the first layout was cut off", async () => {
    for (let at = 1; ; at += 1) {
      const place = join(dir, `first-${at}`);
      const broken = failing(at);
      await folderStore(place, broken.files)
        .writeCredential(files("first"))
        .catch(() => undefined);
      const left = await folderStore(place, privateFiles).readCredential();
      expect([at, left.kubeconfig === undefined || isComplete(left)]).toEqual([at, true]);
      if (broken.count() < at) break;
    }
  });

  it("leaves nothing behind when it is removed, which may be done twice", async () => {
    const store = folderStore(join(dir, "gone"), privateFiles);
    await store.writeState("a state");
    await store.writeCredential(files("x"));
    for (const time of [1, 2]) {
      await store.remove();
      expect([time, await store.readState(), await store.readCredential()]).toEqual([time, undefined, {}]);
    }
  });
});
