import { execFile } from "node:child_process";
import { createHash, randomBytes, sign, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AgentReport } from "../../src/credentials/credential-event.ts";
import { trustBundleManager, type Trust } from "../../src/credentials/trust/trust-bundle-manager.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { changeAuthorities, readState } from "../../src/ca/ca-folder.ts";
import type { AuthorityStep } from "../../src/ca/ca-state.ts";
import { readCaCheck } from "../../src/ca/ca-check.ts";
import { createCa, loadCa, type CertificateAuthority } from "../../src/pki/ca.ts";
import { exportPkcs8Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { caCheckServerName, caCheckPath } from "../../src/trust/ca-check.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { signedTimePath, signTime, verifiedTime } from "../../src/trust/signed-time.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { openHttp2, openTls, parseReply, requestBytes, resumable, sendHttp2, speak, type Dial } from "../kits/wire.ts";
import { peerSuite } from "../kits/peers.ts";
import { clientOf } from "./attacked-hub.ts";

const random = (size: number): Uint8Array => randomBytes(size);
const hasty = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) => wallClock.sleep(ms === 2000 ? 10 : Math.min(ms, 50), signal),
};
/** What waits for hours waits so, or controllers would never rest. */
const clock = {
  now: hasty.now,
  sleep: (ms: number, signal?: AbortSignal) =>
    ms === 2000 || ms === 5000 ? hasty.sleep(ms, signal) : wallClock.sleep(ms, signal),
};
const maps = "/api/v1/namespaces/default/configmaps";

let hub: TestHub;
beforeEach(async () => {
  hub = await startTestHub({ clock, users: { ops: ["system:masters"], nobody: [] } });
});
afterEach(() => hub.close());

const pki = (name: string): string => readFileSync(join(hub.dataDir, "pki", name), "utf8");
const target = (): { readonly port: number; readonly caPem: string } => ({ port: hub.port, caPem: hub.ca });
const told = (): number => hub.log.filter(({ reason }) => reason === "Reloaded").length;

async function take(...steps: readonly AuthorityStep[]): Promise<void> {
  for (const step of steps) {
    const before = told();
    await changeAuthorities(join(hub.dataDir, "pki"), step, { now: Date.now(), random });
    await expect.poll(told, { interval: 10 }).toBe(before + 1);
  }
}

function caOf(stem: string): CertificateAuthority {
  return loadCa({ certificatePem: pki(`${stem}.crt`), keyPem: pki(`${stem}.key`), now: Date.now() });
}

const masters = (ca: CertificateAuthority, chain = ""): Dial =>
  clientOf(ca, { commonName: "kubernetes-admin", organizations: ["system:masters"], chain });

/** A request under any TLS name to whatever the hub shows there. */
async function ask(
  path: string,
  {
    servername = "localhost",
    headers = [],
    dial = {},
  }: {
    readonly servername?: string;
    readonly headers?: readonly (readonly [string, string])[];
    readonly dial?: Dial;
  } = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const socket = connect({ host: "127.0.0.1", port: hub.port, servername, rejectUnauthorized: false, ...dial });
  await once(socket, "secureConnect");
  socket.on("error", () => undefined);
  return parseReply(await speak(socket, requestBytes({ path, headers })));
}

const as = (user: string): readonly [string, string] => ["Authorization", `Bearer ${hub.token(user)}`];

