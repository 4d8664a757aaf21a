import { createServer } from "node:net";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, onTestFailed, onTestFinished, test } from "vitest";
import type { AccessRequest } from "../../src/resources/access-request.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startKubernetes, kubePrograms, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";
import { peerSuite } from "../kits/peers.ts";

const group = "/apis/access.pratique.dev/v1alpha1";
const requests = `${group}/accessrequests`;
const limitMs = 60_000;

peerSuite(kubePrograms, "access requests on a real control plane", () => {
  let kube: Kubernetes;
  let admin: ApiClient;
  let nobody: ApiClient;
  let controller: ProgramRun;
  let webhook: ProgramRun;

  beforeAll(async () => {
    kube = await startKubernetes();
    admin = apiClient(kube);
    nobody = apiClient(kube, "anonymous");
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const manifests = programRun(["manifests", "--no-workloads", "--webhook-url", url]);
    await manifests.done;
    await kube.kubectl.with({ input: manifests.out() }).ok("apply", "-f", "-");
    const common = ["--kubeconfig", kube.kubeconfig, "--log-level", "debug"];
    webhook = programRun([
      "webhook",
      ...common,
      `--secure-port=${port}`,
      `--url=${url}`,
      `--cert-dir=${join(kube.dir, "webhook")}`,
      "--register",
    ]);
    controller = programRun(["controller", ...common]);
    await Promise.all([
      webhook.until(/the webhook answers/),
      webhook.until(/the webhook is registered/),
      controller.until(/the controllers work/),
    ]);
    await kube.kubectl.with({ input: setting }).ok("apply", "-f", "-");
  }, 120_000);

  afterAll(async () => {
    admin?.close();
    nobody?.close();
    controller?.interrupt();
    webhook?.interrupt();
    await Promise.all([controller?.done, webhook?.done]);
    await kube?.stop();
  });

  /** `pratique request` in a folder of its own, until it has asked. */
  async function asking(
    name: string,
    ...more: readonly string[]
  ): Promise<{ readonly run: ProgramRun; readonly dir: string }> {
    const dir = join(kube.dir, name);
    const run = programRun([
      "request",
      kube.endpoint,
      `--ca-cert-hash=${kube.pin}`,
      `--name=${name}`,
      `--dir=${dir}`,
      "--wait=40s",
      ...more,
    ]);
    onTestFailed(() => {
      process.stderr.write(`--- request\n${run.err()}--- controller\n${controller.err()}--- webhook\n${webhook.err()}`);
    });
    onTestFinished(async () => {
      run.interrupt();
      await run.done;
    });
    await run.until(/asked: accessrequest/);
    return { run, dir };
  }

  const decide = (name: string, status: object, who: ApiClient = admin): Promise<Reply> =>
    who(`${requests}/${name}/status`, { method: "PATCH", type: "application/merge-patch+json", body: { status } });

  const until = (name: string, holds: (request: AccessRequest) => boolean): Promise<AccessRequest> =>
    eventually(`request ${name}`, async () => {
      const request = (await admin(`${requests}/${name}`)).object() as unknown as AccessRequest;
      return holds(request) ? request : undefined;
    });

  test("a machine asks, is approved, and lists pods where its profile lets it", { timeout: limitMs }, async () => {
    const { run, dir } = await asking("vm-1");
    const seen = await until("vm-1", ({ status }) => status?.evidence?.possession !== undefined);
    expect(seen.status).toMatchObject({ evidence: { possession: "Proven", requester: "system:anonymous" } });
    expect(await kube.kubectl.ok("get", "accessrequests")).toMatch(/vm-1 /);
    expect((await decide("vm-1", { accepted: true })).status).toBe(200);
    expect([await run.done, run.err()]).toEqual([0, expect.stringContaining("wrote")]);
    const machine = kube.kubectl.with({ kubeconfig: join(dir, "kubeconfig") });
    expect(await machine.ok("get", "pods", "-n", "vms", "-o", "name")).toBe("");
    expect((await machine("get", "pods", "-n", "default")).err).toMatch(/forbidden/);
    expect(await readFile(join(dir, "ca.crt"), "utf8")).toContain("BEGIN CERTIFICATE");
  });
});

const setting = `
apiVersion: v1
kind: Namespace
metadata: { name: vms }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: pod-viewer }
rules:
- { apiGroups: [""], resources: [pods], verbs: [get, list] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: pods, annotations: { access.pratique.dev/is-default-profile: "true" } }
spec: { namespace: vms, roles: [{ kind: ClusterRole, name: pod-viewer }] }
---
apiVersion: access.pratique.dev/v1alpha1
kind: AccessProfile
metadata: { name: near }
spec: { namespace: vms, sourceNetworks: [127.0.0.0/8] }
`;

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
