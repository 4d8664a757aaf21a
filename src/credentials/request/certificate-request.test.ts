import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { clientCertificate, startFakeHub, type FakeHub, type StoredRequest } from "../../../test/kits/fake-hub.ts";
import { hastyClock } from "../../../test/kits/hasty-clock.ts";
import { failureOf, testToken } from "../../../test/kits/join-bench.ts";
import { remoteClient, type RemoteClient } from "../../client/remote.ts";
import { createCsr, parseCsr } from "../../pki/csr.ts";
import { generatePrivateKey, keyFingerprint, spkiOf } from "../../pki/keys.ts";
import { formatToken } from "../../trust/token.ts";
import type { NodeKey } from "./node-identity.ts";
import { nodeRequest, type NodeRequest } from "./certificate-request.ts";

let hub: FakeHub;
let client: RemoteClient;
const key = nodeKeyOf();
const usages = ["digital signature", "client auth"];

beforeEach(async () => {
  hub = await startFakeHub({ tokens: [testToken] });
  const token = formatToken(testToken);
  const clock = hastyClock();
  client = remoteClient({ server: hub.url, caPem: hub.ca.pem, token, userAgent: "t", timeoutMs: 60_000, clock });
});

afterEach(async () => {
  client.close();
  await hub.close();
});

function nodeKeyOf(): NodeKey {
  const own = generatePrivateKey();
  const spki = spkiOf(own);
  return { key: own, spki, fingerprint: keyFingerprint(spki), reused: false };
}

const ask = (): Promise<NodeRequest> => nodeRequest(client, { nodeName: "n1", key, usages, now: Date.now() });

async function changed(change: Partial<StoredRequest>): Promise<string> {
  const { name } = await ask();
  const stored = hub.requests.get(name);
  if (stored === undefined) throw new TypeError("no request");
  hub.requests.set(name, { ...stored, ...change });
  const error = await failureOf(ask());
  expect(error.code).toBe("csr-conflict");
  expect(error.message).toContain(`delete it with \`kubectl delete csr ${name}\`, or join with --force`);
  return error.message;
}

const encoded = (pem: string): string => Buffer.from(pem).toString("base64");
const csr = (commonName: string, organizations: readonly string[], by: NodeKey = key): string =>
  encoded(createCsr({ key: by.key, commonName, organizations }));

describe("a request for a node's certificate", () => {
  test("names the node, carries the key, and asks for nothing else", async () => {
    const { name, uid, found } = await ask();
    const stored = hub.requests.get(name);
    expect({ uid, found }).toEqual({ uid: stored?.uid, found: false });
    const parsed = parseCsr(Buffer.from(stored?.request ?? "", "base64"));
    expect(parsed.subject).toEqual({ commonName: "system:node:n1", organizations: ["system:nodes"] });
    expect(Buffer.from(parsed.spki)).toEqual(Buffer.from(key.spki));
    expect(parsed.requestedExtensions).toEqual([]);
  });

  test("is found again by the same key, however often", async () => {
    const { name, uid } = await ask();
    expect(await ask()).toEqual({ name, uid, found: true });
    hub.issue(name);
    expect(await ask()).toEqual({ name, uid, found: true });
    expect(hub.requests.size).toBe(1);
  });

  test.each([
    ["another signer", { signerName: "kubernetes.io/kube-apiserver-client" }, "it asks another signer"],
    ["another key", { request: csr("system:node:n1", ["system:nodes"], nodeKeyOf()) }, "it is for another key"],
    ["another node", { request: csr("system:node:n2", ["system:nodes"]) }, "it is for another subject"],
    ["another group", { request: csr("system:node:n1", ["system:masters"]) }, "it is for another subject"],
    ["one group more", { request: csr("system:node:n1", ["system:nodes", "a"]) }, "it is for another subject"],
    ["nothing readable", { request: encoded("nonsense") }, "it cannot be read"],
  ])("csr-conflict: is not taken for ours with %s", async (_, change, why) => {
    expect(await changed(change)).toContain(`cannot be used again: ${why};`);
  });

  test("csr-conflict: is of no use when its certificate has expired", async () => {
    const rawSubject = parseCsr(Buffer.from(csr("system:node:n1", ["system:nodes"]), "base64")).rawSubject;
    const old = clientCertificate(hub.ca, { rawSubject, spki: key.spki }, { fromMs: -60_000, toMs: -1000 });
    expect(await changed({ certificate: old })).toContain("its certificate has expired");
  });
});
