import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, putChanged, type ApiClient } from "../kits/api-client.ts";
import {
  acceptCluster,
  certificateOf,
  clustersPath,
  createCluster,
  csrsPath,
  isLetIn,
  says,
  sendRequest,
  setsPath,
} from "../kits/cluster-stage.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig, accountToken, applyManifests, runWebhook } from "../kits/peers-manifests.ts";
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
    const address = await applyManifests(kube, "--managed-clusters");
    const token = await accountToken(kube, "agent-registration-bootstrap", "open-cluster-management");
    booter = apiClient(kube, { token });
    // With the rights that the manifests give it, and no others.
    controller = programRun([
      "controller",
      `--kubeconfig=${await accountKubeconfig(kube, "pratique-controller")}`,
      "--controllers=registration",
    ]);
    webhook = await runWebhook(kube, address, "--managed-clusters");
    await controller.until(/reason=ControllersStarted/);
  }, 240_000);

  afterAll(async () => {
    admin?.close();
    booter?.close();
    controller?.interrupt();
    webhook?.interrupt();
    await Promise.all([controller?.done, webhook?.done]);
    await kube?.stop();
  });

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
    expect((await createCluster(booter, name)).status).toBe(201);
    const request = await sendRequest(booter, name);
    expect(request.reply.status).toBe(201);
    await kube.kubectl.ok("certificate", "approve", request.name);
    expect((await acceptCluster(admin, name)).status).toBe(200);
    await cluster(name, isLetIn);
    return issued(request);
  }

  test(
    "a cluster joins by two decisions, updates its lease, renews its certificate and writes its status",
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
      expect((await createCluster(booter, "kube-public")).status).toBe(422);
      agent.close();
    },
    limitMs,
  );

  test(
    "who may write clusters and not accept them is refused",
    async () => {
      await createCluster(booter, "south");
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
      const editor = apiClient(kube, { token: await accountToken(kube, "editor", "default") });
      // The server learns of a binding a moment after it is stored.
      await expect.poll(async () => (await editor(`${clustersPath}/south`)).status).toBe(200);
      const refused = await acceptCluster(editor, "south");
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