peerSuite("kubectl", "a CA that is believed no more", () => {
  test("opens nothing: not on connections that are open, nor resumed sessions, nor watches", async () => {
    const old = masters(caOf("ca"));
    const session = await openHttp2(target(), old);
    expect((await sendHttp2(session, { path: maps })).status).toBe(200);
    const watch = sendHttp2(session, { path: `${maps}?watch=true` });
    const ticket = await resumable(target(), old);
    await take("prepare", "activate");
    expect((await sendHttp2(session, { path: maps })).status).toBe(200);
    const opened = sendHttp2(session, { path: `${maps}?watch=true` });
    await take("revoke");
    expect((await sendHttp2(session, { path: maps })).status).toBe(401);
    // They have ended, for their replies are whole.
    expect((await watch).status).toBe(200);
    expect((await opened).status).toBe(200);
    session.destroy();
    const now = { port: hub.port, caPem: pki("ca-2.crt") };
    for (const dial of [old, { ...old, session: ticket }]) {
      const socket = await openTls(now, "http/1.1", dial);
      expect(parseReply(await speak(socket, requestBytes({ path: maps }))).status).toBe(401);
    }
  });

  test("that was canceled is not believed through another one", async () => {
    await take("prepare");
    const canceled = caOf("ca-2");
    const stolen = ["ca-2.crt", "ca-2-by-ca.crt"].map((name) => {
      try {
        return pki(name);
      } catch {
        return "";
      }
    });
    const dial = masters(canceled);
    const session = await openHttp2(target(), dial);
    expect((await sendHttp2(session, { path: maps })).status).toBe(200);
    await take("cancel");
    expect((await sendHttp2(session, { path: maps })).status).toBe(401);
    session.destroy();
    for (const chain of ["", ...stolen, stolen.join("")]) {
      expect((await ask(maps, { dial: masters(canceled, chain) })).status).toBe(401);
    }
    // Nor is there anything with which it could pose as the hub to those who trust the CA that stayed.
    const stayed = new X509Certificate(hub.ca);
    expect(stolen.filter((pem) => pem !== "" && new X509Certificate(pem).verify(stayed.publicKey))).toEqual([]);
  });

  test("is still told of what was revoked of it, while it is believed", async () => {
    const thief = clientOf(caOf("ca"), { commonName: "thief" });
    const serialNumber = new X509Certificate(thief.cert ?? "").serialNumber.toLowerCase();
    const file = join(hub.dir, "revocation.json");
    const spec = { certificate: { serialNumber } };
    const object = {
      apiVersion: "access.pratique.dev/v1alpha1",
      kind: "CredentialRevocation",
      metadata: { name: "thief" },
      spec,
    };
    await writeFile(file, JSON.stringify(object));
    expect((await hub.kubectl("create", "-f", file)).err).toBe("");
    const listed = async (stem: string, place: number): Promise<string> => {
      const { text } = await ask("/revocations/crl", { headers: [as("ops")] });
      const pem = text.split("-----END X509 CRL-----\n")[place] ?? "";
      await writeFile(file, `${pem}-----END X509 CRL-----\n`);
      const args = ["crl", "-in", file, "-CAfile", join(hub.dataDir, "pki", `${stem}.crt`), "-noout", "-text"];
      const { stdout, stderr } = await promisify(execFile)("openssl", args);
      return `${stderr}${stdout.toLowerCase().includes(serialNumber) ? "listed" : "not listed"}`;
    };
    expect(await listed("ca", 0)).toBe("verify OK\nlisted");
    await take("prepare", "activate");
    expect([await listed("ca-2", 0), await listed("ca", 1)]).toEqual(["verify OK\nlisted", "verify OK\nlisted"]);
    expect((await ask(maps, { dial: thief })).status).toBe(401);
  });

  test("is not the operator's either: a folder of another time changes nothing for a CA of one's own", async () => {
    await hub.close("keep");
    const key = generatePrivateKey();
    const own = createCa({ commonName: "own", key, now: Date.now(), years: 1, random });
    const [clusterSigningCertFile, clusterSigningKeyFile] = [join(hub.dir, "own.crt"), join(hub.dir, "own.key")];
    await writeFile(clusterSigningCertFile, own.pem);
    await writeFile(clusterSigningKeyFile, exportPkcs8Pem(key));
    hub = await startTestHub({ clock, dir: hub.dir, clusterSigningCertFile, clusterSigningKeyFile });
    const stray = masters(caOf("ca"));
    await changeAuthorities(join(hub.dataDir, "pki"), "prepare", { now: Date.now(), random });
    await wallClock.sleep(200);
    expect([told(), hub.hub.caPin]).toEqual([0, own.pin]);
    expect((await ask(maps, { dial: stray })).status).toBe(401);
    expect((await ask(maps, { dial: masters(own) })).status).toBe(200);
  });
});

describe("a CA check", () => {
  const shown = async (): Promise<readonly string[]> => [...(await readCaCheck(join(hub.dataDir, "pki"))).shown.keys()];

  test("counts for who it was, under the right name, while a change is under way", async () => {
    expect((await ask(caCheckPath, { servername: caCheckServerName, headers: [as("nobody")] })).status).toBe(400);
    await take("prepare");
    const under = { servername: caCheckServerName };
    // Nobody; under another name; for somebody else.
    expect((await ask(caCheckPath, under)).status).not.toBe(500);
    for (const servername of [
      "localhost",
      `x.${caCheckServerName}`,
      `${caCheckServerName}.x`,
      caCheckServerName.slice(1),
    ])
      expect([400, servername]).toEqual([
        (await ask(caCheckPath, { servername, headers: [as("nobody")] })).status,
        servername,
      ]);
    const other = ["Impersonate-User", "system:node:n1"] as const;
    const group = ["Impersonate-Group", "system:nodes"] as const;
    expect((await ask(caCheckPath, { ...under, headers: [as("ops"), other, group] })).status).toBe(200);
    const odd = clientOf(caOf("ca"), { commonName: "__proto__" });
    expect((await ask(caCheckPath, { ...under, dial: odd })).status).toBe(200);
    await expect.poll(shown).toEqual(["ops", "__proto__"]);
    // A file that says otherwise is read as one that says nothing.
    await take("cancel", "prepare");
    await expect.poll(async () => (await ask(caCheckPath, { ...under, headers: [as("nobody")] })).status).toBe(200);
    await expect.poll(shown).toEqual(["nobody"]);
    await writeFile(join(hub.dataDir, "pki", "ca-check.json"), '{"pin":1,"shown":{"a":"b","c":[]}}');
    expect(await shown()).toEqual([]);
  });
});

