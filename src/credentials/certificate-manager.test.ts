import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock, type FakeClock } from "../../test/kits/fake-clock.ts";
import { clientCertificate, refuse, startFakeHub, testCa, type FakeHub } from "../../test/kits/fake-hub.ts";
import { kubeletKubeconfig } from "../client/build-kubeconfig.ts";
import { createCa, type CertificateAuthority } from "../pki/ca.ts";
import type { ParsedCsr } from "../pki/csr.ts";
import { exportSec1Pem, generatePrivateKey, spkiOf } from "../pki/keys.ts";
import { buildName } from "../pki/names.ts";
import { decodePem } from "../pki/pem.ts";
import type { AgentEvent } from "./credential-event.ts";
import { agentStatus } from "../agent/node/agent-status.ts";
import { certificateFolder, type CertificateFolder } from "./storage/certificate-folder.ts";
import type { Manager } from "./run-managers.ts";
import { certificateManager, type CertificateManagerOptions } from "./certificate-manager.ts";
import { readStoredCertificate, type StoredCertificate } from "./storage/stored-certificate.ts";
import { nodeHub } from "./node-client.ts";
import type { ServingNames } from "./request/certificate-request.ts";
import { privateFiles } from "../host/private-files.ts";

const minute = 60_000;
const hour = 60 * minute;
const rawSubject = buildName({ commonName: "system:node:n1", organizations: ["system:nodes"] });

let hub: FakeHub;
let clock: FakeClock;
let certDir: string;
let folder: CertificateFolder;
let events: AgentEvent[];
let reported: string[];
let end: number;
const { signal } = new AbortController();

beforeEach(async () => {
  hub = await startFakeHub({ auto: true });
  hub.sign = (csr) => clientCertificate(hub.ca, csr, { fromMs: -5 * minute, toMs: 20 * hour });
  clock = fakeClock(Date.now());
  certDir = await mkdtemp(join(tmpdir(), "pratique-kept-"));
  folder = certificateFolder({ certDir, prefix: "kubelet-client" }, privateFiles, undefined);
  [events, reported] = [[], []];
  const key = generatePrivateKey();
  const pem = clientCertificate(hub.ca, { rawSubject, spki: spkiOf(key) }, { fromMs: -9 * hour, toMs: hour });
  await folder.install(`${pem}${exportSec1Pem(key)}`, clock.now() - 9 * hour);
  const text = kubeletKubeconfig({ server: hub.url, ca: { pem: hub.ca.pem }, credentialFile: folder.current });
  await writeFile(join(certDir, "kubelet.conf"), text);
  end = (await current()).notAfter;
});

afterEach(async () => {
  await hub.close();
  await rm(certDir, { recursive: true, force: true });
});

async function current(): Promise<StoredCertificate> {
  return readStoredCertificate(await readFile(folder.current, "utf8")) as StoredCertificate;
}

function member(options: Partial<CertificateManagerOptions> = {}): Manager {
  const fraction = (): number => 0;
  const text = (path: string): Promise<string | undefined> => privateFiles.textIfThere(path);
  const kubeconfig = join(certDir, "kubelet.conf");
  return certificateManager({
    kind: "client-certificate",
    folder,
    hub: nodeHub({ kubeconfig, current: folder.current, text, clock, fraction, userAgent: "test" }),
    once: false,
    clock,
    fraction,
    report: (event) => void events.push(event),
    renewed: async ({ path }) => void reported.push(path),
    ...options,
  });
}

/** Acts until there is something to wait for, and gives for how long, in milliseconds. */
async function pause(one: Manager): Promise<number> {
  for (;;) {
    const turn = await one.act(signal);
    if (turn.kind === "wait") return turn.until - clock.now();
    if (turn.kind === "lost") throw turn.error;
  }
}

/** Lets time pass, step by step, until it has ended; so slowly that the hub answers before a call has lasted too long. */
async function passing<T>(acting: Promise<T>, stepMs: number): Promise<T> {
  let over = false;
  void acting.finally(() => (over = true));
  while (!over) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(stepMs);
  }
  return acting;
}

