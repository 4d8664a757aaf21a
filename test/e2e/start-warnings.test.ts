import { X509Certificate } from "node:crypto";
import { chmod, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startTestHub } from "../kits/hub.ts";

/** The folder of a hub that has run and stands still. */
let dir: string;

beforeEach(async () => {
  const hub = await startTestHub();
  await hub.close("keep");
  dir = hub.dir;
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const at = (...path: readonly string[]): string => join(dir, "data", ...path);

/** Starts on the folder, stops again, and tells what it warned of. */
async function warnings(): Promise<readonly string[]> {
  const hub = await startTestHub({ dir });
  await hub.close("keep");
  const warned = hub.log.filter(({ level }) => level === "warn" || level === "error");
  return warned.map(({ reason, message }) => `${reason}: ${message}`);
}

describe("a hub that starts with its clock behind its last run", () => {
  it("warns of it, and no more once the time that it records is the clock's", async () => {
    const file = at("pki", "hub.json");
    const record = JSON.parse(await readFile(file, "utf8")) as object;
    const later = new Date(Date.now() + 3 * 86_400_000).toISOString();
    await writeFile(file, JSON.stringify({ ...record, at: later }));
    expect(await warnings()).toEqual([
      expect.stringMatching(
        /^ClockBehind: the system clock is 3 days behind the time at which this hub last ran: correct the clock/,
      ),
    ]);
    expect(await warnings()).toEqual([]);
  });
});

describe("a hub whose admin.kubeconfig others could read", () => {
  it("names the certificate that it replaces, with how to revoke it", async () => {
    const kubeconfig = await readFile(at("admin.kubeconfig"), "utf8");
    const [, data = ""] = /client-certificate-data: "?([\w+/=]+)/.exec(kubeconfig) ?? [];
    const { fingerprint256 } = new X509Certificate(Buffer.from(data, "base64"));
    await chmod(at("admin.kubeconfig"), 0o644);
    expect(await warnings()).toEqual([
      `PermissionsTooOpen: ${at("admin.kubeconfig")} had mode 0644, so others than its owner could use it; this start replaces it, but its key may have been copied: if in doubt, revoke it with: pratique revoke --fingerprint ${fingerprint256}`,
    ]);
    expect((await stat(at("admin.kubeconfig"))).mode & 0o777).toBe(0o600);
    expect(await warnings()).toEqual([]);
  });
});
