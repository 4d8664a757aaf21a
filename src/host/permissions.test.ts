import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openPermissions } from "./permissions.ts";

let dir = "";

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "open-permissions-"));
});

afterEach(() => rm(dir, { recursive: true }));

async function fileOf(path: string, mode: number): Promise<string> {
  await writeFile(path, "secret");
  await chmod(path, mode);
  return path;
}

describe("the permissions of a secret", () => {
  it("are open where more than the owner may use it, and a sentence names path, mode and command", async () => {
    const path = await fileOf(join(dir, "a token"), 0o644);
    expect(await openPermissions(path)).toBe(
      `${path} holds a secret and has mode 0644, so others than its owner may use it; correct it with: chmod 600 '${path}'`,
    );
    expect(await openPermissions(await fileOf(join(dir, "group"), 0o640))).toContain("0640");
    expect(await openPermissions(await fileOf(join(dir, "private"), 0o400))).toBeUndefined();
    expect(await openPermissions(join(dir, "none"))).toBeUndefined();
  });

  it("are not open by bits that are allowed", async () => {
    expect(await openPermissions(await fileOf(join(dir, "shared"), 0o640), 0o040)).toBeUndefined();
    expect(await openPermissions(await fileOf(join(dir, "world"), 0o644), 0o040)).toContain("0644");
    expect(await openPermissions(await fileOf(join(dir, "writable"), 0o660), 0o040)).toContain("0660");
  });

  it("are those of the pod where the kubelet has put it into a volume", async () => {
    const volume = join(dir, "..2026_11_22_10_00_00.123456");
    await mkdir(volume);
    await fileOf(join(volume, "token"), 0o644);
    await symlink("..2026_11_22_10_00_00.123456", join(dir, "..data"));
    await symlink("..data/token", join(dir, "token"));
    expect(await openPermissions(join(dir, "token"))).toBeUndefined();
  });
});