const kinds = (): readonly string[] => events.map(({ reason }) => reason);
const posts = (): number => hub.seen.filter(({ method }) => method === "POST").length;

describe("a client certificate", () => {
  test("is left alone until 70 % of its life are over", async () => {
    const young = generatePrivateKey();
    const pem = clientCertificate(hub.ca, { rawSubject, spki: spkiOf(young) }, { fromMs: -6 * hour, toMs: 4 * hour });
    await folder.install(`${pem}${exportSec1Pem(young)}`, clock.now());
    const wait = await pause(member());
    // Certificates are made by the wall's clock, which has gone on meanwhile.
    expect(Math.abs(wait - hour)).toBeLessThan(minute);
    expect([posts(), kinds()]).toEqual([0, ["RenewalScheduled"]]);
  });

  test("that has expired asks to come back with its key, says so once, and goes on when it is let in", async () => {
    await clock.advance(2 * hour);
    hub.auto = false;
    const one = member();
    const acting = one.act(signal);
    while (hub.requests.size === 0) await new Promise((resolve) => setImmediate(resolve));
    const [name = ""] = hub.requests.keys();
    hub.condition(name, { type: "Returning", reason: "NoPolicy", message: "n1 comes back; ask ann" });
    while (!(await readFile(folder.state, "utf8")).includes("ask ann")) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(500);
    }
    const expiresAt = end;
    expect(events.filter(({ reason }) => reason === "RecoveryRequested")).toMatchObject([
      {
        expiresAt,
        message: expect.stringMatching(/^the client certificate expired .* ago; the agent requests another one/),
      },
      { expiresAt, message: "waiting for recovery: NoPolicy: n1 comes back; ask ann" },
    ]);
    expect(JSON.parse(await readFile(folder.state, "utf8"))).toMatchObject({
      waitsFor: "NoPolicy: n1 comes back; ask ann",
    });
    const found = [{ kind: "node", certDir, kubeconfig: join(certDir, "kubelet.conf") }] as const;
    const [status] = await agentStatus(found, { files: privateFiles, now: clock.now() });
    expect(status).toMatchObject({
      good: false,
      agent: { returning: "NoPolicy: n1 comes back; ask ann", request: name },
    });
    hub.approve(name);
    hub.issue(name);
    expect(await passing(acting, 500)).toEqual({ kind: "again" });
    await pause(one);
    expect(kinds().slice(-2)).toEqual(["CredentialRenewed", "RenewalScheduled"]);
  });

  test("is then replaced by one with a new key, asked for with the old one, and others are told once", async () => {
    const before = await current();
    const one = member();
    await pause(one);
    const after = await current();
    expect(after.serial).not.toBe(before.serial);
    expect(Buffer.from(after.spki).equals(Buffer.from(before.spki))).toBe(false);
    expect(hub.seen.every((seen) => seen.clientCertificate && seen.authorization === undefined)).toBe(true);
    expect([...hub.requests.values()]).toMatchObject([
      { signerName: "kubernetes.io/kube-apiserver-client-kubelet", usages: ["digital signature", "client auth"] },
    ]);
    expect(kinds()).toEqual(["RenewalScheduled", "CertificateRequested", "CredentialRenewed", "RenewalScheduled"]);
    expect(reported).toEqual([folder.current]);
    expect((await readdir(certDir)).filter((name) => name.includes("key"))).toEqual([]);
    await pause(one);
    expect([reported.length, posts()]).toEqual([1, 1]);
  });

  test("has the same deadline after a restart, however often", async () => {
    let drawn = 0;
    const fraction = (): number => (drawn += 1) / 10;
    await pause(member());
    const first = await pause(member({ fraction }));
    expect(await pause(member({ fraction }))).toBe(first);
    expect(drawn).toBe(0);
  });

  test("of which others were not told before the agent was killed is told of by the next one", async () => {
    const killed = member({ renewed: () => new Promise(() => undefined) });
    await killed.act(signal);
    void killed.act(signal);
    while (!kinds().includes("CredentialRenewed")) await new Promise((resolve) => setImmediate(resolve));
    await pause(member());
    expect(reported).toEqual([folder.current]);
  });

  test("that somebody else put there is planned for anew", async () => {
    const one = member();
    await pause(one);
    const other = generatePrivateKey();
    const pem = clientCertificate(hub.ca, { rawSubject, spki: spkiOf(other) }, { fromMs: -hour, toMs: 9 * hour });
    await folder.install(`${pem}${exportSec1Pem(other)}`, clock.now() + 5000);
    expect(Math.abs((await pause(one)) - 6 * hour)).toBeLessThan(minute);
    expect(posts()).toBe(1);
  });
});

