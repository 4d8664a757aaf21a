import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { openLmdb } from "../../src/storage/lmdb.ts";
import { decodeOnePem } from "../../src/pki/pem.ts";
import { apiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "../kits/hub.ts";
import { isRootFor, knowsBirthFor } from "../kits/machine-abilities.ts";

/** A copy cannot be told where the file system does not say when a file was made. */
const knowsBirth = knowsBirthFor("is warned of once where all of it is a copy");
const ofOthers = ["it", "audit", "audit/audit.log"].map((what) => `is refused where ${what} belongs to another user`);
const isRoot = isRootFor(...ofOthers, "is refused as a symbolic link to a directory of another user");
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

describe("a data directory in which one key is of another hub", () => {
  const copied = async (...names: readonly string[]): Promise<void> => {
    const other = await stoppedHub();
    others.push(other);
    for (const name of names) await cp(join(other, "data", "pki", name), at("pki", name));
  };

  it("is refused where it is the CA, although the record is its own", async () => {
    await copied("ca.key", "ca.crt");
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at("pki")} holds another CA than the one that clients of ${at("store")} trust: restore ca.crt and ca.key from the backup; to change the CA, use pratique ca prepare`,
    });
  });

  it("is warned of once where the operator gives another CA by its flags", async () => {
    const other = await stoppedHub();
    others.push(other);
    const pki = join(other, "data", "pki");
    const own = { clusterSigningCertFile: join(pki, "ca.crt"), clusterSigningKeyFile: join(pki, "ca.key") };
    const message = expect.stringContaining("is none of the CAs that clients of this hub trust") as string;
    const told = (await startedOn(dir, own)).filter(({ level }) => level === "warn");
    expect(told).toEqual([{ level: "warn", reason: "UntrustedSigner", message }]);
  });

  it("is refused where it is the key of tokens, until the operator names it once", async () => {
    await copied("sa.key");
    const file = at("pki", "sa.key");
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${file} is not the key that belongs to ${at("store")}, and its holder could sign tokens of any ServiceAccount: restore it from the backup; if the key was replaced on purpose, start once with --service-account-signing-key-file ${file}`,
    });
    // Another key that signs says nothing of the one that lies there.
    const elsewhere = join(others[0] ?? "", "data", "pki", "apiserver.key");
    await startedOn(dir, { serviceAccountSigningKeyFile: elsewhere });
    await expect(startedOn(dir)).rejects.toMatchObject({ code: "data-dir" });
    await startedOn(dir, { serviceAccountSigningKeyFile: file });
    expect(warnings(await startedOn(dir))).toEqual([]);
  });

  it("is accepted where the record is from before keys of tokens were recorded, and recorded then", async () => {
    const { serviceAccountKey, ...before } = JSON.parse(await readFile(at("pki", "hub.json"), "utf8")) as Readonly<
      Record<string, unknown>
    >;
    expect(serviceAccountKey).toEqual(expect.any(String));
    await writeFile(at("pki", "hub.json"), JSON.stringify(before));
    await startedOn(dir);
    await copied("sa.key");
    await expect(startedOn(dir)).rejects.toMatchObject({ code: "data-dir" });
  });
});

