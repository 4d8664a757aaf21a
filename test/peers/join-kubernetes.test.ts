import { X509Certificate } from "node:crypto";
import { mkdtemp, readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { startKubernetes, kubePrograms, type Kubernetes } from "../kits/peers-kube.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { peerSuite } from "../kits/peers.ts";
import { requestOf, requests } from "../kits/peers-cluster.ts";
import { eventually, runPeer, type PeerProcess } from "../kits/peers-process.ts";

const limitMs = 180_000;

peerSuite(kubePrograms, "pratique and a real control plane", () => {
  let kube: Kubernetes;
  let pratique: PratiqueProgram;

  beforeAll(async () => {
    [kube, pratique] = await Promise.all([startKubernetes(), pratiqueProgram()]);
    await eventually("the token's signature", async () => (await clusterInfo())["jws-kubeconfig-abcdef"]);
  }, 240_000);

  afterAll(async () => {
    await Promise.all([kube?.stop(), pratique?.remove()]);
  });

  async function clusterInfo(): Promise<Readonly<Record<string, string>>> {
    const map = await kube.kubectl.json("-n", "kube-public", "get", "configmap", "cluster-info");
    return map["data"] as Readonly<Record<string, string>>;
  }

  interface Newcomer {
    readonly certDir: string;
    readonly kubeconfig: string;
    start(args: readonly string[], flags?: Readonly<Record<string, string>>): PeerProcess;
  }

  async function newcomer(node: string): Promise<Newcomer> {
    const dir = await mkdtemp(join(kube.dir, `${node}-`));
    const [certDir, kubeconfig] = [join(dir, "pki"), join(dir, "kubelet.conf")];
    onTestFailed(() => {
      process.stderr.write(kube.printed().slice(-4000));
    });
    const own = { "node-name": node, "cert-dir": certDir, kubeconfig };
    return {
      certDir,
      kubeconfig,
      start: (args, flags = {}) => pratique.start(["join", ...args], { ...own, ...flags }),
    };
  }

  const byToken = (): Readonly<Record<string, string>> => ({
    token: kube.token,
    "discovery-token-ca-cert-hash": kube.pin,
  });

  const operator = (...words: readonly string[]): PeerProcess => pratique.start(words, { kubeconfig: kube.kubeconfig });

  test("a machine joins by token and pin, and is the node it said it is", { timeout: limitMs }, async () => {
    const host = await newcomer("e1");
    const { code, printed } = await host.start([kube.endpoint], byToken()).done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
    const credential = join(host.certDir, "kubelet-client-current.pem");
    expect(await readlink(credential)).toMatch(/kubelet-client-\d{4}(?:-\d\d){5}\.pem$/);
    const certificate = new X509Certificate(await readFile(credential));
    const ca = new X509Certificate(kube.ca);
    expect(certificate.checkIssued(ca) && certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.subject).toBe("O=system:nodes\nCN=system:node:e1");

    const asNode = kube.kubectl.with({ kubeconfig: host.kubeconfig });
    expect(await asNode.ok("auth", "can-i", "create", "nodes")).toBe("yes\n");
    expect((await asNode("auth", "can-i", "list", "secrets", "-A")).out).toMatch(/^no\b/);
    const node = (name: string): string => JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name } });
    await asNode.with({ input: node("e1") }).ok("create", "-f", "-");
    expect((await asNode.with({ input: node("e2") })("create", "-f", "-")).err).toMatch(
      /node "e1" is not allowed to modify node "e2"/,
    );
  });

  test("its request is one that Kubernetes approves and issues by itself", { timeout: limitMs }, async () => {
    const host = await newcomer("seen");
    expect((await host.start([kube.endpoint], byToken()).done).code).toBe(0);
    const { name, spec, status } = await requestOf(kube.kubectl, "seen");
    expect(spec).toMatchObject({
      signerName: "kubernetes.io/kube-apiserver-client-kubelet",
      username: "system:bootstrap:abcdef",
    });
    expect(status?.conditions).toEqual([expect.objectContaining({ type: "Approved", reason: "AutoApproved" })]);
    expect(await kube.kubectl.ok("get", "csr", name)).toMatch(/Approved,Issued/);
  });

  test("a second join changes nothing", { timeout: limitMs }, async () => {
    const host = await newcomer("twice");
    expect((await host.start([kube.endpoint], byToken()).done).code).toBe(0);
    const before = (await requests(kube.kubectl)).length;
    const { code, printed } = await host.start([kube.endpoint], byToken()).done;
    expect([code, printed]).toEqual([0, expect.stringContaining("had joined already")]);
    expect((await requests(kube.kubectl)).length).toBe(before);
  });

  test("a machine joins by a discovery file", { timeout: limitMs }, async () => {
    const host = await newcomer("by-file");
    const { kubeconfig = "" } = await clusterInfo();
    const file = join(kube.dir, "discovery.conf");
    await writeFile(file, kubeconfig, { mode: 0o600 });
    const { code, printed } = await host.start([], { "discovery-file": file, token: kube.token }).done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
  });

  test("a machine joins by a bootstrap kubeconfig", { timeout: limitMs }, async () => {
    const host = await newcomer("by-bootstrap");
    const file = join(kube.dir, "bootstrap.conf");
    await writeFile(file, bootstrapKubeconfig({ server: kube.url, ca: { pem: kube.ca }, token: kube.token }));
    const { code, printed } = await host.start([], { "bootstrap-kubeconfig": file }).done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
    expect(await kube.kubectl.with({ kubeconfig: host.kubeconfig }).ok("auth", "can-i", "create", "nodes")).toBe(
      "yes\n",
    );
  });

  test("a wrong pin, a wrong secret and an unknown token end it before any request", { timeout: limitMs }, async () => {
    const wrong = [
      { flags: { "discovery-token-ca-cert-hash": `sha256:${"0".repeat(64)}` }, code: 3, says: kube.pin },
      { flags: { token: "abcdef.0000000000000000" }, code: 4, says: "its signature does not fit" },
      { flags: { token: "nosuch.0123456789abcdef", "discovery-timeout": "2s" }, code: 4, says: "nosuch" },
    ];
    for (const { flags, code, says } of wrong) {
      const host = await newcomer("wrong");
      const end = await host.start([kube.endpoint], { ...byToken(), ...flags }).done;
      expect([end.code, end.printed]).toEqual([code, expect.stringContaining(says)]);
      expect(await readdir(host.certDir)).not.toContain("kubelet-client-current.pem");
    }
    expect((await requests(kube.kubectl)).filter(({ commonName }) => commonName === "system:node:wrong")).toEqual([]);
  });

  test("tokens are made, listed and deleted there", { timeout: limitMs }, async () => {
    const made = await operator("token", "create", "--description=by pratique", "--ttl=1h").done;
    const token = /^[a-z0-9]{6}\.[a-z0-9]{16}$/m.exec(made.printed)?.[0] ?? made.printed;
    expect((await operator("token", "list").done).printed).toMatch(new RegExp(`${token.slice(0, 6)}.*by pratique`));
    const listed = await runPeer("kubeadm", ["token", "list", "--kubeconfig", kube.kubeconfig], { home: kube.dir });
    expect(listed.printed).toMatch(
      new RegExp(`^${token}.*by pratique +system:bootstrappers:kubeadm:default-node-token`, "m"),
    );
    const host = await newcomer("by-new-token");
    const { code, printed } = await host.start([kube.endpoint], { ...byToken(), token }).done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
    expect((await operator("token", "delete", token.slice(0, 6)).done).code).toBe(0);
    expect(
      (await kube.kubectl("-n", "kube-system", "get", "secret", `bootstrap-token-${token.slice(0, 6)}`)).err,
    ).toMatch(/not found/);
  });

  test("without automatic approval a machine waits until pratique approves it", { timeout: limitMs }, async () => {
    await kube.kubectl.ok("delete", "clusterrolebinding", "kubeadm:node-autoapprove-bootstrap");
    const host = await newcomer("patient");
    const joining = host.start([kube.endpoint], byToken());
    await joining.until(/waiting for approval/);
    const { name, status } = await requestOf(kube.kubectl, "patient");
    expect(status?.conditions ?? []).toEqual([]);
    const pending = (await operator("pending").done).printed;
    expect(pending).toContain(name);
    expect(pending).toContain("system:node:patient");
    const [fingerprint = "-"] = /SHA256:\S+|[0-9a-f]{2}(?::[0-9a-f]{2})+/i.exec(joining.printed()) ?? [];
    expect(pending).toContain(fingerprint);
    expect((await operator("approve", `csr/${name}`).done).code).toBe(0);
    const { code, printed } = await joining.done;
    expect([code, printed]).toEqual([0, expect.stringContaining("This machine has joined.")]);
  });

  test("a machine that pratique denies is told so", { timeout: limitMs }, async () => {
    const host = await newcomer("unwanted");
    const joining = host.start([kube.endpoint], byToken());
    const { name } = await requestOf(kube.kubectl, "unwanted");
    expect((await operator("deny", `csr/${name}`, "--reason=not ours").done).code).toBe(0);
    const { code, printed } = await joining.done;
    expect([code, printed]).toEqual([4, expect.stringContaining("not ours")]);
    expect(await readdir(host.certDir)).not.toContain("kubelet-client-current.pem");
  });
});
