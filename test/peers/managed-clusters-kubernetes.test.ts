import { join } from "node:path";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import type { ApiObject } from "../../src/core/object.ts";
import { apiClient, putChanged, type ApiClient, type Reply } from "../kits/api-client.ts";
import { certificateOf, clustersPath, csrsPath, isLetIn, says, sendRequest, setsPath } from "../kits/cluster-stage.ts";
import { freePort, kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";
import { peerSuite } from "../kits/peers.ts";

const merge = "application/merge-patch+json";
const limitMs = 180_000;

peerSuite(kubePrograms, "managed clusters on a real control plane", () => {
  let kube: Kubernetes;
  let admin: ApiClient;
  let booter: ApiClient;
  let controller: ProgramRun;
  let webhook: ProgramRun;

  beforeAll(async () => {
    kube = await startKubernetes();
    admin = apiClient(kube);
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const manifests = programRun(["manifests", "--managed-clusters", "--no-workloads", "--webhook-url", url]);
    await manifests.done;
    await kube.kubectl.with({ input: manifests.out() }).ok("apply", "-f", "-");
    const token = await tokenOf("open-cluster-management", "agent-registration-bootstrap");
    booter = apiClient(kube, { token });
    // Both with the rights that the manifests give them, and no others.
    webhook = programRun([
      "webhook",
      `--kubeconfig=${await account("pratique-webhook")}`,
      `--secure-port=${port}`,
      `--url=${url}`,
      `--cert-dir=${join(kube.dir, "webhook")}`,
      "--managed-clusters",
      "--register",
    ]);
    controller = programRun([
      "controller",
      `--kubeconfig=${await account("pratique-controller")}`,
      "--controllers=registration",
    ]);
    await Promise.all([
      webhook.until(/the webhook answers/),
      webhook.until(/the webhook is registered/),
      controller.until(/the controllers work/),
    ]);
  }, 240_000);

  afterAll(async () => {
    admin?.close();
    booter?.close();
    controller?.interrupt();
    webhook?.interrupt();
    await Promise.all([controller?.done, webhook?.done]);
    await kube?.stop();
  });

  async function tokenOf(namespace: string, name: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const reply = await admin(path, { method: "POST", body });
    return (reply.json() as { readonly status: { readonly token: string } }).status.token;
  }

  async function account(name: string): Promise<string> {
    const file = join(kube.dir, `${name}.conf`);
    const token = await tokenOf("pratique-system", name);
    await writeFile(file, bootstrapKubeconfig({ server: kube.url, ca: { pem: kube.ca }, token }));
    return file;
  }

  const create = (name: string, who: ApiClient): Promise<Reply> =>
    who(clustersPath, {
      method: "POST",
      body: {
        apiVersion: "cluster.open-cluster-management.io/v1",
        kind: "ManagedCluster",
        metadata: { name },
        spec: { hubAcceptsClient: false },
      },
    });

  const accept = (name: string, who: ApiClient): Promise<Reply> =>
    who(`${clustersPath}/${name}`, { method: "PATCH", type: merge, body: { spec: { hubAcceptsClient: true } } });

  const cluster = (name: string, holds: (object: ApiObject) => boolean): Promise<ApiObject> =>
    eventually(`cluster ${name}; the controller wrote ${controller.err()}`, async () => {
      const reply = await admin(`${clustersPath}/${name}`);
      return reply.status === 200 && holds(reply.object()) ? reply.object() : undefined;
    });

  async function issued({ name, keyPem }: { readonly name: string; readonly keyPem: string }): Promise<ApiClient> {
    const certPem = await eventually(`a certificate; the controller wrote ${controller.err()}`, async () => {
      const found = certificateOf((await admin(`${csrsPath}/${name}`)).object());
      return found === "" ? undefined : found;
    });
    return apiClient(kube, { certPem, keyPem });
  }

  async function joined(name: string): Promise<ApiClient> {
    expect((await create(name, booter)).status).toBe(201);
    const request = await sendRequest(booter, name);
    expect(request.reply.status).toBe(201);
    await kube.kubectl.ok("certificate", "approve", request.name);
    expect((await accept(name, admin)).status).toBe(200);
    await cluster(name, isLetIn);
    return issued(request);
  }

  test(
    "a cluster is let in by two decisions, beats, renews and writes its status",
    async () => {
      const agent = await joined("east");
      const path = "/apis/coordination.k8s.io/v1/namespaces/east/leases/managed-cluster-lease";
      const lease = (await agent(path)).object();
      const renewTime = new Date().toISOString().replace("Z", "000Z");
      const spec = { ...(lease["spec"] as object), renewTime };
      expect((await agent(path, { method: "PUT", body: { ...lease, spec } })).status).toBe(200);
      await cluster("east", says("ManagedClusterConditionClockSynced", "True"));
      const renewed = await issued(await sendRequest(agent, "east"));
      expect((await renewed(`${clustersPath}/east`)).status).toBe(200);
      for (const one of [agent, renewed]) one.close();
    },
    limitMs,
  );

  test(
    "the webhook guards what agents and bootstrap identities write",
    async () => {
      const agent = await joined("west");
      const stored = (await agent(`${clustersPath}/west`)).object();
      expect(stored.metadata).toMatchObject({
        labels: { "cluster.open-cluster-management.io/clusterset": "default" },
        annotations: {
          "registration.pratique.dev/requested-by":
            "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
        },
      });
      const spec = { ...(stored["spec"] as object), leaseDurationSeconds: 9000 };
      const slower = await putChanged(agent, `${clustersPath}/west`, { change: (now) => ({ ...now, spec }) });
      expect([slower.status, slower.json()["message"]]).toEqual([403, expect.stringContaining("an agent does not")]);
      const condition = {
        type: "HubAcceptedManagedCluster",
        status: "False",
        reason: "Mine",
        message: "said by the agent",
        lastTransitionTime: "2026-11-21T00:00:00Z",
      };
      const claimed = await agent(`${clustersPath}/west/status`, {
        method: "PATCH",
        type: merge,
        body: { status: { conditions: [condition] } },
      });
      expect([claimed.status, claimed.text]).toEqual([403, expect.stringContaining("which is the hub's")]);
      expect((await create("kube-public", booter)).status).toBe(422);
      agent.close();
    },
    limitMs,
  );

  test(
    "who may write clusters and not accept them is refused",
    async () => {
      await create("south", booter);
      await kube.kubectl.ok("create", "serviceaccount", "editor");
      await kube.kubectl.ok(
        "create",
        "clusterrole",
        "editor",
        "--verb=get,patch",
        "--resource=managedclusters.cluster.open-cluster-management.io",
      );
      await kube.kubectl.ok(
        "create",
        "clusterrolebinding",
        "editor",
        "--clusterrole=editor",
        "--serviceaccount=default:editor",
      );
      const editor = apiClient(kube, { token: await tokenOf("default", "editor") });
      // The server learns of a binding a moment after it is stored.
      await expect.poll(async () => (await editor(`${clustersPath}/south`)).status).toBe(200);
      const refused = await accept("south", editor);
      expect([refused.status, refused.json()["message"]]).toEqual([
        403,
        expect.stringContaining("managedclusters/accept"),
      ]);
      editor.close();
    },
    limitMs,
  );

  test(
    "a cluster that is deleted goes with all that was made for it",
    async () => {
      (await joined("gone")).close();
      await admin(`${clustersPath}/gone`, { method: "DELETE" });
      await eventually(`the end of a cluster; the controller wrote ${controller.err()}`, async () =>
        (await admin(`${clustersPath}/gone`)).status === 404 ? true : undefined,
      );
      const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/open-cluster-management:managedcluster:gone";
      expect((await admin(role)).status).toBe(404);
    },
    limitMs,
  );

  test("the sets default and global are there", async () => {
    for (const name of ["default", "global"]) {
      await eventually(`set ${name}`, async () =>
        (await admin(`${setsPath}/${name}`)).status === 200 ? true : undefined,
      );
    }
    expect(controller.err()).not.toMatch(/forbidden/i);
  });
});
