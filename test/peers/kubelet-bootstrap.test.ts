import { X509Certificate } from "node:crypto";
import { readdir, readlink, stat } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeHub } from "../kits/fake-hub.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { machine, type Machine } from "../kits/peers-kubelet.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { requestOf, requests, tokenOn, whoami } from "../kits/peers-cluster.ts";

const limitMs = 180_000;

peerSuite(["kubelet", "kubectl"], "a real kubelet and a hub that approves nodes by itself", () => {
  let hub: TestHub;
  let token: string;
  let pratique: PratiqueProgram;

  beforeAll(async () => {
    [hub, pratique] = await Promise.all([startTestHub(), pratiqueProgram()]);
    token = await tokenOn(hub.kubectl);
  });

  afterAll(async () => {
    await Promise.all([hub?.close(), pratique?.remove()]);
  });

  /** Lets the agent join in the kubelet's place. */
  async function joinBy(host: Machine): Promise<void> {
    const { code, printed } = await pratique.start(["join", `127.0.0.1:${hub.port}`], {
      token,
      "discovery-token-ca-cert-hash": hub.hub.caPin,
      "node-name": host.node,
      "cert-dir": host.certDir,
      kubeconfig: host.kubeconfig,
    }).done;
    expect([code, printed]).toEqual([0, printed]);
  }

  const machineOf = (node: string): Machine => machine({ node, server: hub.url, ca: hub.ca, token, within: hub.dir });

  const bootstraps = [
    { node: "bare", how: "before anything else", flags: [] },
    { node: "rotating", how: "in the background, with --rotate-certificates", flags: ["--rotate-certificates"] },
  ];

  test.each(bootstraps)("the kubelet gets its certificate: $how", { timeout: limitMs }, async ({ node, flags }) => {
    const host = machineOf(node);
    const kubelet = host.start(...flags);
    const { certificate, keyFits } = await host.credentialOf(kubelet);
    expect(keyFits).toBe(true);
    const ca = new X509Certificate(hub.ca);
    expect(certificate.checkIssued(ca) && certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.subject).toBe(`O=system:nodes\nCN=system:node:${node}`);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
    expect(await readlink(host.credential)).toMatch(/\/kubelet-client-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.pem$/);
    expect((await stat(host.credential)).mode & 0o777).toBe(0o600);
    await kubelet.stop();
    expect(await whoami(hub.kubectl.with({ kubeconfig: host.kubeconfig }))).toEqual({
      username: `system:node:${node}`,
      groups: expect.arrayContaining(["system:nodes", "system:authenticated"]) as unknown,
      extra: expect.anything() as unknown,
    });
  });

  test(
    "its request is seen as approved and issued, for whom and by what it was asked",
    { timeout: limitMs },
    async () => {
      const host = machineOf("seen");
      await host.credentialOf(host.start());
      const { name, spec, status } = await requestOf(hub.kubectl, "seen");
      expect(spec).toMatchObject({
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        username: `system:bootstrap:${token.slice(0, 6)}`,
        groups: expect.arrayContaining([
          "system:bootstrappers",
          "system:bootstrappers:kubeadm:default-node-token",
          "system:authenticated",
        ]) as unknown,
        usages: expect.arrayContaining(["digital signature", "client auth"]) as unknown,
      });
      expect(status?.conditions).toEqual([
        expect.objectContaining({
          type: "Approved",
          status: "True",
          reason: "AutoApproved",
          message: "Auto approving kubelet client certificate after SubjectAccessReview.",
        }),
      ]);
      expect(await hub.kubectl.ok("get", "csr", name)).toMatch(
        /^(?:node-)?csr-\S+ +\S+ +kubernetes\.io\/kube-apiserver-client-kubelet +system:bootstrap:\S+ +<none> +Approved,Issued$/m,
      );
      expect(await hub.kubectl.ok("describe", "csr", name)).toMatch(/Status:\s+Approved,Issued/);
    },
  );

  test("a kubelet that starts again goes on with what it has", { timeout: limitMs }, async () => {
    const host = machineOf("again");
    const first = host.start();
    const { certificate } = await host.credentialOf(first);
    await first.stop();
    const before = (await requests(hub.kubectl)).length;
    const second = host.start();
    await second.until(/exists and is valid, skipping bootstrap/);
    await second.stop();
    expect((await host.credentialNow()).certificate.fingerprint256).toBe(certificate.fingerprint256);
    expect((await requests(hub.kubectl)).length).toBe(before);
    expect(await readdir(host.certDir)).not.toContain("kubelet-client.key.tmp");
  });

  const takeovers = [
    { node: "adopted", flags: [], says: /exists and is valid, skipping bootstrap/ },
    {
      node: "adopted-rotating",
      flags: ["--rotate-certificates"],
      says: /Loading cert\/key pair from ".*\/kubelet-client-current\.pem"[^]*rotation deadline is/,
    },
  ];

  test.each(takeovers)(
    "a kubelet goes on with what pratique join laid down: $node",
    { timeout: limitMs },
    async (one) => {
      const host = machineOf(one.node);
      await joinBy(host);
      const { certificate } = await host.credentialNow();
      const before = (await requests(hub.kubectl)).length;
      const kubelet = host.start(...one.flags);
      await kubelet.until(one.says);
      await kubelet.stop();
      expect((await host.credentialNow()).certificate.fingerprint256).toBe(certificate.fingerprint256);
      expect((await requests(hub.kubectl)).length).toBe(before);
    },
  );

  test("a token that the hub does not know gets no request in", { timeout: limitMs }, async () => {
    const before = (await requests(hub.kubectl)).length;
    const stranger = machine({
      node: "stranger",
      server: hub.url,
      ca: hub.ca,
      token: `${token.slice(0, 7)}0000000000000000`,
      within: hub.dir,
    });
    const kubelet = stranger.start();
    await kubelet.until(/Failed to connect to apiserver: the server has asked for the client to provide credentials/);
    await kubelet.stop();
    expect((await requests(hub.kubectl)).length).toBe(before);
    expect(await readdir(stranger.certDir)).not.toContain("kubelet-client-current.pem");
  });

  test("a kubelet refuses a hub with another CA before it tells its token", { timeout: limitMs }, async () => {
    const impostor = await startFakeHub();
    try {
      const misled = machine({ node: "misled", server: impostor.url, ca: hub.ca, token, within: hub.dir });
      const kubelet = misled.start();
      await kubelet.until(/x509: certificate signed by unknown authority/);
      await kubelet.stop();
      expect(impostor.seen).toEqual([]);
      expect(await readdir(misled.certDir)).not.toContain("kubelet-client-current.pem");
    } finally {
      await impostor.close();
    }
  });
});
