import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeUserPrefix } from "../../src/apimachinery/user.ts";
import type { CertificateAuthority } from "../../src/pki/ca.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { timesOf } from "../../src/apis/credential-state.ts";
import type { IssuedCredential } from "../../src/apis/issued-credential.ts";
import { authorityIn, clientOf } from "../attack/attacked-hub.ts";
import { apiClient, type ApiClient, type KeyPair } from "../kits/api-client.ts";
import { certificateOf } from "../kits/cluster-stage.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { eventually } from "../kits/peers-process.ts";
import { pratiqueAs } from "../kits/pratique-as.ts";
import { reported, type Report } from "../kits/reports.ts";
import { skippingClock } from "../kits/skipping-clock.ts";

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const records = "/apis/access.pratique.dev/v1alpha1/issuedcredentials";
const kubeletSigner = "kubernetes.io/kube-apiserver-client-kubelet";
const clientSigner = "kubernetes.io/kube-apiserver-client";
const clock = skippingClock();
const clients: ApiClient[] = [];
let hub: TestHub;
let admin: ApiClient;
let authority: CertificateAuthority;

beforeAll(async () => {
  const users = { root: ["system:masters"] };
  hub = await startTestHub({ users, clock, clusterSigningDurationSeconds: 3600 });
  // By token: its time does not pass with the clock.
  admin = as({ token: hub.token("root") });
  authority = await authorityIn(hub.dataDir);
});

afterAll(async () => {
  for (const client of clients) client.close();
  await hub.close();
});

function as(who: Parameters<typeof apiClient>[1]): ApiClient {
  const client = apiClient(hub, who);
  clients.push(client);
  return client;
}

function told(
  controller: string,
  kind: "CertificateSigningRequest" | "IssuedCredential",
): (reason: Parameters<typeof reported>[1], name: string) => Promise<Report> {
  return (reason, name) => reported({ log: hub.log, read: admin }, reason, { controller, kind, name });
}

interface Wish {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly signerName?: string;
}

/** Sends a request and returns the key that it is for. */
async function requested(name: string, wish: Wish, who = admin): Promise<string> {
  const { commonName, organizations = [], signerName = clientSigner } = wish;
  const key = generatePrivateKey();
  const request = Buffer.from(createCsr({ key, commonName, organizations })).toString("base64");
  const spec = { request, signerName, usages: ["digital signature", "client auth"] };
  const reply = await who(requests, { method: "POST", body: { metadata: { name }, spec } });
  expect([reply.status, reply.text]).toEqual([201, expect.any(String)]);
  return exportSec1Pem(key);
}

/** The certificate of a request, once it is issued and in the record of its identity. */
async function issued(name: string, keyPem: string): Promise<KeyPair> {
  const certPem = await eventually(`the certificate of ${name}`, async () => {
    const text = certificateOf((await admin(`${requests}/${name}`)).json());
    return text === "" ? undefined : text;
  });
  await eventually("the record of it", async () => (await admin(records)).text.includes(`"csr/${name}"`) || undefined);
  return { certPem, keyPem };
}

async function recordOf(user: string): Promise<IssuedCredential> {
  const all = (await admin(records)).items() as readonly IssuedCredential[];
  const found = all.find(({ spec }) => spec.identity.username === user);
  if (found === undefined) throw new TypeError(`there is no record of ${user}`);
  return found;
}

/** Lets the part `part` of the life of the newest credential of a record pass. */
function skipTo(record: IssuedCredential, part: "window" | "late" | "end"): void {
  const times = timesOf(record.status?.issued?.at(-1) ?? {});
  if (times === undefined) throw new TypeError("no times");
  const at = { window: times.windowFrom + 60_000, late: times.windowTo + 1000, end: times.end + 1000 }[part];
  clock.skip(at - clock.now());
}