describe("the signed time", () => {
  const get = async (nonce: string): Promise<{ readonly status: number; readonly text: string }> =>
    ask(`${signedTimePath}?nonce=${encodeURIComponent(nonce)}`);

  test("is told to who asks with a nonce, and holds for that alone", async () => {
    for (const nonce of [
      "",
      "short",
      "a".repeat(65),
      `${"a".repeat(22)}"`,
      `${"a".repeat(22)},1]`,
      "ä".repeat(22),
      `${"a".repeat(22)}\n`,
    ])
      expect([nonce, (await get(nonce)).status]).toEqual([nonce, 400]);
    const nonce = randomBytes(24).toString("base64url");
    const answer = JSON.parse((await get(nonce)).text) as ReturnType<typeof signTime>;
    const trusted = certificatesOfBundle(hub.ca);
    expect(verifiedTime(answer, nonce, trusted)).toBe(answer.time);
    expect(verifiedTime(answer, "b".repeat(32), trusted)).toBeUndefined();
    expect(verifiedTime({ ...answer, nonce: "b".repeat(32) }, "b".repeat(32), trusted)).toBeUndefined();
    for (const time of [answer.time + 1, String(answer.time), answer.time + 0.5, Number.NaN])
      expect(verifiedTime({ ...answer, time }, nonce, trusted)).toBeUndefined();
    const [first] = answer.signatures;
    expect(verifiedTime({ ...answer, signatures: Array(11).fill(first) }, nonce, trusted)).toBeUndefined();
  });

  test("is signed by the CA, and nothing else that it signs is a time, nor a time a certificate", async () => {
    const nonce = "n".repeat(22);
    const answer = JSON.parse((await get(nonce)).text) as ReturnType<typeof signTime>;
    const [{ pin, signature } = { pin: "", signature: "" }] = answer.signatures;
    // Of a certificate that the CA has signed, or by its key over another text of the same parts.
    const [trusted] = certificatesOfBundle(hub.ca);
    const { key } = caOf("ca");
    const texts = [
      `["pratique time 1","${nonce}",${answer.time} ]`,
      `${nonce}${answer.time}`,
      JSON.stringify({ nonce, time: answer.time }),
    ];
    for (const text of texts) {
      const forged = {
        ...answer,
        signatures: [{ pin, signature: sign("sha256", Buffer.from(text), key).toString("base64") }],
      };
      expect(verifiedTime(forged, nonce, trusted === undefined ? [] : [trusted])).toBeUndefined();
    }
    // DER begins with a SEQUENCE; what is signed here never does.
    expect(Buffer.from(JSON.stringify(["pratique time 1", nonce, answer.time]))[0]).not.toBe(0x30);
    expect(signature.length).toBeLessThan(1024);
    expect(pin).toBe(trusted?.pin);
  });
});

