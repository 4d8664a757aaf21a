import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { credentialRevocations } from "../../src/apis/credential-revocation.ts";
import { agentUser, clusterGroupOf, managedClustersGroup } from "../../src/apis/managed-cluster.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { acceptCluster, clustersPath, createCluster, csrsPath, isLetIn, sendRequest } from "../kits/cluster-stage.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { accountKubeconfig, applyManifests, runWebhook } from "../kits/peers-manifests.ts";
import { eventually } from "../kits/peers-process.ts";
import { programRun, type ProgramRun } from "../kits/program-run.ts";
import { peerSuite } from "../kits/peers.ts";
import { retryOnConflict } from "../kits/retry-on-conflict.ts";
import { servingApproverRights } from "../kits/serving-approver-rights.ts";

type Asker = (...asked: Parameters<ApiClient>) => Promise<Reply>;

const merge = "application/merge-patch+json";
const limitMs = 120_000;
const access = "/apis/access.pratique.dev/v1alpha1";
const types = (kind: string): object => ({ apiVersion: "access.pratique.dev/v1alpha1", kind });
const agent = "a1b2c";
const all = "--controllers=access-request,serving-approving,registration";

peerSuite(kubePrograms, "revocations and our controllers on a real control plane", () => {
  let kube: Kubernetes;
  let admin: ApiClient;
  let webhook: ProgramRun;
  let controller: ProgramRun;
  let account: string;

  beforeAll(async () => {
    kube = await startKubernetes();
    admin = apiClient(kube);
    const items = [
      ...["n1", "n2", "n3"].map((name) => ({ apiVersion: "v1", kind: "Node", metadata: { name } })),
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "pratique-node-inventory", namespace: "kube-system" },
        data: { n1: "n1", n2: "n2", n3: "n3" },
      },
    ];
    await apply({ apiVersion: "v1", kind: "List", items });
  }, limitMs);

  afterAll(async () => {
    admin?.close();
    for (const run of [controller, webhook]) run?.interrupt();
    await Promise.all([controller?.done, webhook?.done]);
    await kube?.stop();
  });

  const apply = (object: object): Promise<string> =>
    kube.kubectl.with({ input: JSON.stringify(object) }).ok("apply", "-f", "-");

  const as =
    (user: string, ...groups: string[]): Asker =>
    (path, asked) =>
      admin(path, { ...asked, headers: { "impersonate-user": user, "impersonate-group": groups } });
  const agentOf = (cluster: string): Asker =>
    as(agentUser({ cluster, agent }), clusterGroupOf(cluster), managedClustersGroup);

  async function serving(node: string): Promise<string> {
    const commonName = `system:node:${node}`;
    const { reply, name } = await sendRequest(as(commonName, "system:nodes"), node, {
      commonName,
      organizations: ["system:nodes"],
      dnsNames: [node],
      usages: ["digital signature", "key encipherment", "server auth"],
      signerName: "kubernetes.io/kubelet-serving",
      labels: {},
    });
    expect(reply.status).toBe(201);
    return name;
  }

  const conditions = ({ status }: ApiObject): readonly { readonly type: string; readonly reason?: string }[] =>
    (status as { readonly conditions?: readonly { readonly type: string; readonly reason?: string }[] } | undefined)
      ?.conditions ?? [];

  async function isApproved(request: string): Promise<boolean> {
    const object = (await admin(`${csrsPath}/${request}`)).object();
    return conditions(object).some(({ type }) => type === "Approved");
  }

  const approved = (request: string): Promise<true> =>
    eventually(`the approval of ${request}; the controller wrote ${controller.err()}`, async () =>
      (await isApproved(request)) ? true : undefined,
    );

  async function abstention(request: string): Promise<string | undefined> {
    const events = (await admin("/api/v1/namespaces/default/events")).items();
    const found = events.find((event) => (event["involvedObject"] as { readonly name: string }).name === request);
    return found?.["message"] as string | undefined;
  }

  const revoke = async (name: string, spec: object): Promise<void> => {
    const path = `${access}/${credentialRevocations.plural}`;
    const body = { ...types(credentialRevocations.kind), metadata: { name }, spec };
    expect((await admin(path, { method: "POST", body })).status).toBe(201);
  };

  const restore = async (name: string): Promise<void> => {
    expect((await admin(`${access}/${credentialRevocations.plural}/${name}`, { method: "DELETE" })).status).toBe(200);
  };

  test(
    "without the definition nothing counts as revoked; once it is installed, the controllers begin anew with it",
    async () => {
      controller = programRun(["controller", `--kubeconfig=${kube.kubeconfig}`, "--controllers=serving-approving"]);
      await controller.until(/reason=ControllersStarted/);
      expect(controller.err()).toContain(
        "this cluster does not serve CredentialRevocations, so no credential counts as revoked",
      );
      await approved(await serving("n1"));
      const address = await applyManifests(kube, "--managed-clusters");
      await controller.until(/reason=RevocationsServed[^]*reason=RevocationsSynced[^]*reason=ControllersStarted/);
      controller.interrupt();
      expect(await controller.done).toBe(0);
      webhook = await runWebhook(kube, address, "--managed-clusters");
    },
    limitMs,
  );

  test(
    "with the rights of the manifests it knows what is revoked before it approves anything",
    async () => {
      const items = servingApproverRights({ name: "pratique-controller", namespace: "pratique-system" });
      await apply({ apiVersion: "v1", kind: "List", items });
      account = await accountKubeconfig(kube, "pratique-controller");
      await start();
      for (const cluster of ["east", "west"]) await letIn(cluster);
      await approved((await sendRequest(agentOf("east"), "east")).name);
      controller.interrupt();
      await controller.done;
      await revoke("node-n1", { user: "system:node:n1" });
      await revoke("agent-east", { user: agentUser({ cluster: "east", agent }) });
      const [east, n1] = [(await sendRequest(agentOf("east"), "east")).name, await serving("n1")];
      const [west, n2] = [(await sendRequest(agentOf("west"), "west")).name, await serving("n2")];
      await start();
      for (const request of [west, n2]) await approved(request);
      const why = await eventually("an Event", () => abstention(n1));
      expect(why).toBe(
        "not approved automatically: the credential of its requester is revoked; deny the request, or take back the revocation",
      );
      expect([await isApproved(n1), await isApproved(east)]).toEqual([false, false]);
      // An agent is looked at again by itself.
      await restore("agent-east");
      await approved(east);
      await restore("node-n1");
    },
    limitMs,
  );

  test(
    "follows what is revoked while it runs",
    async () => {
      await revoke("node-n3", { user: "system:node:n3" });
      const message = await eventually("a request that is left", async () => {
        const request = await serving("n3");
        return eventually("an end", async () =>
          (await isApproved(request)) ? "approved" : await abstention(request),
        ).then((end) => (end === "approved" ? undefined : end));
      });
      expect(message).toContain("its requester is revoked");
    },
    limitMs,
  );

  test(
    "a machine gets no token of an account that is revoked",
    async () => {
      onTestFailed(() => void process.stderr.write(`--- controller\n${controller.err()}\n`));
      await apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "edge" } });
      await apply({ ...types("AccessProfile"), metadata: { name: "edge" }, spec: { namespace: "edge" } });
      await revoke("vm-1", { user: "system:serviceaccount:edge:vm-1" });
      // Whichever it hears of first, a machine that is not revoked comes after both.
      for (const name of ["vm-1", "vm-2"]) {
        const pubKey = sshPublicKeyOf(generateKeyPairSync("ed25519").publicKey, "machine").text;
        const body = { ...types("AccessRequest"), metadata: { name }, spec: { pubKey, profile: "edge" } };
        const reply = await admin(`${access}/accessrequests`, { method: "POST", body });
        expect(reply.status).toBe(201);
      }
      await revocationIsKnown();
      const person = as("ann", "system:masters");
      for (const name of ["vm-1", "vm-2"]) {
        const body = { status: { accepted: true, reason: "known" } };
        const reply = await retryOnConflict(() =>
          person(`${access}/accessrequests/${name}/status`, { method: "PATCH", type: merge, body }),
        );
        expect(reply.status).toBe(200);
      }
      const until = (name: string, reason: string): Promise<ApiObject> =>
        eventually(`${reason} of ${name}`, async () => {
          const object = (await admin(`${access}/accessrequests/${name}`)).object();
          return conditions(object).some((one) => one.reason === reason) ? object : undefined;
        });
      await until("vm-2", "Issued");
      expect((await until("vm-1", "AccountRevoked"))["status"]).not.toHaveProperty("token");
      expect((await admin("/api/v1/namespaces/edge/serviceaccounts/vm-1")).status).toBe(404);
      expect(controller.err()).not.toMatch(/forbidden/i);
    },
    limitMs,
  );

  async function start(): Promise<void> {
    controller = programRun(["controller", `--kubeconfig=${account}`, all]);
    await controller.until(/reason=RevocationsSynced[^]*reason=ControllersStarted/);
  }

  /** Revocations come in the order in which they were made: one of a node that asks tells that the earlier ones have come. */
  async function revocationIsKnown(): Promise<void> {
    await revoke("node-n2", { user: "system:node:n2" });
    await eventually("a request that is left", async () => {
      const request = await serving("n2");
      return eventually("an end", async () =>
        (await isApproved(request)) ? "approved" : await abstention(request),
      ).then((end) => (end === "approved" ? undefined : end));
    });
  }

  async function letIn(cluster: string): Promise<void> {
    const booter = as("booter", "system:bootstrappers:managedcluster");
    expect((await createCluster(booter, cluster)).status).toBe(201);
    expect((await acceptCluster(admin, cluster)).status).toBe(200);
    await eventually(`cluster ${cluster}; the controller wrote ${controller.err()}`, async () =>
      isLetIn((await admin(`${clustersPath}/${cluster}`)).object()) ? true : undefined,
    );
  }
});
