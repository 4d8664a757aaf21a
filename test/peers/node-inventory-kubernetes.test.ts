import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { applyManifests, runWebhook } from "../kits/peers-manifests.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";
import type { ProgramRun } from "../kits/program-run.ts";

const maps = "/api/v1/namespaces/kube-system/configmaps";
const inventory = `${maps}/pratique-node-inventory`;
const body = { metadata: { name: "pratique-node-inventory" }, data: { "n-1": "n-1.example" } };

peerSuite(
  [...kubePrograms, "../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"],
  "the inventory of nodes on a real control plane",
  () => {
    let kube: Kubernetes;
    let admin: ApiClient;
    let webhook: ProgramRun;

    beforeAll(async () => {
      kube = await startKubernetes(undefined, {}, {}, "current");
      admin = apiClient(kube);
      const address = await applyManifests(kube, "--node-inventory", "--cel");
      await kube.kubectl.with({ input: rights }).ok("apply", "-f", "-");
      webhook = await runWebhook(kube, address);
      await eventually("the API to ask the webhook", async () => {
        const reply = await person("eve")(`${maps}?dryRun=All`, { method: "POST", body });
        return reply.text.includes("failed calling webhook") ? undefined : reply;
      });
    }, 240_000);

    afterAll(async () => {
      admin?.close();
      webhook?.interrupt();
      await webhook?.done;
      await kube?.stop();
    });

    const person = (name: string) => {
      const headers = { "impersonate-user": name, "impersonate-group": "system:authenticated" };
      return (...[path, asked]: Parameters<ApiClient>): Promise<Reply> => admin(path, { ...asked, headers });
    };
    const patch = (who: string, change: object): Promise<Reply> =>
      person(who)(inventory, { method: "PATCH", type: "application/merge-patch+json", body: change });

    test("is written by those alone who may approve serving certificates", async () => {
      const refused = await person("eve")(maps, { method: "POST", body });
      expect([refused.status, refused.text]).toEqual([
        403,
        expect.stringContaining(
          'must hold what the ConfigMap hands out; missing: verb \\"approve\\" on signers.certificates.k8s.io',
        ),
      ]);
      expect((await person("ada")(maps, { method: "POST", body })).status).toBe(201);
      expect((await patch("eve", { data: { "n-2": "n-1.example" } })).status).toBe(403);
      expect((await patch("eve", { metadata: { labels: { a: "b" } } })).status).toBe(200);
      expect((await patch("ada", { data: { "n-2": "n-2.example" } })).status).toBe(200);
      expect((await person("eve")(inventory, { method: "DELETE" })).status).toBe(200);
    });

    test("holds up no other ConfigMap while the webhook is gone", async () => {
      webhook.interrupt();
      await webhook.done;
      const other = { ...body, metadata: { name: "other" } };
      expect((await person("eve")(maps, { method: "POST", body: other })).status).toBe(201);
      const refused = await person("ada")(maps, { method: "POST", body });
      expect([refused.status, refused.text]).toEqual([500, expect.stringContaining("failed calling webhook")]);
    });
  },
);

const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: { name: map-writer, namespace: kube-system }
rules:
- { apiGroups: [""], resources: [configmaps], verbs: [create, delete, patch, update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: { name: map-writers, namespace: kube-system }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: Role, name: map-writer }
subjects: [{ kind: User, name: eve, apiGroup: rbac.authorization.k8s.io }, { kind: User, name: ada, apiGroup: rbac.authorization.k8s.io }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: serving-approver }
rules:
- { apiGroups: [certificates.k8s.io], resources: [signers], resourceNames: [kubernetes.io/kubelet-serving], verbs: [approve] }
- { apiGroups: [certificates.k8s.io], resources: [certificatesigningrequests/approval], verbs: [update] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: serving-approvers }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: serving-approver }
subjects: [{ kind: User, name: ada, apiGroup: rbac.authorization.k8s.io }]
`;