describe.each(["pki", "store"])("%s of a data directory", (name) => {
  /** Where a volume would be mounted. */
  const volume = (): string => join(dir, "volume", name);

  async function linked(): Promise<void> {
    await mkdir(join(dir, "volume"), { mode: 0o755 });
    await rename(at(name), volume());
    await symlink(volume(), at(name));
  }

  it.runIf(isRoot)("is refused where it belongs to another user", async () => {
    await chown(at(name), 4242, 4242);
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at(name)} belongs to another user (uid 4242), who could change what the hub trusts; run the hub as that user, or correct it with: chown 0 ${at(name)}`,
    });
    // The owner of the whole data directory may own this as well.
    await chown(at(), 4242, 4242);
    await startedOn(dir);
  });

  it("may be a symbolic link to a directory that no other user can change", async () => {
    await linked();
    expect(warnings(await startedOn(dir))).toEqual([]);
    expect(await readdir(volume())).not.toEqual([]);
  });

  it("is refused as a symbolic link to a directory that others can write to, or that lies in one", async () => {
    await linked();
    for (const open of [volume(), join(dir, "volume")]) {
      const { mode } = await stat(open);
      await chmod(open, 0o777);
      await expect(startedOn(dir)).rejects.toMatchObject({
        code: "data-dir",
        message: `${at(name)} is a symbolic link that leads through ${open}, to which others than its owner can write (mode 0777); correct it with: chmod go-w ${open}, or mount the volume at ${at(name)} in place of the link`,
      });
      await chmod(open, mode & 0o777);
    }
    await startedOn(dir);
  });

  it.runIf(isRoot)("is refused as a symbolic link to a directory of another user", async () => {
    await linked();
    await chown(volume(), 4242, 4242);
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: expect.stringContaining(`${at(name)} leads to ${volume()}, which belongs to another user`) as string,
    });
  });

  it("is refused as a symbolic link that leads nowhere, as to a volume that is not mounted", async () => {
    await linked();
    await rename(volume(), join(dir, "away"));
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at(name)} is a symbolic link that leads to no directory; mount the volume that it leads to, or make that directory`,
    });
  });

  it("is refused as something else than a directory", async () => {
    await rename(at(name), join(dir, "away"));
    await writeFile(at(name), "");
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${at(name)} is no directory; move it away`,
    });
  });
});

describe("the audit log of a data directory", () => {
  const log = (): string => at("audit", "audit.log");

  it("is refused as a symbolic link, and nothing is written where it leads", async () => {
    const target = join(dir, "elsewhere");
    await writeFile(target, "");
    await rm(log());
    await symlink(target, log());
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: `${log()} is a symbolic link, which the hub does not follow; move it away, or say with --audit-log-path where audit events are written`,
    });
    expect(await readFile(target, "utf8")).toBe("");
  });

  it("is refused in a folder that is a symbolic link", async () => {
    await rename(at("audit"), join(dir, "elsewhere"));
    await symlink(join(dir, "elsewhere"), at("audit"));
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: expect.stringContaining(`${at("audit")} is a symbolic link`) as string,
    });
  });

  it("is refused as something else than a regular file", async () => {
    await rm(log());
    await mkdir(log());
    await expect(startedOn(dir)).rejects.toMatchObject({
      code: "data-dir",
      message: expect.stringContaining(`${log()} is no regular file`) as string,
    });
  });

  it.runIf(isRoot).each([["audit"], ["audit/audit.log"]])(
    "is refused where %s belongs to another user",
    async (name) => {
      await chown(at(name), 4242, 4242);
      await expect(startedOn(dir)).rejects.toMatchObject({
        code: "data-dir",
        message: expect.stringContaining(
          `${at(name)} belongs to another user (uid 4242), who could change what is recorded`,
        ) as string,
      });
      // Whoever owns all of it may own this as well.
      await chown(at(), 4242, 4242);
      await startedOn(dir);
    },
  );

  it("is warned of once where others may read it, with the command, and left as it is", async () => {
    await chmod(log(), 0o644);
    expect(warnings(await startedOn(dir))).toEqual([
      `the audit log ${log()} says who did what and has mode 0644, so others than its owner may use it; correct it with: chmod 600 ${log()}`,
    ]);
    expect((await stat(log())).mode & 0o777).toBe(0o644);
    await chmod(log(), 0o600);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });
});

describe("a folder of the data directory that others may write to", () => {
  it.each(["audit", "pki", "store"])("is made private, with one warning: %s", async (name) => {
    await chmod(at(name), 0o777);
    expect(warnings(await startedOn(dir))).toEqual([
      `others than its owner could write to ${at(name)} (mode 0777); it has mode 0700 now, but look whether everything in it is yours`,
    ]);
    expect((await stat(at(name))).mode & 0o777).toBe(0o700);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });
});

describe("a data directory that is whole", () => {
  it("is said to be of a new hub at the first start, with its CA pin, and never again", async () => {
    const fresh = await mkdtemp(join(tmpdir(), "pratique-new-"));
    others.push(fresh);
    const hub = await startTestHub({ dir: fresh });
    const news = (log: TestHub["log"]): unknown => log.filter(({ reason }) => reason === "HubCreated");
    const { dataDir } = hub;
    expect(news(hub.log)).toEqual([
      { level: "info", message: "new hub", reason: "HubCreated", dataDir, caPin: hub.hub.caPin },
    ]);
    await hub.close("keep");
    expect(news(await startedOn(fresh))).toEqual([]);
  });

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
    await mkdir(join(fresh, "data", "pki"), { recursive: true, mode: 0o700 });
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
        /^the store is older than pki\/, so credentials that were revoked after it was copied are accepted again, and accounts, bindings and tokens that were deleted are back; take the revocations from a newer list: /,
      ),
    ]);
    expect(log).toContainEqual(
      expect.objectContaining({
        reason: "DataDirectoryRestored",
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
        /^the data directory is a copy; if it is a backup, credentials that were revoked after it was made are accepted again, and accounts, bindings and tokens that were deleted are back; /,
      ),
    ]);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });
});

describe("a hub that was restored from an older backup", () => {
  const users = { ann: ["system:masters"], ben: ["system:masters"], eve: ["system:masters"] };
  const crev = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";

  async function list(hub: TestHub, path = "/revocations"): Promise<string> {
    const api = apiClient(hub);
    const { status, text } = await api(path);
    api.close();
    expect(status).toBe(200);
    return text;
  }

  async function revoke(hub: TestHub, name: string, spec: object): Promise<void> {
    const api = apiClient(hub);
    expect((await api(crev, { method: "POST", body: { metadata: { name }, spec } })).status).toBe(201);
    api.close();
  }

  async function statusOf(hub: TestHub, user: string): Promise<number> {
    const api = apiClient(hub, { token: hub.token(user) });
    const { status } = await api("/api/v1/namespaces");
    api.close();
    return status;
  }

  /** A backup, and a list that is newer: ben was revoked in between, ann before, eve for a while that is over. */
  async function restored(options: TestHubOptions = {}): Promise<{ hub: TestHub; file: string }> {
    const first = await startTestHub({ dir, users });
    await revoke(first, "ann", { user: "ann" });
    await first.close("keep");
    await cp(at(), join(dir, "backup"), { recursive: true });
    const second = await startTestHub({ dir, users });
    await revoke(second, "ben", { user: "ben" });
    await revoke(second, "eve", { user: "eve", expiresAt: "2020-01-01T00:00:00Z" });
    const file = join(dir, "revocations.jws");
    await writeFile(file, await list(second));
    await second.close("keep");
    await rm(at(), { recursive: true });
    await rename(join(dir, "backup"), at());
    return { hub: await startTestHub({ ...options, dir, users }), file };
  }

  /** `pratique revocations import`: exit code, standard output and standard error. */
  async function importing(hub: TestHub, ...more: readonly string[]): Promise<readonly [number, string, string]> {
    return fromStdin(hub, Buffer.alloc(0), ...more);
  }

  async function fromStdin(
    hub: TestHub,
    stdin: Uint8Array,
    ...more: readonly string[]
  ): Promise<readonly [number, string, string]> {
    const written = { out: "", err: "" };
    const code = await runProgram(commands, ["revocations", "import", ...more, "--kubeconfig", hub.kubeconfig], {
      ...processIo(),
      stdinBytes: async () => stdin,
      stdout: { write: (text: string) => void (written.out += text), isTty: false },
      stderr: { write: (text: string) => void (written.err += text), isTty: false },
    });
    return [code, written.out, written.err];
  }

  it("takes the revocations of a newer list before its port opens", async () => {
    const { hub, file } = await restored({ revocationsFile: join(dir, "revocations.jws") });
    expect(hub.log).toContainEqual(
      expect.objectContaining({ level: "info", reason: "RevocationsImported", file, added: 1, present: 1 }),
    );
    expect(await Promise.all(["ann", "ben", "eve"].map((user) => statusOf(hub, user)))).toEqual([401, 401, 200]);
    await hub.close("keep");
  });

  it("takes them while it runs, from the command line", async () => {
    const { hub, file } = await restored();
    expect(await statusOf(hub, "ben")).toBe(200);
    const counted = (counts: string): RegExp => new RegExp(`^revocations of \\S+Z: ${counts}\n$`);
    expect(await importing(hub, file, "--dry-run")).toEqual([
      0,
      expect.stringMatching(
        /^NAME +REVOKES +REASON +ENDS\nben +user ben +imported from the list of \S+Z +<never>\nrevocations of \S+Z: 1 added, 1 in force already, 0 over by now \(dry run\)\n$/,
      ),
      "",
    ]);
    const [, json] = await importing(hub, file, "--dry-run", "-o", "json");
    expect(JSON.parse(json)).toMatchObject({
      dryRun: true,
      added: [{ name: "ben", user: "ben" }],
      present: 1,
      ended: 0,
      refused: [],
    });
    expect(await statusOf(hub, "ben")).toBe(200);
    expect(await importing(hub, file)).toEqual([
      0,
      expect.stringMatching(counted("1 added, 1 in force already, 0 over by now")),
      "",
    ]);
    expect(await statusOf(hub, "ben")).toBe(401);
    const api = apiClient(hub);
    expect((await api(`${crev}/ben`)).object()).toMatchObject({
      spec: { reason: expect.stringMatching(/^imported from the list of \S+Z$/) },
    });
    api.close();
    const torn = join(dir, "torn.jws");
    await writeFile(torn, (await readFile(file, "utf8")).replace(/.{5}\s*$/, "AAAAA"));
    expect(await importing(hub, torn)).toEqual([
      2,
      "",
      expect.stringContaining("is not signed by the key of ServiceAccount tokens of this hub"),
    ]);
    await hub.close("keep");
  });

  it("takes no serial number of a revocation list a second time that is revoked whatever CA has issued it", async () => {
    const hub = await startTestHub({ dir });
    await revoke(hub, "for-ever", { certificate: { serialNumber: "0c" } });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await revoke(hub, "for-an-hour", { certificate: { serialNumber: "0d" }, expiresAt: soon });
    const file = join(dir, "both.pem");
    await writeFile(file, await list(hub, "/revocations/crl"));
    const [code, out] = await importing(hub, file);
    // What ends is listed without its end: a list of X.509 has none.
    expect([code, out]).toEqual([0, expect.stringMatching(/Z: 1 added, [1-9]\d* in force already, 0 over by now\n$/)]);
    const api = apiClient(hub);
    const specs = (await api(crev)).items().map((item) => item["spec"] as { certificate?: { serialNumber: string } });
    api.close();
    const times = (serial: string): number => specs.filter((spec) => spec.certificate?.serialNumber === serial).length;
    expect([times("0c"), times("0d")]).toEqual([1, 2]);
    await hub.close("keep");
  });

  it("takes revocation lists of X.509 that its CA has signed, at its start and while it runs, once", async () => {
    await cp(at("store"), join(dir, "backup"), { recursive: true });
    const first = await startTestHub({ dir });
    await revoke(first, "one", { certificate: { serialNumber: "0aff" } });
    await revoke(first, "other", { certificate: { serialNumber: "0b" } });
    const pem = await list(first, "/revocations/crl");
    await first.close("keep");
    const [pemFile, derFile] = [join(dir, "crl.pem"), join(dir, "crl.der")];
    await writeFile(pemFile, pem);
    await writeFile(derFile, decodeOnePem(pem, "X509 CRL"));
    await rm(at("store"), { recursive: true });
    await rename(join(dir, "backup"), at("store"));
    const hub = await startTestHub({ dir, revocationsFile: pemFile });
    expect(warnings(hub.log)).toEqual([
      `the store is older than pki/, so credentials that were revoked after it was copied are accepted again, and accounts, bindings and tokens that were deleted are back; but for those that ${pemFile} lists, which are added before the port opens`,
    ]);
    expect(hub.log).toContainEqual(
      expect.objectContaining({ reason: "RevocationsImported", file: pemFile, added: 2, present: 0 }),
    );
    const api = apiClient(hub);
    const held = (await api(crev)).items().map((item) => item["spec"]);
    expect(held).toEqual(
      expect.arrayContaining(
        ["0aff", "0b"].map((serialNumber) =>
          expect.objectContaining({ certificate: { serialNumber, issuer: expect.stringMatching(/^[0-9a-f]{64}$/) } }),
        ),
      ),
    );
    api.close();
    const again = expect.stringMatching(/^revocations of \S+Z: 0 added, 2 in force already, 0 over by now\n$/);
    expect(await importing(hub, derFile)).toEqual([0, again, ""]);
    expect(await importing(hub, pemFile)).toEqual([0, again, ""]);
    expect(await fromStdin(hub, await readFile(derFile), "-")).toEqual([0, again, ""]);
    const other = await startTestHub();
    const theirs = join(dir, "theirs.pem");
    await writeFile(theirs, `${await list(other, "/revocations/crl")}${pem}`);
    await other.close();
    expect(await importing(hub, theirs)).toEqual([
      2,
      "",
      expect.stringContaining("holds 2 revocation lists, of which at least one is not signed by a CA of this hub"),
    ]);
    await hub.close("keep");
    await expect(startedOn(dir, { revocationsFile: theirs })).rejects.toMatchObject({
      code: "options",
      message: `--revocations-from ${theirs} holds 2 revocation lists, of which at least one is not signed by a CA of this hub`,
    });
  });

  it("does not start with a list of another hub", async () => {
    const other = await startTestHub();
    const file = join(dir, "other.jws");
    await writeFile(file, await list(other));
    await other.close();
    await expect(startedOn(dir, { revocationsFile: file })).rejects.toMatchObject({
      code: "options",
      message: `--revocations-from ${file} is not signed by the key of ServiceAccount tokens of this hub`,
    });
  });
});

describe("secrets that others than their owner may read", () => {
  it("are made private where they are the hub's own, and named with the command where they are the operator's", async () => {
    const tokens = join(dir, "tokens.csv");
    await writeFile(tokens, "");
    await chmod(tokens, 0o640);
    for (const name of ["ca.key", "sa.key"]) await chmod(at("pki", name), 0o644);
    await chmod(at(), 0o755);
    const log = await startedOn(dir);
    const message = expect.stringContaining("it has mode 0600 now, but may have been copied") as string;
    const shared = "so others than its owner may use it; correct it with: chmod";
    const each = [
      { message, path: at("pki", "ca.key") },
      { message, path: at("pki", "sa.key") },
      { message: `${at()} holds secrets and has mode 0755, ${shared} 700 ${at()}` },
      { message: `${tokens} holds a secret and has mode 0640, ${shared} 600 ${tokens}` },
    ].map((one) => ({ level: "warn", reason: "PermissionsTooOpen", ...one }));
    expect(log.filter(({ level }) => level === "warn")).toEqual(each);
    for (const name of ["ca.key", "sa.key"]) expect((await stat(at("pki", name))).mode & 0o777).toBe(0o600);
    await chmod(at(), 0o700);
    await chmod(tokens, 0o600);
    expect(warnings(await startedOn(dir))).toEqual([]);
  });

  it("stay private where the hub writes a certificate beside them that was private too", async () => {
    await chmod(at("pki", "apiserver.crt"), 0o600);
    await startedOn(dir, { tlsSans: ["hub.example"] });
    expect((await stat(at("pki", "apiserver.crt"))).mode & 0o777).toBe(0o600);
  });
});

describe("an option that a data directory outlives", () => {
  it("--no-node-autoapprove names the binding that is still there, and nothing once it is deleted", async () => {
    const told = async (): Promise<readonly string[]> =>
      warnings(await startedOn(dir, { nodeAutoapprove: false })).filter((one) => one.includes("node-autoapprove"));
    expect(await told()).toEqual([
      expect.stringContaining("kubectl delete clusterrolebinding kubeadm:node-autoapprove-bootstrap") as string,
    ]);
    const hub = await startTestHub({ dir });
    const api = apiClient(hub);
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:node-autoapprove-bootstrap";
    expect((await api(path, { method: "DELETE" })).status).toBe(200);
    api.close();
    await hub.close("keep");
    expect(await told()).toEqual([]);
  });

  it("clusters in the store of a hub without --managed-clusters are counted, with the flag that is missing", async () => {
    const hub = await startTestHub({ dir, managedClusters: {} });
    const api = apiClient(hub);
    const path = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
    const kind = { apiVersion: "cluster.open-cluster-management.io/v1", kind: "ManagedCluster" };
    const made = await api(path, { method: "POST", body: { ...kind, metadata: { name: "east" }, spec: {} } });
    expect(made.status).toBe(201);
    api.close();
    await hub.close("keep");
    expect(warnings(await startedOn(dir)).filter((one) => one.includes("--managed-clusters"))).toEqual([
      expect.stringContaining("the store holds 1 ManagedClusters") as string,
    ]);
    expect(warnings(await startedOn(dir, { managedClusters: {} })).filter((one) => one.includes("holds"))).toEqual([]);
  });
});
