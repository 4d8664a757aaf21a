import { mkdtempSync, rmdirSync, statSync } from "node:fs";
import { cp, mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openLmdb } from "../../src/storage/lmdb.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";

/** Whether the file system here says when a file was made; where it does not, a copy cannot be told. */
const knowsBirth = ((): boolean => {
  const made = mkdtempSync(join(tmpdir(), "pratique-born-"));
  const { birthtimeNs } = statSync(made, { bigint: true });
  rmdirSync(made);
  return birthtimeNs > 0n;
})();
/** The folder of a hub that has run and stands still. */
let dir: string;
let others: string[];

beforeEach(async () => {
  others = [];
  dir = await stoppedHub();
});

afterEach(async () => {
  for (const each of [dir, ...others]) await rm(each, { recursive: true, force: true });
});

async function stoppedHub(): Promise<string> {
  const hub = await startTestHub();
  await hub.close("keep");
  return hub.dir;
}

const at = (...path: readonly string[]): string => join(dir, "data", ...path);

/** Starts on the folder, stops again, and tells what it logged; the error where it does not start. */
async function startedOn(folder: string, options: TestHubOptions = {}): Promise<TestHub["log"]> {
  const hub = await startTestHub({ ...options, dir: folder });
  await hub.close("keep");
  return hub.log;
}

async function write(name: string): Promise<void> {
  const hub = await startTestHub({ dir });
  const api = apiClient(hub);
  const body = { metadata: { name } };
  expect((await api("/api/v1/namespaces/default/configmaps", { method: "POST", body })).status).toBe(201);
  api.close();
  await hub.close("keep");
}

const warnings = (log: TestHub["log"]): readonly string[] =>
  log.flatMap(({ level, message }) => (level === "warn" || level === "error" ? [message] : []));

describe("a data directory of which a half is missing", () => {
  it("is refused without its keys, and no CA is made over the store", async () => {
    await rm(at("pki"), { recursive: true });
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at("pki")} holds no keys of a hub, but ${at("store")} belongs to a hub that has run: restore ${at("pki")} from the same backup; for a new hub, use an empty directory in place of ${at()}`,
    });
    expect(await readdir(at())).not.toContain("pki");
  });

  it.each([true, false])("is refused without its store, and none is begun (record there: %s)", async (hasRecord) => {
    await rm(at("store"), { recursive: true });
    if (!hasRecord) await rm(at("pki", "hub.json"));
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: expect.stringContaining(`${at("store")} holds no store, but ${at("pki")} belongs to a hub that has run`),
    });
    expect(await readdir(at())).not.toContain("store");
  });

  it("is refused with an empty store in place of its own", async () => {
    await rm(at("store"), { recursive: true });
    await (await openLmdb({ dir: at("store") })).close();
    await expect(startedOn(dir)).rejects.toMatchObject({ code: "data-dir" });
  });

  it.each([
    [["ca.key", "ca.crt"], "ca", "the CA is missing in "],
    [["sa.key"], "data-dir", "sa.key is missing, where a hub has run: "],
  ] as const)("is refused without %j, and none is made", async (names, code, message) => {
    for (const name of names) await rm(at("pki", name));
    await expect(startedOn(dir)).rejects.toMatchObject({ code, message: expect.stringContaining(message) });
    for (const name of names) expect(await readdir(at("pki"))).not.toContain(name);
  });
});

describe("a data directory of two hubs", () => {
  it.each([
    ["as they are", []],
    ["where the store's hub is from before there were records", ["mine"]],
  ] as const)("is refused %s", async (_, withoutRecord) => {
    const other = await stoppedHub();
    others.push(other);
    await rm(at("pki"), { recursive: true });
    await cp(join(other, "data", "pki"), at("pki"), { recursive: true });
    if (withoutRecord.length > 0) await rm(at("pki", "hub.json"));
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at("pki")} and ${at("store")} belong to two hubs; restore both from the same backup`,
    });
  });
});

describe("a data directory that is whole", () => {
  it("starts again without a warning, also where the hub had no time to record how far its store came", async () => {
    const early = await readFile(at("pki", "hub.json"), "utf8");
    expect((await stat(at("pki", "hub.json"))).mode & 0o777).toBe(0o600);
    await write("later");
    await writeFile(at("pki", "hub.json"), early);
    expect(warnings(await startedOn(dir))).toEqual([]);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });

  it("is given a record where it is from before there were records, once", async () => {
    const record = JSON.parse(await readFile(at("pki", "hub.json"), "utf8")) as { readonly id: string };
    await rm(at("pki", "hub.json"));
    expect(warnings(await startedOn(dir))).toEqual([]);
    expect(JSON.parse(await readFile(at("pki", "hub.json"), "utf8"))).toMatchObject({ id: record.id, phase: "ready" });
  });

  it.each([
    ["nothing but its record", async () => rm(at("store"), { recursive: true })],
    [
      "an empty store",
      async () => {
        await rm(at("store"), { recursive: true });
        await (await openLmdb({ dir: at("store") })).close();
      },
    ],
    ["all that it makes", async () => undefined],
  ])("goes on with a first start that was killed and has left %s", async (_, kill) => {
    const killed = { id: "", phase: "new", revision: 0, at: "2026-11-21T00:00:00Z" };
    await writeFile(at("pki", "hub.json"), JSON.stringify(killed));
    await kill();
    expect(warnings(await startedOn(dir))).toEqual([]);
    expect(JSON.parse(await readFile(at("pki", "hub.json"), "utf8"))).toMatchObject({ phase: "ready" });
  });

  it("may hold a CA and a key of tokens that were put there before the first start", async () => {
    const fresh = join(dir, "fresh");
    await mkdir(join(fresh, "data", "pki"), { recursive: true });
    for (const name of ["ca.key", "ca.crt", "sa.key"]) await cp(at("pki", name), join(fresh, "data", "pki", name));
    expect(warnings(await startedOn(fresh))).toEqual([]);
    expect(await readFile(join(fresh, "data", "pki", "ca.crt"), "utf8")).toBe(
      await readFile(at("pki", "ca.crt"), "utf8"),
    );
  });
});

describe("a data directory that was restored", () => {
  it("is warned of where the store is older than what was recorded beside the CA", async () => {
    await cp(at("store"), join(dir, "backup"), { recursive: true });
    await write("later");
    await rm(at("store"), { recursive: true });
    await rename(join(dir, "backup"), at("store"));
    const log = await startedOn(dir);
    expect(warnings(log)).toEqual([
      expect.stringMatching(
        /^the store is older than pki\/, so credentials that were revoked after it was copied are accepted again; take the revocations from a newer list: /,
      ),
    ]);
    expect(log).toContainEqual(
      expect.objectContaining({
        revision: expect.any(Number),
        recordedRevision: expect.any(Number),
        recordedAt: expect.any(String),
      }),
    );
    expect(warnings(await startedOn(dir))).toEqual([]);
  });

  it.runIf(knowsBirth)("is warned of once where all of it is a copy", async () => {
    await cp(at(), join(dir, "backup"), { recursive: true });
    await write("later");
    await rm(at(), { recursive: true });
    await rename(join(dir, "backup"), at());
    expect(warnings(await startedOn(dir))).toEqual([
      expect.stringMatching(
        /^the data directory is a copy; if it is a backup, credentials that were revoked after it was made are accepted again; /,
      ),
    ]);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });
});