describe("a client certificate of a CA that signs no more", () => {
  const day = 24 * hour;
  let next: CertificateAuthority;
  let seen: Uint8Array | undefined;
  const shown = async (): Promise<Uint8Array | undefined> => seen;
  const leafOf = (ca: CertificateAuthority): Uint8Array =>
    decodePem(clientCertificate(ca, { rawSubject, spki: spkiOf(generatePrivateKey()) }))[0]?.bytes ?? new Uint8Array();
  const signedBy = (ca: CertificateAuthority) => (csr: ParsedCsr) =>
    clientCertificate(ca, csr, { fromMs: -5 * minute, toMs: 300 * day });

  async function trusting(...cas: readonly CertificateAuthority[]): Promise<void> {
    const pem = cas.map((ca) => ca.pem).join("");
    const text = kubeletKubeconfig({ server: hub.url, ca: { pem }, credentialFile: folder.current });
    await writeFile(join(certDir, "kubelet.conf"), text);
  }

  beforeEach(async () => {
    next = testCa("next-ca");
    seen = leafOf(next);
    await trusting(hub.ca, next);
    const young = generatePrivateKey();
    const pem = signedBy(hub.ca)({ rawSubject, spki: spkiOf(young) } as ParsedCsr);
    await folder.install(`${pem}${exportSec1Pem(young)}`, clock.now());
    hub.sign = signedBy(next);
  });

  test("is renewed within four hours, once, and at the same moment after a restart", async () => {
    const fraction = (): number => 0.5;
    const first = member({ shown, fraction });
    expect(await pause(first)).toBe(2 * hour);
    expect(events.at(-1)).toMatchObject({
      reason: "EarlyRenewalScheduled",
      at: clock.now() + 2 * hour,
      details: { pin: next.pin },
    });
    const restarted = member({ shown, fraction });
    const wait = await pause(restarted);
    expect(Math.abs(2 * hour - wait)).toBeLessThan(1000);
    await clock.advance(wait);
    expect(await pause(restarted)).toBeGreaterThan(100 * day);
    expect([posts(), kinds().filter((kind) => kind === "EarlyRenewalScheduled").length]).toEqual([1, 1]);
    await clock.advance(2 * day);
    await pause(restarted);
    expect(posts()).toBe(1);
  });

  test("is not the only one: a serving certificate of that CA is hastened too, one of another CA is not", async () => {
    const folders = certificateFolder({ certDir, prefix: "kubelet-server" }, privateFiles, undefined);
    const serving = (): Manager =>
      member({ kind: "serving-certificate", folder: folders, servingNames: () => ({ dns: [], ip: [] }), shown });
    for (const [at, ca] of [testCa("of the cluster"), hub.ca].entries()) {
      const key = generatePrivateKey();
      const pem = signedBy(ca)({ rawSubject, spki: spkiOf(key) } as ParsedCsr);
      await folders.install(`${pem}${exportSec1Pem(key)}`, clock.now() + at * 1000);
      hub.intercept = (_request, response) => {
        refuse(response, 503, "ServiceUnavailable", "not now");
        return true;
      };
      await pause(serving());
      expect(kinds().includes("EarlyRenewalScheduled")).toBe(ca === hub.ca);
    }
    expect(events.find(({ reason }) => reason === "EarlyRenewalScheduled")).toMatchObject({
      kind: "serving-certificate",
    });
  });

  test("is renewed at once with --once, and again by the next run where that failed", async () => {
    hub.intercept = (request, response) => {
      if (request.method !== "POST") return false;
      refuse(response, 503, "ServiceUnavailable", "not now");
      return true;
    };
    expect(await member({ shown, once: true }).act(signal)).toMatchObject({ kind: "lost" });
    hub.intercept = undefined;
    await clock.advance(hour);
    expect(await member({ shown, once: true }).act(signal)).toEqual({ kind: "again" });
    expect(kinds().filter((kind) => kind === "EarlyRenewalScheduled")).toHaveLength(1);
  });

  test("is left alone while nothing is shown, or what is shown is of a CA that is not trusted", async () => {
    for (const leaf of [undefined, leafOf(testCa("next-ca")), leafOf(hub.ca), new Uint8Array([1, 2, 3])]) {
      seen = leaf;
      expect(await pause(member({ shown }))).toBeGreaterThan(100 * day);
    }
    await trusting(hub.ca);
    seen = leafOf(next);
    expect(await pause(member({ shown }))).toBeGreaterThan(100 * day);
    expect(kinds()).not.toContain("EarlyRenewalScheduled");
  });

  test("attack: a hub that shows the next CA and signs with the one before brings five renewals in three weeks", async () => {
    hub.sign = signedBy(hub.ca);
    let one = member({ shown });
    for (let step = 0; step < 21 * 2; step += 1) {
      // Whoever is started anew remembers.
      if (step % 5 === 0) one = member({ shown });
      await pause(one);
      await clock.advance(12 * hour);
    }
    expect(posts()).toBe(5);
  });

  test("attack: a hub that shows and signs with either in turn brings one, for nobody goes back to an older CA", async () => {
    next = createCa({
      commonName: "next-ca",
      key: generatePrivateKey(),
      now: Date.now() + 5000,
      years: 1,
      random: randomBytes,
    });
    await trusting(hub.ca, next);
    await clock.advance(minute);
    const one = member({ shown });
    for (let step = 0; step < 10 * 4; step += 1) {
      const either = step % 2 === 0 ? next : hub.ca;
      [seen, hub.sign] = [leafOf(either), signedBy(either)];
      await pause(one);
      await clock.advance(6 * hour);
    }
    expect(posts()).toBe(1);
  });
});

