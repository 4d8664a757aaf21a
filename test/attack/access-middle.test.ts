import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { requestAccess } from "../../src/agent/access/request-access.ts";
import type { JoinEvent } from "../../src/agent/join/join-event.ts";
import { issueOwn } from "../../src/ca/hub-certificates.ts";
import { createCa, type CertificateAuthority } from "../../src/pki/ca.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { parseSshPublicKey, sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { sealBinding, type AccessRequest } from "../../src/apis/access-request.ts";
import { pairingWords, sameWords } from "../../src/trust/pairing-words.ts";
import { certificatesOfBundle } from "../../src/trust/pins.ts";
import { provePossession } from "../../src/trust/possession.ts";
import { openAnswer, sealAnswer } from "../../src/trust/seal.ts";
import { machineKeys, startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import { hastyClock } from "../kits/hasty-clock.ts";

/** What somebody who stands between does to what passes; nothing of it is passed on unchanged by force. */
interface Meddling {
  readonly asked?: (request: AccessRequest) => AccessRequest;
  readonly answered?: (request: AccessRequest, method: string) => AccessRequest | Promise<AccessRequest>;
  /** Shows the hub's own CA in cluster-info, and not that of the one between. */
  readonly honestInfo?: boolean;
}

interface Middle {
  readonly url: string;
  readonly pin: string;
  /** What was asked for through it. */
  readonly seen: readonly string[];
}

let stage: AccessStage;
let hubPin: string;
let attacker: CertificateAuthority;
const random = (size: number): Uint8Array => randomBytes(size);
const thief = machineKeys.p256;
const thiefKey = sshPublicKeyOf(thief.publicKey);

beforeAll(async () => {
  const accessRequests = { perAddress: 10_000, inAll: 10_000, pending: 10_000 };
  stage = await startAccessStage({ accessRequests });
  hubPin = certificatesOfBundle(stage.hub.ca)[0]?.pin ?? "";
  // Of the same name as the hub's own: only its key tells them apart.
  attacker = createCa({ commonName: "kubernetes", key: generatePrivateKey(), now: Date.now(), years: 1, random });
});
afterAll(() => stage.close());

/** Ends TLS with a certificate of its own CA, and passes on to the hub what it likes. */
async function between({ asked, answered, honestInfo = false }: Meddling): Promise<Middle> {
  const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  const wanted = { commonName: "kube-apiserver", organizations: [], ...names, usage: "server auth" } as const;
  const pair = issueOwn(attacker, wanted, { now: Date.now(), random });
  const seen: string[] = [];
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const server = createServer({ cert: pair.certPem, key: pair.keyPem }, (message, response) => {
    void (async () => {
      const { method = "GET", url = "" } = message;
      seen.push(`${method} ${url.split("?")[0]}`);
      const chunks: Buffer[] = [];
      for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      const own = url.includes("/accessrequests");
      const body =
        text === "" || !own || asked === undefined ? text : JSON.stringify(asked(JSON.parse(text) as AccessRequest));
      const reply = await stage.nobody(url, { method, ...(body === "" ? {} : { body, type: "application/json" }) });
      let shown = honestInfo ? reply.text : reply.text.replaceAll(base64(stage.hub.ca), base64(attacker.pem));
      if (own && reply.status < 300 && answered !== undefined) {
        shown = JSON.stringify(await answered(JSON.parse(shown) as AccessRequest, method));
      }
      response.writeHead(reply.status, { "content-type": "application/json" }).end(shown);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const pin = certificatesOfBundle(attacker.pem)[0]?.pin ?? "";
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, pin, seen };
}

interface Machine {
  /** How it ended: `granted`, or the code of its error. */
  readonly end: Promise<string>;
  readonly said: readonly JoinEvent[];
  /** The words that it shows, once it has asked. */
  readonly words: Promise<readonly string[]>;
  readonly files: () => Promise<readonly string[]>;
}

async function machine(url: string, name: string, pins: readonly string[] = []): Promise<Machine> {
  const dir = await mkdtemp(join(stage.hub.dir, "machine-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const said: JoinEvent[] = [];
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  let notify: (words: readonly string[]) => void;
  const words = new Promise<readonly string[]>((resolve) => (notify = resolve));
  const options = {
    endpoint: url,
    pins,
    name,
    hostname: name,
    dir,
    waitMs: 1e9,
    discoveryTimeoutMs: 10_000,
    clock: hastyClock(),
    random,
    signal: stop.signal,
    userAgent: "test",
  };
  const end = requestAccess(options, (event) => {
    said.push(event);
    if (event.kind === "access-asked") notify(event.words);
  }).then(
    () => "granted",
    (error: unknown) =>
      error instanceof Error && "code" in error ? `${String(error.code)}: ${error.message}` : String(error),
  );
  return { end, said, words, files: async () => (await readdir(dir)).toSorted() };
}

const stored = async (name: string): Promise<AccessRequest> =>
  (await stage.admin(`${stage.requests}/${name}`)).object() as unknown as AccessRequest;

/** What `pratique approve --words` compares with: the key that the hub holds, the CA that the approver trusts. */
async function approverWords(name: string): Promise<readonly string[]> {
  const request = await stored(name);
  const { fingerprint } = parseSshPublicKey(request.spec.pubKey);
  return pairingWords({ name, uid: request.metadata.uid ?? "", fingerprint, caPin: hubPin });
}

async function agree(name: string, { words }: Machine): Promise<boolean> {
  const shown = (await words).join(" ");
  return sameWords(await approverWords(name), shown);
}

/** Without the proof, which an attacker cannot make for another CA. */
function unproven(request: AccessRequest): AccessRequest {
  const { proof: _proof, ...spec } = request.spec;
  return { ...request, spec };
}

const keys = ["key.pem", "request.json"];

describe("nobody in the middle", () => {
  it.each([
    ["with the pin", () => [hubPin]],
    ["without one", () => []],
  ])("the words agree and the answer is taken, %s", async (how, pins) => {
    const name = how === "with the pin" ? "plain-1" : "plain-2";
    const asking = await machine(stage.hub.url, name, pins());
    expect(await agree(name, asking)).toBe(true);
    await stage.decide(name, { accepted: true, wordsCompared: true });
    expect(await asking.end).toBe("granted");
    expect((await stored(name)).status?.evidence?.possession).toBe("Proven");
  });
});

describe("somebody in the middle of a machine that knows the pin", () => {
  it.each([
    ["shows a CA of their own", false, /^pin-mismatch/],
    ["shows the hub's CA", true, /^(?!granted)/],
  ])("who %s is found out before anything is asked", async (_what, honestInfo, end) => {
    const middle = await between({ honestInfo });
    const asking = await machine(middle.url, "pinned", [hubPin]);
    expect(await asking.end).toMatch(end);
    expect(middle.seen.filter((one) => one.includes("accessrequests"))).toEqual([]);
    expect(await asking.files()).toEqual(["key.pem"]);
  });
});

describe("somebody in the middle of a machine without a pin", () => {
  it("who puts a key of their own in its place is given away by the words", async () => {
    const name = "swapped";
    const facts = { name, fingerprint: thiefKey.fingerprint, caPin: hubPin };
    const middle = await between({
      asked: (request) => ({
        ...request,
        spec: {
          ...request.spec,
          pubKey: thiefKey.text,
          // A good proof, since it is of the attacker's own key: a proof says who holds the key, and not whose machine that is.
          proof: provePossession(thief.privateKey, "p256", facts),
        },
      }),
    });
    const asking = await machine(middle.url, name);
    await asking.words;
    const request = await stage.until(name, ({ status }) => status?.evidence?.possession !== undefined);
    expect(request.status?.evidence?.possession).toBe("Proven");
    expect(request.status?.fingerprint).toBe(thiefKey.fingerprint);
    expect(await agree(name, asking)).toBe(false);
    await stage.decide(name, { denied: true, reason: "the words differ" });
    expect(await asking.end).toMatch(/^denied/);
    expect(await asking.files()).toEqual(keys);
  });

  it("who shows the machine another uid, so that words may be looked for, is given away by the words", async () => {
    const name = "renumbered";
    const middle = await between({
      asked: unproven,
      answered: (request) => ({
        ...request,
        metadata: { ...request.metadata, uid: "00000000-0000-0000-0000-000000000000" },
      }),
    });
    const asking = await machine(middle.url, name);
    expect(await agree(name, asking)).toBe(false);
  });

  it("who passes everything on but the CA is refused by the hub: the proof speaks of another CA", async () => {
    const asking = await machine((await between({})).url, "passed");
    expect(await asking.end).toMatch(/^forbidden: .*its connection to this API was intercepted/);
    expect((await stage.admin(`${stage.requests}/passed`)).status).toBe(404);
  });

  it("who takes the proof away is told from the machine by the words, and by the CA in the answer", async () => {
    const name = "unproven";
    const middle = await between({ asked: unproven });
    const asking = await machine(middle.url, name);
    expect(await agree(name, asking)).toBe(false);
    // Even approved without a look at the words.
    await stage.decide(name, { accepted: true });
    expect(await asking.end).toMatch(/^pin-mismatch: the CA in the sealed answer is not the one/);
    expect(await asking.files()).toEqual(keys);
    expect((await stored(name)).status).toMatchObject({
      evidence: { possession: "Unproven" },
      decisions: [{ words: "NotCompared" }],
    });
  });

  it.each([
    ["another name", /^bad-certificate/, (request: AccessRequest) => ({ name: `${request.metadata.name}-other` })],
    ["another uid later on", /^deleted/, () => ({ uid: "00000000-0000-0000-0000-000000000001" })],
  ])("who changes the reply to %s hands over nothing", async (what, end, changed) => {
    const name = `relabelled-${what.length}`;
    const middle = await between({
      asked: unproven,
      answered: (request, method) =>
        method === "POST" ? request : { ...request, metadata: { ...request.metadata, ...changed(request) } },
    });
    const asking = await machine(middle.url, name);
    await asking.words;
    await stage.decide(name, { accepted: true });
    expect(await asking.end).toMatch(end);
    expect(await asking.files()).toEqual(keys);
  });

  it("who changes what is sealed is found out by the seal", async () => {
    const name = "altered";
    const middle = await between({
      asked: unproven,
      answered: (request) => {
        const { ca } = request.status ?? {};
        if (ca === undefined) return request;
        const bytes = Buffer.from(ca, "base64");
        bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40);
        return { ...request, status: { ...request.status, ca: bytes.toString("base64") } };
      },
    });
    const asking = await machine(middle.url, name);
    await asking.words;
    await stage.decide(name, { accepted: true });
    expect(await asking.end).toMatch(/^bad-certificate: .*the sealed CA was changed/);
  });

  it("who makes up an answer gets no token of the hub, and the words have told so", async () => {
    const name = "made-up";
    const middle = await between({
      asked: unproven,
      answered: async (request, method) => {
        if (method === "POST") return request;
        const key = parseSshPublicKey(request.spec.pubKey);
        const answer = { token: "made-up", ca: attacker.pem };
        const { seal: _seal, ...sealed } = await sealAnswer(key, answer, { binding: sealBinding(request), random });
        return { ...request, status: { ...request.status, ready: true, ...sealed } };
      },
    });
    const asking = await machine(middle.url, name);
    // Anybody can seal to a public key: without pin and words a machine belongs to whoever answers first.
    expect(await asking.end).toBe("granted");
    expect(asking.said).toContainEqual(expect.objectContaining({ kind: "access-asked", vouchedBy: "nobody" }));
    expect(await agree(name, asking)).toBe(false);
    expect((await stage.as("made-up")("/api/v1/namespaces/vms/pods")).status).toBe(401);
    expect((await stored(name)).status?.accepted).toBeUndefined();
  });
});

it("a sealed answer is for one machine: the one in the middle reads nothing of it", async () => {
  const { request } = await stage.let("sealed");
  const { key = "", token = "", ca = "" } = request.status ?? {};
  const kinds = ["rsa", "ed25519"] as const;
  for (const kind of kinds) {
    const opening = openAnswer({ kind, key: machineKeys[kind].privateKey }, { key, token, ca }, sealBinding(request));
    await expect(opening).rejects.toThrow("not sealed to this key");
  }
});
