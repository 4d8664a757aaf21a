import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HubError } from "../../src/apimachinery/hub-error.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

let hub: TestHub;
let admin: ApiClient;
let worker: ApiClient;

beforeAll(async () => {
  hub = await startTestHub({
    users: { worker: [], "system:node:n1": ["system:nodes"] },
    enableAdmissionPlugins: ["OwnerReferencesPermissionEnforcement"],
  });
  admin = apiClient(hub);
  worker = apiClient(hub, { token: hub.token("worker") });
  await admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "plugins" } } });
});

afterAll(async () => {
  admin.close();
  worker.close();
  await hub.close();
});

const inNamespace = (plural: string): string => `/api/v1/namespaces/plugins/${plural}`;
const post = (api: ApiClient, path: string, body: object): Promise<Reply> => api(path, { method: "POST", body });

function pod(name: string, spec: object = {}, metadata: object = {}): object {
  return { metadata: { name, ...metadata }, spec: { containers: [{ name: "c", image: "i" }], ...spec } };
}

describe("ServiceAccount", () => {
  it("gives a pod the account default, also in a namespace of this very moment", async () => {
    const reply = await post(admin, inNamespace("pods"), pod("a"));
    expect(reply.status).toBe(201);
    expect(reply.object()["spec"]).toMatchObject({ serviceAccountName: "default", serviceAccount: "default" });
  });

  it("gives it a volume with its token and the hub's CA, which its node may get and no other object of the namespace", async () => {
    const kubelet = apiClient(hub, { token: hub.token("system:node:n1") });
    const ca = inNamespace("configmaps/kube-root-ca.crt");
    expect((await kubelet(ca)).status).toBe(403);
    const created = await post(admin, inNamespace("pods"), pod("on-n1", { nodeName: "n1" }));
    const { metadata, spec } = created.object() as { metadata: { uid?: string }; spec?: { volumes?: object[] } };
    expect(spec?.volumes).toMatchObject([{ name: expect.stringMatching(/^kube-api-access-[a-z0-9]{5}$/) }]);
    const read = await kubelet(ca);
    expect([read.status, read.object()["data"]]).toEqual([200, { "ca.crt": hub.ca }]);
    const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "on-n1", uid: metadata.uid };
    const asked = await post(kubelet, inNamespace("serviceaccounts/default/token"), {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: 3607, boundObjectRef },
    });
    expect(asked.status).toBe(201);
    kubelet.close();
  });

  it("gives it the pull secrets of its account, unless it names some", async () => {
    await post(admin, inNamespace("serviceaccounts"), {
      metadata: { name: "puller" },
      imagePullSecrets: [{ name: "s" }],
    });
    const given = await post(admin, inNamespace("pods"), pod("b", { serviceAccountName: "puller" }));
    const own = await post(
      admin,
      inNamespace("pods"),
      pod("c", { serviceAccountName: "puller", imagePullSecrets: [{ name: "own" }] }),
    );
    expect([given, own].map((reply) => reply.object()["spec"])).toEqual([
      expect.objectContaining({ imagePullSecrets: [{ name: "s" }] }),
      expect.objectContaining({ imagePullSecrets: [{ name: "own" }] }),
    ]);
  });

  it("refuses a pod of an account that is missing", async () => {
    const reply = await post(admin, inNamespace("pods"), pod("d", { serviceAccountName: "nobody" }));
    expect([reply.status, reply.json()["message"]]).toEqual([
      403,
      'pods "d" is forbidden: error looking up service account plugins/nobody: serviceaccount "nobody" not found',
    ]);
  });

  it("leaves a mirror of a kubelet's own pod alone, which may have no account", async () => {
    const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
    const plain = await post(admin, inNamespace("pods"), pod("e", {}, mirror));
    const other = await post(admin, inNamespace("pods"), pod("f", { serviceAccountName: "default" }, mirror));
    expect(plain.object()["spec"]).not.toHaveProperty("serviceAccountName");
    expect(other.json()["message"]).toBe('pods "f" is forbidden: a mirror pod may not reference service accounts');
  });
});

describe("OwnerReferencesPermissionEnforcement", () => {
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: "u" };
  const setOwners = (name: string, ownerReferences: readonly object[]): Promise<Reply> =>
    worker(`${inNamespace("configmaps")}/${name}`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { metadata: { ownerReferences } },
    });

  beforeAll(async () => {
    await post(admin, `${rbac}/namespaces/plugins/roles`, {
      metadata: { name: "worker" },
      rules: [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "get", "patch"] },
        { apiGroups: [""], resources: ["configmaps"], resourceNames: ["mine"], verbs: ["delete"] },
        { apiGroups: [""], resources: ["configmaps/finalizers"], resourceNames: ["allowed"], verbs: ["update"] },
      ],
    });
    await post(admin, `${rbac}/namespaces/plugins/rolebindings`, {
      metadata: { name: "worker" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "worker" },
      subjects: [{ kind: "User", name: "worker", apiGroup: "rbac.authorization.k8s.io" }],
    });
    for (const name of ["mine", "theirs"]) await post(admin, inNamespace("configmaps"), { metadata: { name } });
  });

  it("lets nobody give an owner to what they may not delete", async () => {
    const refused = await setOwners("theirs", [owner]);
    expect(refused.status).toBe(403);
    expect(refused.json()["message"]).toMatch(
      /^configmaps "theirs" is forbidden: cannot set an ownerRef on a resource you can't delete: /,
    );
    expect((await setOwners("mine", [owner])).status).toBe(200);
  });

  it("lets nobody keep an owner whose finalizers they may not set", async () => {
    const body = (name: string, blocked: object): object => ({ metadata: { name, ownerReferences: [blocked] } });
    const blocking = { ...owner, blockOwnerDeletion: true };
    const refused = await post(worker, inNamespace("configmaps"), body("g", blocking));
    expect(refused.json()["message"]).toMatch(
      /cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: /,
    );
    const allowed = await post(worker, inNamespace("configmaps"), body("h", { ...blocking, name: "allowed" }));
    expect(allowed.status).toBe(201);
    const unknown = await post(worker, inNamespace("configmaps"), body("i", { ...blocking, kind: "Nothing" }));
    expect(unknown.json()["message"]).toContain(
      'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion v1 Kind Nothing: no matches for kind "Nothing" in version "v1"',
    );
  });
});

describe("the plugins of a hub", () => {
  it("can be turned off", async () => {
    const bare = await startTestHub({ disableAdmissionPlugins: ["ServiceAccount", "ValidatingAdmissionPolicy"] });
    const api = apiClient(bare);
    const reply = await post(api, "/api/v1/namespaces/default/pods", pod("p", { serviceAccountName: "nobody" }));
    api.close();
    await bare.close();
    expect(reply.status).toBe(201);
  });

  it.each<[string, object, string]>([
    [
      "is unknown",
      { enableAdmissionPlugins: ["PodSecurity"] },
      '--enable-admission-plugins: plugin "PodSecurity" is unknown',
    ],
    [
      "is only alike",
      { disableAdmissionPlugins: ["serviceaccount"] },
      '--disable-admission-plugins: plugin "serviceaccount"',
    ],
    [
      "is turned on and off",
      { enableAdmissionPlugins: ["ServiceAccount"], disableAdmissionPlugins: ["ServiceAccount"] },
      "ServiceAccount in enable-admission-plugins and disable-admission-plugins overlapped",
    ],
  ])("keep the hub from starting where one %s", async (_what, flags, message) => {
    const error: unknown = await startTestHub(flags).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HubError);
    expect((error as HubError).message).toContain(message);
  });
});