describe("connections", () => {
  test("that are open when the client certificate is replaced are made anew with the new one", async () => {
    const before = await current();
    const serials = (): readonly string[] => hub.seen.map(({ serial }) => serial);
    const text = (path: string): Promise<string | undefined> => privateFiles.textIfThere(path);
    const fraction = (): number => 0;
    const shared = nodeHub({
      kubeconfig: join(certDir, "kubelet.conf"),
      current: folder.current,
      text,
      clock,
      fraction,
      userAgent: "test",
    });
    const server = certificateFolder({ certDir, prefix: "kubelet-server" }, privateFiles, undefined);
    const servingNames = (): ServingNames => ({ dns: [], ip: ["10.0.0.7"] });
    hub.auto = false;
    const waiting = member({ hub: shared, kind: "serving-certificate", folder: server, servingNames }).act(signal);
    while (!hub.seen.some(({ path }) => path.includes("watch=true"))) await clock.advance(0);
    hub.auto = true;
    await pause(member({ hub: shared }));
    const { serial } = await current();
    expect(serial).not.toBe(before.serial);
    const watches = (): readonly string[] =>
      hub.seen.filter(({ path }) => path.includes("watch=true") && path.includes("node-csr")).map((one) => one.serial);
    while (watches().at(-1) !== serial) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      await clock.advance(500);
    }
    expect(serials()).toContain(before.serial);
    const [name = ""] = hub.requests.keys();
    hub.condition(name, { type: "Denied" });
    expect(await passing(waiting, 1)).toEqual({ kind: "again" });
  });
});

