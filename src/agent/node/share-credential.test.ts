import { chmod, mkdir, mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { shareCredential } from "./share-credential.ts";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-share-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const mode = async (...names: readonly string[]): Promise<string> =>
  ((await stat(join(dir, ...names))).mode & 0o777).toString(8);

async function folderOf(...names: readonly string[]): Promise<string> {
  const folder = join(dir, "kept", "a");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of names) await writeFile(join(folder, name), name, { mode: 0o600 });
  return folder;
}

test("a group may read a token and what belongs to it, and nothing that is the agent's", async () => {
  const folder = await folderOf("token", "kubeconfig", "ca.crt", "key.pem", "request.json");
  await chmod(join(dir, "kept"), 0o700);
  await shareCredential({ kind: "token", dir: folder }, { dirs: [join(dir, "kept")], access: { mode: 0o640 } });
  for (const name of ["token", "kubeconfig", "ca.crt"]) expect(await mode("kept", "a", name)).toBe("640");
  for (const name of ["key.pem", "request.json"]) expect(await mode("kept", "a", name)).toBe("600");
  expect([await mode("kept"), await mode("kept", "a"), await mode()]).toEqual(["750", "750", "700"]);
});

test("a link to a certificate is followed within its folder only", async () => {
  const folder = await folderOf("kubelet-client-2026-11-21-00-00-00.pem", "pratique-join.json");
  await writeFile(join(dir, "secret"), "other", { mode: 0o600 });
  const found = { kind: "node", certDir: folder, kubeconfig: join(folder, "kubelet.conf") } as const;
  const current = join(folder, "kubelet-client-current.pem");
  const options = { dirs: [join(dir, "kept")], access: { mode: 0o440 } };
  await symlink(join(folder, "kubelet-client-2026-11-21-00-00-00.pem"), current);
  await shareCredential(found, options);
  expect(await mode("kept", "a", "kubelet-client-2026-11-21-00-00-00.pem")).toBe("440");
  await rm(current);
  await symlink(join(dir, "secret"), current);
  await expect(shareCredential(found, options)).rejects.toMatchObject({ code: "write-failed", causeCode: "ELOOP" });
  expect(await mode("secret")).toBe("600");
});

test("another link is not followed at all", async () => {
  const folder = await folderOf("kubeconfig");
  await writeFile(join(dir, "secret"), "other", { mode: 0o600 });
  await symlink(join(dir, "secret"), join(folder, "token"));
  await expect(
    shareCredential({ kind: "token", dir: folder }, { dirs: [folder], access: { mode: 0o640 } }),
  ).rejects.toMatchObject({ code: "write-failed" });
  expect(await mode("secret")).toBe("600");
});
