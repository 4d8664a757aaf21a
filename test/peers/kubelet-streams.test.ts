import { execFile } from "node:child_process";
import { access, cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { freePort } from "../kits/peers-kube.ts";
import { requirePeer } from "../kits/peers.ts";
import { reportSkip } from "../kits/report-skip.ts";

const run = promisify(execFile);
/** The script that starts containerd and a kubelet 1.36.3 as root; nothing here runs without it. */
const nodeUp = process.env["NODE_UP"] ?? "";
const limitMs = 240_000;
const mounted = "/var/run/secrets/kubernetes.io/serviceaccount";

if (nodeUp === "")
  reportSkip(
    "a Pod on a real kubelet 1.36.3 that has joined the hub",
    "NODE_UP names no script that starts a kubelet",
    "node-up",
  );

describe.skipIf(nodeUp === "")("a Pod on a real kubelet 1.36.3 that has joined the hub", () => {
  let hub: TestHub;
  let dir: string;
  let served: number;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-node-"));
    // The kubelet chooses an address of the machine that is no loopback one, and takes none that is.
    hub = await startTestHub({ bindAddress: "0.0.0.0", tlsSans: ["127.0.0.1"] });
    await mkdir(join(dir, "pki"));
    await cp(join(hub.dataDir, "pki", "ca.crt"), join(dir, "pki", "ca.crt"));
    await cp(hub.kubeconfig, join(dir, "admin.conf"));
    await hub.kubectl.with({ input: JSON.stringify(bootstrapToken) }).ok("create", "-f", "-");
    await run(nodeUp, [dir, "real"], { env: { ...process.env, KUBE_PORT: String(hub.port) } });
    await run(nodeUp, ["--image", dir, "real", tools, await rootOfTools(dir), '["/bin/sh"]']);
    const view = ["--clusterrole=view", "--serviceaccount=default:default"];
    await hub.kubectl.ok("create", "rolebinding", "reads", ...view);
    served = await freePort();
    for (const pod of [talker, serverAt(served)]) {
      await hub.kubectl.with({ input: JSON.stringify(pod) }).ok("create", "-f", "-");
    }
    await hub.kubectl.ok("wait", "--for=condition=Ready", "pod/p", "pod/w", "--timeout=120s");
  }, limitMs);

  afterAll(async () => {
    await run(nodeUp, ["--down", dir, "real"]);
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  }, limitMs);

  it("shows its log, runs commands, and takes standard input", { timeout: limitMs }, async () => {
    expect(await hub.kubectl.ok("logs", "p")).toContain("begun");
    expect(await hub.kubectl.ok("exec", "p", "--", "sh", "-c", "echo $((6*7))")).toBe("42\n");
    const cat = hub.kubectl.with({ input: "typed" });
    expect(await cat.ok("exec", "-i", "p", "--", "cat")).toBe("typed");
    const failed = await hub.kubectl("exec", "p", "--", "sh", "-c", "exit 7");
    expect(failed.code).toBe(7);
  });

  it("takes and gives files with kubectl cp", { timeout: limitMs }, async () => {
    const [there, back] = [join(dir, "there"), join(dir, "back")];
    const content = Array.from({ length: 100_000 }, (_, line) => `line ${line}\n`).join("");
    await writeFile(there, content);
    await hub.kubectl.ok("cp", there, "p:/tmp/copied");
    expect(await hub.kubectl.ok("exec", "p", "--", "sh", "-c", "wc -c < /tmp/copied")).toBe(`${content.length}\n`);
    await hub.kubectl.ok("cp", "p:/tmp/copied", back);
    expect(await readFile(back, "utf8")).toBe(content);
  });

  it("answers on its own port through kubectl port-forward", { timeout: limitMs }, async () => {
    const forward = hub.kubectl.start("port-forward", "pod/w", `:${served}`);
    try {
      const port = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(await forward.until(/127\.0\.0\.1:\d+/))?.[1];
      for (let turn = 0; turn < 3; turn += 1) {
        const reply = await fetch(`http://127.0.0.1:${port}/page`);
        expect([reply.status, await reply.text()]).toEqual([200, "served\n"]);
      }
    } finally {
      await forward.stop();
    }
  });

  it("reads the API with the token that is mounted into it", { timeout: limitMs }, async () => {
    const inPod = (command: string): Promise<string> => hub.kubectl.ok("exec", "p", "--", "sh", "-c", command);
    expect(await inPod(`cat ${mounted}/namespace`)).toBe("default");
    expect(await inPod(`cat ${mounted}/ca.crt`)).toBe(hub.ca);
    // kubectl finds the hub as any client in a Pod does, by what the kubelet mounts and sets, and verifies its certificate.
    expect(await inPod("kubectl get pods -o name")).toBe("pod/p\npod/w\n");
    expect(await inPod("kubectl auth whoami -o jsonpath={.status.userInfo.username}")).toBe(
      "system:serviceaccount:default:default",
    );
  });

  it("has its kubelet behind nodes/proxy", { timeout: limitMs }, async () => {
    expect(await hub.kubectl.ok("get", "--raw", "/api/v1/nodes/real/proxy/healthz")).toBe("ok");
  });
});

const tools = "localhost/tools:1";

/** The files of an image with a shell, tar, a web server and kubectl; node-up has installed busybox. */
async function rootOfTools(dir: string): Promise<string> {
  const root = join(dir, "tools");
  for (const folder of ["bin", "tmp", "www"]) await mkdir(join(root, folder), { recursive: true });
  await access("/bin/busybox");
  await cp("/bin/busybox", join(root, "bin", "busybox"));
  const commands = ["sh", "sleep", "cat", "tar", "wc", "ls", "mkdir", "test", "wget", "httpd"];
  await Promise.all(commands.map((command) => symlink("busybox", join(root, "bin", command))));
  const kubectl = requirePeer("kubectl");
  await cp(kubectl, join(root, "bin", "kubectl"));
  const { stdout: libraries } = await run("ldd", [kubectl]).catch(() => ({ stdout: "" }));
  for (const [path] of libraries.matchAll(/\/\S+/g)) await cp(path, join(root, path), { dereference: true });
  await writeFile(join(root, "www", "page"), "served\n");
  return root;
}

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

/** In the network of the machine: another one needs plugins that node-up does not set up. */
function podOf(name: string, command: string): object {
  const container = { name: "c", image: tools, imagePullPolicy: "Never", command: ["sh", "-c", command] };
  const spec = { nodeName: "real", hostNetwork: true, terminationGracePeriodSeconds: 1, containers: [container] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
}

const talker = podOf("p", "echo begun; sleep 100000");
const serverAt = (port: number): object => podOf("w", `httpd -f -p 127.0.0.1:${port} -h /www`);