peerSuite("kubectl", "an agent that is told of CAs", () => {
  interface Machine {
    readonly written: Map<string, string>;
    readonly events: unknown[];
    readonly act: () => Promise<void>;
  }

  function machine(trust: Trust): Machine {
    const written = new Map<string, string>();
    const events: unknown[] = [];
    const report: AgentReport = (event) => void events.push(event);
    const kubeconfig = `certificate-authority-data: ${Buffer.from(trust.caPem).toString("base64")}\n`;
    const files = {
      ca: "ca.crt",
      kubeconfig: "kubeconfig",
      read: () => Promise.resolve(trust),
      text: (path: string) => Promise.resolve(written.get(path) ?? (path === "ca.crt" ? trust.caPem : kubeconfig)),
      write: async (path: string, content: string) => void written.set(path, content),
    };
    const member = trustBundleManager({ files, clock: wallClock, fraction: () => 0, userAgent: "test", report });
    return { written, events, act: async () => void (await member.act(new AbortController().signal)) };
  }

  const clusterInfo = (server: string, caPem: string): string =>
    JSON.stringify({
      data: {
        kubeconfig: JSON.stringify({
          apiVersion: "v1",
          kind: "Config",
          clusters: [
            { name: "", cluster: { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") } },
          ],
          contexts: [],
          users: [],
        }),
      },
    });

  /** A server with a certificate of this CA that tells of those CAs; it keeps what it was sent. */
  async function middle(
    ca: CertificateAuthority,
    tells: string,
  ): Promise<{ readonly url: string; readonly heard: string[]; readonly close: () => void }> {
    const heard: string[] = [];
    const { cert, key } = clientOf(ca, { commonName: "localhost", usages: ["digital signature", "server auth"] });
    const server = createServer({ cert, key }, (request, response) => {
      heard.push(`${request.url} ${request.headers.authorization ?? ""}`);
      response.setHeader("content-type", "application/json");
      response.end(clusterInfo("https://x", tells));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      heard,
      close: () => void server.close(),
    };
  }

  test("believes nobody in the middle, and tells it nothing", async () => {
    const evil = createCa({ commonName: "pratique", key: generatePrivateKey(), now: Date.now(), years: 1, random });
    for (const tells of [evil.pem, `${hub.ca}${evil.pem}`]) {
      const server = await middle(evil, tells);
      const { written, act } = machine({ server: server.url, caPem: hub.ca, credentials: { token: "secret-token" } });
      await act();
      expect([[...written], server.heard]).toEqual([[], []]);
      server.close();
    }
  });

  test("asks as itself where nobody else may, and only then", async () => {
    await hub.close("keep");
    hub = await startTestHub({ clock, dir: hub.dir, anonymousAuth: false, users: { ops: ["system:masters"] } });
    const stranger = machine({ server: hub.url, caPem: hub.ca, credentials: { token: "unknown" } });
    const own = machine({ server: hub.url, caPem: hub.ca, credentials: { token: hub.token("ops") } });
    await take("prepare");
    const both = `${hub.ca}${pki("ca-2.crt")}`;
    await expect
      .poll(async () => (await hub.kubectl("get", "cm", "cluster-info", "-n", "kube-public", "-o", "yaml")).out)
      .toContain(Buffer.from(both).toString("base64"));
    await stranger.act();
    await own.act();
    expect(stranger.written.size).toBe(0);
    expect(own.written.get("ca.crt")).toBe(both);
  });

  test("keeps what it has where the hub tells of CAs by which it is not reached", async () => {
    const info = { data: { kubeconfig: "" } };
    const evil = createCa({ commonName: "other", key: generatePrivateKey(), now: Date.now(), years: 1, random });
    info.data.kubeconfig = (JSON.parse(clusterInfo(hub.url, evil.pem)) as typeof info).data.kubeconfig;
    const file = join(hub.dir, "patch.json");
    await writeFile(file, JSON.stringify(info));
    const { written, events, act } = machine({
      server: hub.url,
      caPem: hub.ca,
      credentials: { token: hub.token("ops") },
    });
    await expect.poll(async () => (await hub.kubectl("get", "cm", "cluster-info", "-n", "kube-public")).code).toBe(0);
    const patched = await hub.kubectl(
      "patch",
      "cm",
      "cluster-info",
      "-n",
      "kube-public",
      "--type=merge",
      "--patch-file",
      file,
    );
    expect(patched.err).toBe("");
    await act();
    expect([...written]).toEqual([]);
    expect(JSON.stringify(events)).not.toContain(hub.token("ops"));
  });
});

test("a state that somebody else has written never costs the hub its CA", async () => {
  const file = join(hub.dataDir, "pki", "ca-state.json");
  const errors = (): number => hub.log.filter(({ level }) => level === "error").length;
  const dial = masters(caOf("ca"));
  for (const text of [
    "",
    "{",
    "[]",
    "null",
    '{"signer":"../../x"}',
    '{"signer":"ca","next":"ca"}',
    '{"signer":"ca","__proto__":{}}',
    '{"signer":"ca-9"}',
  ]) {
    const before = errors();
    await writeFile(file, text);
    await wallClock.sleep(50);
    expect(errors()).toBeGreaterThanOrEqual(before);
    expect([text, (await ask(maps, { dial })).status]).toEqual([text, 200]);
  }
  await expect.poll(errors).toBeGreaterThan(0);
  await writeFile(file, '{"signer":"ca"}');
  expect((await readState(join(hub.dataDir, "pki"))).state).toEqual({ signer: "ca" });
  await take("prepare");
  expect(
    createHash("sha256")
      .update(await readFile(join(hub.dataDir, "pki", "ca-2.key")))
      .digest("hex"),
  ).toHaveLength(64);
  expect(JSON.stringify(hub.log)).not.toContain("PRIVATE KEY");
});