describe("a rotation that fails", () => {
  test("because it was denied keeps the old certificate, asks with another key, and ever more seldom", async () => {
    hub.auto = false;
    const before = await current();
    hub.intercept = (request, response) => {
      if (request.method !== "GET" || !request.url?.includes("fieldSelector")) return false;
      const name = [...hub.requests.keys()].at(-1) ?? "";
      if (hub.requests.get(name)?.conditions.length === 0) hub.condition(name, { type: "Denied", reason: "NotOurs" });
      void response;
      return false;
    };
    const one = member();
    const pauses: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      pauses.push(await pause(one));
      await clock.advance(pauses.at(-1) ?? 0);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30].map((minutes) => minutes * minute));
    expect([posts(), hub.requests.size]).toEqual([7, 7]);
    expect((await current()).serial).toBe(before.serial);
    expect(events.findLast(({ reason }) => reason === "RenewalFailed")).toMatchObject({
      message: expect.stringMatching(/^the request node-csr-\S+ was denied: NotOurs$/),
      expiresAt: end,
    });
  });

  test("because the hub is away makes one request, whenever it comes back", async () => {
    let away = true;
    hub.intercept = (request) => {
      // The request arrives, and the answer does not.
      if (!away || request.method !== "GET" || !request.url?.includes("fieldSelector")) return false;
      request.socket.destroy();
      return true;
    };
    const one = member();
    const acting = one.act(signal);
    while (hub.requests.size === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await passing(acting, 5000)).toEqual({ kind: "again" });
    expect(events.at(-1)).toMatchObject({ reason: "RenewalFailed", message: expect.stringContaining("last trouble") });
    away = false;
    await clock.advance(minute);
    await pause(member());
    expect(hub.requests.size).toBe(1);
    expect(kinds().slice(-3)).toEqual(["CertificateRequested", "CredentialRenewed", "RenewalScheduled"]);
  });

  test("because the hub is busy waits for as long as it asks", async () => {
    hub.intercept = (request, response) => {
      if (request.method !== "POST") return false;
      response.setHeader("retry-after", "1234");
      refuse(response, 429, "TooManyRequests", "slow down");
      return true;
    };
    expect(await pause(member())).toBe(1_234_000);
    expect(posts()).toBe(1);
  });

  test.each([
    [0, "it was revoked, or its CA is trusted no longer"],
    [2 * hour, "it has expired, and this API does not renew expired certificates"],
  ])("because the certificate is refused says why, after %i ms", async (passed, why) => {
    hub.intercept = (_request, response) => {
      refuse(response, 401, "Unauthorized", "Unauthorized");
      return true;
    };
    await clock.advance(passed);
    expect(await pause(member())).toBeGreaterThanOrEqual(minute);
    expect(events.at(-1)).toMatchObject({ reason: "RenewalFailed", message: expect.stringContaining(why) });
  });

  test.each([
    ["is for another key", () => ({ rawSubject, spki: spkiOf(generatePrivateKey()) })],
    ["is of another node", undefined],
  ])("because what came %s keeps the old certificate", async (_title, other) => {
    const before = await current();
    const stranger = buildName({ commonName: "system:node:n2", organizations: ["system:nodes"] });
    hub.sign = (csr) => clientCertificate(hub.ca, other?.() ?? { spki: csr.spki, rawSubject: stranger });
    await pause(member());
    expect((await current()).serial).toBe(before.serial);
    expect(events.at(-1)).toMatchObject({
      reason: "RenewalFailed",
      message: expect.stringContaining("does not accept"),
    });
  });

  test("because the hub does not take what it has issued keeps the old certificate", async () => {
    const before = await current();
    hub.intercept = (request, response) => {
      const peer = (request.socket as TLSSocket).getPeerCertificate();
      if (peer.serialNumber.toLowerCase() === before.serial) return false;
      refuse(response, 401, "Unauthorized", "Unauthorized");
      return true;
    };
    await pause(member());
    expect((await current()).serial).toBe(before.serial);
    expect(events.at(-1)).toMatchObject({ message: expect.stringContaining("that it has just issued (401)") });
  });

  test("with --once is the end", async () => {
    hub.intercept = (_request, response) => {
      refuse(response, 503, "ServiceUnavailable", "not now");
      return true;
    };
    expect(await member({ once: true }).act(signal)).toMatchObject({ kind: "lost", error: { code: "refused" } });
  });

  test("because another CA stands behind the address sends nothing", async () => {
    const other = testCa();
    const text = kubeletKubeconfig({ server: hub.url, ca: { pem: other.pem }, credentialFile: folder.current });
    await writeFile(join(certDir, "kubelet.conf"), text);
    await pause(member());
    expect(hub.seen).toEqual([]);
    expect(events.at(-1)).toMatchObject({
      reason: "RenewalFailed",
      message: expect.stringContaining("not signed by the hub's CA"),
    });
  });
});

