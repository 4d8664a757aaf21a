import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fakeClock } from "../../test/kits/fake-clock.ts";
import { nodeAt, startFakeKubelet, type FakeKubelet } from "../../test/kits/fake-kubelet.ts";
import { eventually } from "../../test/kits/peers-process.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { AskKubelet, KubeletRequest } from "../apiserver/kubelet/kubelet.ts";
import { openAuthorities, type Authorities } from "../ca/ca-folder.ts";
import { kubeletClient, type KubeletClientOptions, kubeletCredential } from "./kubelet-client.ts";
import { systemRandom } from "../host/system-random.ts";

let dataDir: string;
let authorities: Authorities;
let kubelet: FakeKubelet;
let silent: Server;
const silentSockets = new Set<Socket>();

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "pratique-kubelet-"));
  authorities = await openAuthorities({
    dir: join(dataDir, "pki"),
    certFile: undefined,
    keyFile: undefined,
    now: Date.now(),
    random: systemRandom,
  });
  kubelet = await startFakeKubelet(dataDir);
  silent = createServer((socket) => {
    silentSockets.add(socket);
    socket.on("error", () => undefined);
  });
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
});

afterAll(async () => {
  await kubelet.close();
  for (const socket of silentSockets) socket.destroy();
  silent.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const clock = fakeClock(Date.now());

function client(options: Partial<KubeletClientOptions> = {}): AskKubelet {
  const credential = kubeletCredential(() => authorities, { now: () => Date.now(), random: systemRandom });
  const addressTypes = ["InternalIP", "Hostname"];
  const base = { addressTypes, certificateAuthorityFile: undefined, bindAddress: "127.0.0.1", credential, clock };
  return kubeletClient({ ...base, ...options });
}

function asked(node: object, more: Partial<KubeletRequest> = {}): KubeletRequest {
  const signal = new AbortController().signal;
  const plain = { method: "GET", path: "/healthz", headers: {}, isUpgrade: false, skipsVerification: false };
  return { node: node as ApiObject, ...plain, answerMs: 60_000, signal, ...more };
}

describe("a kubelet that is not there", () => {
  it("that never answers is given up after the time for answers", async () => {
    kubelet.answer = () => undefined;
    const seen = kubelet.seen.length;
    const failure = client()(asked(nodeAt("n1", kubelet.port))).catch((error: unknown) => error);
    await eventually("the request", async () => kubelet.seen.length > seen || undefined);
    await clock.advance(60_000);
    expect(String(await failure)).toContain("did not answer within 60 s");
    kubelet.answer = (_request, response) => void response.end("ok");
  });

  it("that never shakes hands is given up after 30 seconds", async () => {
    const { port } = silent.address() as AddressInfo;
    const failure = client()(asked(nodeAt("n1", port))).catch((error: unknown) => error);
    await eventually("the connection", async () => silentSockets.size > 0 || undefined);
    await clock.advance(30_000);
    expect(String(await failure)).toContain("did not complete the TLS handshake within 30 s");
  });

  it("or that has no address of the preferred types is told as kube-apiserver tells it", async () => {
    const external = { ...nodeAt("n1", 1), status: { addresses: [{ type: "ExternalIP", address: "192.0.2.1" }] } };
    await expect(client()(asked(external))).rejects.toThrow(
      "no preferred addresses found; known addresses: [ExternalIP=192.0.2.1]",
    );
  });

  it("is not waited for when the credential of the client is over", async () => {
    const ends = new AbortController();
    const { port } = silent.address() as AddressInfo;
    const failure = client()(asked(nodeAt("n1", port), { signal: ends.signal })).catch((error: unknown) => error);
    ends.abort();
    expect(String(await failure)).toContain("the connection was ended");
  });
});

describe("the serving certificate of a kubelet", () => {
  it("is verified with the CA that the hub was given, for the address of the Node", async () => {
    const verified = client({ certificateAuthorityFile: join(dataDir, "pki", "ca.crt") });
    expect(await verified(asked(nodeAt("n1", kubelet.port)))).toMatchObject({ status: 200 });
    const elsewhere = await startFakeKubelet(dataDir, { addresses: ["192.0.2.1"] });
    await expect(verified(asked(nodeAt("n1", elsewhere.port)))).rejects.toThrow("is not valid for that name");
    expect(await verified(asked(nodeAt("n1", elsewhere.port), { skipsVerification: true }))).toMatchObject({
      status: 200,
    });
    expect(await client()(asked(nodeAt("n1", elsewhere.port)))).toMatchObject({ status: 200 });
    await elsewhere.close();
  });

  it("of another CA is refused, and nothing was sent", async () => {
    const otherDir = mkdtempSync(join(tmpdir(), "pratique-other-"));
    const other = await openAuthorities({
      dir: join(otherDir, "pki"),
      certFile: undefined,
      keyFile: undefined,
      now: Date.now(),
      random: systemRandom,
    });
    const file = join(dataDir, "other.crt");
    writeFileSync(file, other.bundlePem);
    const seen = kubelet.seen.length;
    const verified = client({ certificateAuthorityFile: file });
    await expect(verified(asked(nodeAt("n1", kubelet.port)))).rejects.toThrow(
      "is not signed by the CA that is trusted",
    );
    expect(kubelet.seen).toHaveLength(seen);
    rmSync(otherDir, { recursive: true, force: true });
  });

  it("is not asked for where the file of the CA cannot be read", async () => {
    const missing = client({ certificateAuthorityFile: join(dataDir, "none.crt") });
    await expect(missing(asked(nodeAt("n1", kubelet.port)))).rejects.toThrow("--kubelet-certificate-authority");
  });
});
