import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const run = promisify(execFile);
/** The script that starts containerd and a kubelet 1.36.3 as root; nothing here runs without it. */
const nodeUp = process.env["NODE_UP"] ?? "";
const limitMs = 240_000;

describe.skipIf(nodeUp === "")("a Pod on a real kubelet 1.36.3 that has joined the hub", () => {
  let hub: TestHub;
  let dir: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-node-"));
    hub = await startTestHub();
    await mkdir(join(dir, "pki"));
    await cp(join(hub.dataDir, "pki", "ca.crt"), join(dir, "pki", "ca.crt"));
    await cp(hub.kubeconfig, join(dir, "admin.conf"));
    await hub.kubectl.with({ input: JSON.stringify(bootstrapToken) }).ok("create", "-f", "-");
    // The hub of this test listens at loopback alone, so that the kubelet must say that it is there.
    const env = { ...process.env, KUBE_PORT: String(hub.port), KUBELET_ARGS: "--node-ip=127.0.0.1" };
    await run(nodeUp, [dir, "real"], { env });
    await hub.kubectl.with({ input: JSON.stringify(pod) }).ok("create", "-f", "-");
    await hub.kubectl.ok("wait", "--for=condition=Ready", "pod/p", "--timeout=40s");
  }, limitMs);

  afterAll(async () => {
    await run(nodeUp, ["--down", dir, "real"]);
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  }, limitMs);

  it("shows its log, runs commands, takes standard input, and copies files", { timeout: limitMs }, async () => {
    expect(await hub.kubectl.ok("logs", "p")).toContain("begun");
    expect(await hub.kubectl.ok("exec", "p", "--", "sh", "-c", "echo $((6*7))")).toBe("42\n");
    const cat = hub.kubectl.with({ input: "typed" });
    expect(await cat.ok("exec", "-i", "p", "--", "cat")).toBe("typed");
    const failed = await hub.kubectl("exec", "p", "--", "sh", "-c", "exit 7");
    expect(failed.code).toBe(7);
  });

  it("has its kubelet behind nodes/proxy", { timeout: limitMs }, async () => {
    expect(await hub.kubectl.ok("get", "--raw", "/api/v1/nodes/real/proxy/healthz")).toBe("ok");
  });
});

const bootstrapToken = {
  apiVersion: "v1",
  kind: "Secret",
  type: "bootstrap.kubernetes.io/token",
  metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
  stringData: {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
  },
};

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: {
    nodeName: "real",
    hostNetwork: true,
    containers: [
      {
        name: "c",
        image: "localhost/busybox:1",
        imagePullPolicy: "Never",
        command: ["sh", "-c", "echo begun; sleep 100000"],
      },
    ],
  },
};
