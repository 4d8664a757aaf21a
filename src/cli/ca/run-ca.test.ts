import { cp, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeIo, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import { ConnectionError } from "../../client/client.ts";
import { openAuthorities } from "../../ca/ca-folder.ts";
import { issuedCredentials } from "../../apis/issued-credential.ts";

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-ca-"));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

async function run(
  line: string,
  at?: number,
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const listFolder = async (path: string): Promise<{ name: string; isFolder: boolean }[]> =>
    (await readdir(path).catch(() => [])).map((name) => ({ name, isFolder: false }));
  const clock = at === undefined ? fakeClock() : fakeClock(at);
  const io = fakeIo({ clock, listFolder, random: (size) => randomBytes(size) });
  const code = await runLine([...line.split(" "), "--data-dir", dir], io);
  return { code, out: io.out(), err: io.err() };
}

/** A run while the hub answers with so many holders of certificates of the previous CA; undefined: it cannot be reached. */
async function runWithHub(
  line: string,
  { holders, dataDir = dir }: { readonly holders: number | undefined; readonly dataDir?: string },
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const clock = fakeClock();
  const { client, given } = memoryApi({ clock });
  for (let number = 1; number <= (holders ?? 0); number += 1) {
    const username = `system:node:n${String(number).padStart(3, "0")}`;
    const issued = [{ credentialID: "X509SHA256=ab", issuer: "ca", notAfter: "2999-01-01T00:00:00Z" }];
    const spec = { identity: { username, purpose: "Client" } };
    await given(issuedCredentials, {
      apiVersion: "",
      kind: "",
      metadata: { name: `client.node.n${number}` },
      spec,
      status: { issued },
    });
  }
  const list = (): Promise<never> => Promise.reject(new ConnectionError("ECONNREFUSED", "connection refused"));
  const io = fakeIo({
    clock,
    client: holders === undefined ? { ...client, list } : client,
    files: { [join(dataDir, "admin.kubeconfig")]: kubeconfigText() },
    listFolder: async (path) => (await readdir(path)).map((name) => ({ name, isFolder: false })),
    random: (size) => randomBytes(size),
  });
  const code = await runLine([...line.split(" "), "--data-dir", dataDir], io);
  return { code, out: io.out(), err: io.err() };
}

const revokeForced = (holders: number | undefined): ReturnType<typeof runWithHub> =>
  runWithHub("ca revoke --force", { holders });

async function activated(): Promise<void> {
  await hubWasHere();
  await run("ca prepare");
  await run("ca activate");
}

async function hubWasHere(): Promise<void> {
  const now = fakeIo().clock.now();
  const random = (size: number): Uint8Array => randomBytes(size);
  await openAuthorities({ dir: join(dir, "pki"), certFile: undefined, keyFile: undefined, now, random });
}

const pin = /sha256:[0-9a-f]{64}/g;

describe("pratique ca", () => {
  it("shows one CA, then two, then the other one, and what comes next", async () => {
    await hubWasHere();
    const [before] = (await run("ca status")).out.match(pin) ?? [];
    const prepared = await run("ca prepare");
    expect(prepared.code).toBe(0);
    expect(prepared.out).toMatch(/^ca +signs +sha256:/m);
    expect(prepared.out).toMatch(/^ca-2 +signs next +sha256:/m);
    expect(prepared.out).toContain("pratique ca activate");
    const activated = await run("ca activate");
    expect(activated.out).toContain("ca-2 signs from now on.");
    expect(activated.out).toMatch(/^ca +signed before/m);
    expect(activated.out).toContain("pratique ca revoke");
    const status = JSON.parse((await run("ca status -o json")).out) as {
      phase: string;
      authorities: readonly { name: string; pin: string }[];
    };
    expect(status).toMatchObject({ phase: "activated", authorities: [{ name: "ca-2" }, { name: "ca", pin: before }] });
  });

  it.each(["status", "prepare", "check"])("%s says whose the folder is where it may not be read", async (verb) => {
    const refused = Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", path: join(dir, "pki") });
    const io = fakeIo({ listFolder: () => Promise.reject(refused) });
    expect(await runLine(["ca", verb, "--data-dir", dir], io)).toBe(2);
    expect(io.err()).toContain(`this account may not read ${join(dir, "pki")}`);
    expect(io.err()).toContain("use the account that the hub runs as, or sudo");
  });

  it("refuses a step that is not due, says which is, and changes nothing", async () => {
    await hubWasHere();
    const refused = await run("ca activate");
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("pratique ca prepare") });
    await run("ca prepare");
    expect(await run("ca prepare")).toMatchObject({ code: 2, err: expect.stringContaining("pratique ca activate") });
    expect((await readdir(join(dir, "pki"))).filter((name) => name.endsWith(".key"))).toEqual(["ca-2.key", "ca.key"]);
  });

  it("has no machine to name while no change is in progress", async () => {
    await hubWasHere();
    expect(await run("ca check")).toMatchObject({ code: 2, out: "", err: expect.stringContaining("ca prepare") });
  });

  it("leads on from a CA that has expired, and says that it has", async () => {
    await hubWasHere();
    const later = fakeIo().clock.now() + 11 * 366 * 86_400_000;
    const status = await run("ca status", later);
    expect(status).toMatchObject({ code: 0, err: "" });
    expect(status.out).toMatch(/^ca +signs +sha256:\S+ +\S+ \(expired\)$/m);
    expect(await run("ca prepare", later)).toMatchObject({ code: 0, err: "" });
    expect(await run("ca activate", later)).toMatchObject({ code: 0, err: "" });
    const { trusted } = await openAuthorities({
      dir: join(dir, "pki"),
      certFile: undefined,
      keyFile: undefined,
      now: later,
      random: (size) => randomBytes(size),
    });
    expect(trusted).toHaveLength(1);
    expect(await run("ca status", later)).toMatchObject({ code: 0, out: expect.stringContaining("signed before") });
  });

  it("names those whom a forced revocation leaves behind, and why", async () => {
    await activated();
    const { code, out, err } = await revokeForced(2);
    expect(code).toBe(0);
    expect(out).toContain("One CA, and no change in progress");
    expect(err).toContain("2 identities are left behind");
    expect(err).toMatch(/^ {2}system:node:n001 has not shown .* and holds a certificate of the previous CA$/m);
    expect(err).toContain("system:node:n002");
    expect(err).toContain("pratique join … --force");
  });

  it("names at most fifty of them, and says how many more there are", async () => {
    await activated();
    const { err } = await revokeForced(53);
    expect(err.match(/^ {2}system:node:/gm)).toHaveLength(50);
    expect(err).toContain("  and 3 more\n");
  });

  it("says nothing of anyone left behind where a forced revocation leaves no one behind", async () => {
    await activated();
    expect(await revokeForced(0)).toMatchObject({ code: 0, err: "" });
  });

  it("revokes the CA by force where the hub cannot be asked, and says that", async () => {
    await activated();
    const { code, err } = await revokeForced(undefined);
    expect(code).toBe(0);
    expect(err).toContain("could not ask the hub which identities are left behind");
  });

  it("says where it looked when there is no CA", async () => {
    for (const line of ["ca status", "ca prepare"]) {
      const { code, err } = await run(line);
      expect(code).toBe(2);
      expect(err).toContain(`there is no CA in ${join(dir, "pki")}`);
    }
    expect(await readdir(dir)).toEqual([]);
  });

  it.each([
    ["abandon", "cancel", ["prepare"]],
    ["switch", "activate", ["prepare"]],
    ["rehearse", "check", ["prepare"]],
    ["rehearse", "check", []],
    ["rehearse -o json", "check -o json", ["prepare", "activate"]],
    ["retire", "revoke", ["prepare", "activate"]],
    ["retire --force", "revoke --force", ["prepare", "activate"]],
  ] as const)("takes `%s` for `%s`, with a warning and the same result", async (deprecated, name, before) => {
    await hubWasHere();
    for (const step of before) await run(`ca ${step}`);
    const other = join(dir, "copy");
    await cp(join(dir, "pki"), join(other, "pki"), { recursive: true });
    const expected = await runWithHub(`ca ${name}`, { holders: 1, dataDir: other });
    const { code, out, err } = await runWithHub(`ca ${deprecated}`, { holders: 1 });
    const [word, newWord] = [deprecated, name].map((line) => line.split(" ")[0]);
    expect({ code, out, err }).toEqual({
      code: expected.code,
      out: expected.out,
      err: `warning: the command "pratique ca ${word}" is deprecated and works in this release only; use "pratique ca ${newWord}"\n${expected.err}`,
    });
  });

  it("names the commands of today alone in its help", async () => {
    const io = fakeIo();
    expect(await runLine("ca --help", io)).toBe(0);
    expect(io.out().match(/^ {2}[a-z]+(?= {2})/gm)).toEqual(
      ["status", "prepare", "cancel", "activate", "check", "revoke"].map((name) => `  ${name}`),
    );
    for (const name of ["abandon", "switch", "rehearse", "retire"]) expect(io.out()).not.toMatch(new RegExp(name, "i"));
  });

  it("leaves every key readable by its owner alone", async () => {
    await hubWasHere();
    await run("ca prepare");
    for (const name of ["ca.key", "ca-2.key"]) expect((await stat(join(dir, "pki", name))).mode & 0o777).toBe(0o600);
  });
});