describe("a serving certificate", () => {
  let names: ServingNames | undefined;
  let server: CertificateFolder;
  const serving = (): Manager => member({ kind: "serving-certificate", folder: server, servingNames: () => names });

  beforeEach(() => {
    names = undefined;
    server = certificateFolder({ certDir, prefix: "kubelet-server" }, privateFiles, undefined);
  });

  test("is not asked for before the machine has an address", async () => {
    expect(await pause(serving())).toBe(20_000);
    expect(posts()).toBe(0);
  });

  test("that a clock ahead left from the future is requested anew at once", async () => {
    names = { dns: [], ip: [] };
    const future = generatePrivateKey();
    const times = { fromMs: 5 * hour, toMs: 900 * hour };
    const pem = clientCertificate(hub.ca, { rawSubject, spki: spkiOf(future) }, times);
    await server.install(`${pem}${exportSec1Pem(future)}`, clock.now());
    await pause(serving());
    expect([...hub.requests.values()]).toMatchObject([{ signerName: "kubernetes.io/kubelet-serving" }]);
  });

  test("is not asked for while the client certificate has expired, which alone can come back", async () => {
    names = { dns: [], ip: ["10.0.0.7"] };
    await clock.advance(2 * hour);
    expect(await pause(serving())).toBe(20_000);
    expect(posts()).toBe(0);
  });

  test("that is not for servers is not taken", async () => {
    names = { dns: [], ip: ["10.0.0.7"] };
    expect(await pause(serving())).toBeGreaterThanOrEqual(minute);
    expect([...hub.requests.values()]).toMatchObject([
      { signerName: "kubernetes.io/kubelet-serving", usages: ["digital signature", "server auth"] },
    ]);
    expect(events.at(-1)).toMatchObject({
      reason: "RenewalFailed",
      message: expect.stringContaining("it is not for servers"),
    });
    expect(await readdir(certDir)).not.toContain("kubelet-server-current.pem");
  });

  test("whose request waits is asked for anew when the addresses change", async () => {
    hub.auto = false;
    names = { dns: [], ip: ["10.0.0.7"] };
    const one = serving();
    const acting = one.act(signal);
    while (hub.requests.size === 0) await new Promise((resolve) => setImmediate(resolve));
    names = { dns: [], ip: ["10.0.0.8"] };
    expect(await passing(acting, 250)).toEqual({ kind: "again" });
    const wait = await pause(one);
    expect(wait).toBeGreaterThan(30_000);
    await clock.advance(wait);
    void one.act(signal);
    while (hub.requests.size < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(events.filter(({ reason }) => reason === "RenewalFailed")).toMatchObject([
      { message: "the addresses of this machine have changed while a request for them waited" },
    ]);
  });
});