describe("a request that its signer would refuse", () => {
  it("is reported before it is approved, and once it has failed", async () => {
    const organizations = ["system:nodes", "more"];
    await requested("odd", { commonName: "system:node:odd", organizations, signerName: kubeletSigner });
    const before = await told("csrapproving", "CertificateSigningRequest")("RequestNotRecognized", "odd");
    expect(before.event.message).toContain("subject organization is not system:nodes; deny it");
    expect((await pratiqueAs(hub, "root", ["approve", "csr/odd"])).code).toBe(0);
    const { lines, event } = await told("csrdecisions", "CertificateSigningRequest")("CertificateFailed", "odd");
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      message: expect.stringMatching(/^certificate request failed: \S/) as unknown,
      user: "signer",
      requester: "root",
      signer: kubeletSigner,
      why: "SignerValidationFailure",
    });
    expect(event).toMatchObject({ type: "Warning", count: 1 });
  });
});

describe("a credential that is not renewed", () => {
  const member = told("credential-keeper", "IssuedCredential");

  async function given(user: string): Promise<{ readonly pair: KeyPair; readonly record: IssuedCredential }> {
    const key = await requested(user, { commonName: user });
    expect((await pratiqueAs(hub, "root", ["approve", `csr/${user}`])).code).toBe(0);
    return { pair: await issued(user, key), record: await recordOf(user) };
  }

  it("of a holder that was seen is reported when its renewal is late and when it has expired, once each", async () => {
    const { pair, record } = await given("carol");
    const end = record.status?.issued?.[0]?.notAfter ?? "";
    const { name = "" } = record.metadata;
    skipTo(record, "window");
    expect((await as(pair)("/version")).status).toBe(200);
    skipTo(record, "late");
    const late = await member("CredentialExpiring", name);
    expect(late.lines).toHaveLength(1);
    expect(late.lines[0]?.message).toBe(`The client credential of carol ends at ${end}: it has not been renewed.`);
    skipTo(record, "end");
    const over = await member("CredentialExpired", name);
    expect(over.lines).toHaveLength(1);
    expect(over.lines[0]).toMatchObject({
      user: "carol",
      message: `The client credential of carol ended at ${end}: it has not been renewed.`,
    });
    expect(over.event).toMatchObject({ type: "Warning", count: 1 });
  });

  it("of a holder that was not seen says so", async () => {
    const { record } = await given("dave");
    const { name = "" } = record.metadata;
    skipTo(record, "late");
    const unseen = await member("CredentialUnseen", name);
    expect(unseen.lines).toHaveLength(1);
    expect(unseen.event.message).toContain("it was not seen within its renewal window, last seen: never");
    skipTo(record, "end");
    expect((await member("CredentialExpired", name)).lines).toHaveLength(1);
  });
});

describe("a credential that two machines hold", () => {
  it("is reported once, with who is locked out, and the request that showed it is marked", async () => {
    const user = `${nodeUserPrefix}twice`;
    const organizations = ["system:nodes"];
    const wish = { commonName: user, organizations, signerName: kubeletSigner };
    const first = clientOf(authority, { commonName: user, organizations, notAfter: clock.now() + 3_600_000 });
    const machine = as({ certPem: first.cert ?? "", keyPem: first.key ?? "" });
    const one = await issued("twice-1", await requested("twice-1", wish, machine));
    const other = await issued("twice-2", await requested("twice-2", wish, as(one)));
    expect((await as(other)("/version")).status).toBe(200);
    // Within a minute programs of one machine may still speak by the one before.
    clock.skip(120_000);
    await requested("twice-3", wish, as(one));
    const record = (await recordOf(user)).metadata.name ?? "";
    const { lines, event } = await told("clone-lock", "IssuedCredential")("CredentialCloned", record);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ user, fingerprint: expect.stringMatching(/^SHA256:/) as unknown });
    expect(event).toMatchObject({ type: "Warning", count: 1, involvedObject: { kind: "IssuedCredential" } });
    expect(event.message).toContain("Both are locked out: let the right machine join again with a new key.");
    for (const pair of [one, other]) expect((await as(pair)("/version")).status).toBe(401);
  });
});
