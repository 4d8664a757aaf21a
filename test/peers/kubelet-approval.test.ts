import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite } from "../kits/peers.ts";
import { requestOf, requests, tokenOn, whoami } from "../kits/peers-cluster.ts";
import { machine, type Machine } from "../kits/peers-kubelet.ts";
import { eventually } from "../kits/peers-process.ts";

const limitMs = 180_000;

peerSuite(["kubelet", "kubectl"], "a real kubelet and a hub where a person approves", () => {
  let hub: TestHub;
  let token: string;

  beforeAll(async () => {
    hub = await startTestHub();
    token = await tokenOn(hub.kubectl);
    await hub.kubectl.ok("delete", "clusterrolebinding", "kubeadm:node-autoapprove-bootstrap");
    await eventually("the binding to be without effect", async () => {
      const as = [
        `--as=system:bootstrap:${token.slice(0, 6)}`,
        "--as-group=system:bootstrappers:kubeadm:default-node-token",
      ];
      const { out } = await hub.kubectl("auth", "can-i", "create", "csr", "--subresource=nodeclient", ...as);
      return out.trim() === "no" ? true : undefined;
    });
  });

  afterAll(() => hub?.close());

  const machineOf = (node: string): Machine => machine({ node, server: hub.url, ca: hub.ca, token, within: hub.dir });

  /** Lets the approver prove that it has come past all requests that were there: it decides one that came after them. */
  async function approverHasPassed(node: string): Promise<void> {
    const subject = { commonName: `system:node:${node}`, organizations: ["system:nodes"] };
    const pem = createCsr({ key: generatePrivateKey(), ...subject });
    const later = {
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: node },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client-kubelet",
        usages: ["digital signature", "client auth"],
      },
    };
    await hub.kubectl.with({ input: JSON.stringify(later) }).ok("create", "-f", "-");
    await hub.kubectl.ok("wait", "--for=condition=Approved", `csr/${node}`, "--timeout=40s");
  }

  async function shownState(name: string): Promise<string | undefined> {
    const line = await hub.kubectl.ok("get", "csr", name, "--no-headers");
    return line.trim().split(/ +/).at(-1);
  }

  test("the kubelet waits, through a restart, until kubectl approves", { timeout: limitMs }, async () => {
    const host = machineOf("patient");
    const first = host.start();
    const { name } = await requestOf(hub.kubectl, "patient");
    await approverHasPassed("later-than-patient");
    const { status } = await requestOf(hub.kubectl, "patient");
    expect(status?.conditions).toContainEqual(
      expect.objectContaining({ type: "NotApprovedAutomatically", reason: "ApprovalNotAllowed" }),
    );
    expect(status?.conditions?.filter(({ type }) => type === "Approved" || type === "Denied")).toEqual([]);
    expect(await shownState(name)).toBe("Pending");
    await first.stop();
    expect(await readdir(host.certDir)).toContain("kubelet-client.key.tmp");
    expect(await readdir(host.certDir)).not.toContain("kubelet-client-current.pem");

    const second = host.start();
    await second.until(/csr for this node already exists, reusing/);
    expect((await requests(hub.kubectl)).filter(({ commonName }) => commonName === "system:node:patient")).toHaveLength(
      1,
    );
    expect(await hub.kubectl.ok("certificate", "approve", name)).toBe(
      `certificatesigningrequest.certificates.k8s.io/${name} approved\n`,
    );
    const { certificate, keyFits } = await host.credentialOf(second);
    expect([certificate.subject, keyFits]).toEqual(["O=system:nodes\nCN=system:node:patient", true]);
    await second.stop();
    expect(await shownState(name)).toBe("Approved,Issued");
    expect((await requestOf(hub.kubectl, "patient")).status?.conditions).toContainEqual(
      expect.objectContaining({ type: "Approved", status: "True", reason: "KubectlApprove" }),
    );
    expect(await whoami(hub.kubectl.with({ kubeconfig: host.kubeconfig }))).toMatchObject({
      username: "system:node:patient",
    });
  });

  test("the kubelet ends without a certificate when kubectl denies", { timeout: limitMs }, async () => {
    const host = machineOf("unwanted");
    const kubelet = host.start();
    const { name } = await requestOf(hub.kubectl, "unwanted");
    expect(await hub.kubectl.ok("certificate", "deny", name)).toBe(
      `certificatesigningrequest.certificates.k8s.io/${name} denied\n`,
    );
    const { code, printed } = await kubelet.done;
    expect(code).not.toBe(0);
    expect(printed).toMatch(
      /certificate signing request is denied, reason: KubectlDeny, message: This CSR was denied by kubectl certificate deny\./,
    );
    expect(await readdir(host.certDir)).not.toContain("kubelet-client-current.pem");
    expect(await shownState(name)).toBe("Denied");
    expect((await requestOf(hub.kubectl, "unwanted")).status?.certificate).toBeUndefined();
  });
});
