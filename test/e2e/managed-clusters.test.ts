import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import type { ApiClient, Reply } from "../kits/api-client.ts";
import {
  clustersPath,
  csrsPath,
  isLetIn,
  reportStatus,
  says,
  setsPath,
  startClusterStage,
  type ClusterStage,
} from "../kits/cluster-stage.ts";
import { until } from "../kits/definitions.ts";
import { peerSuite } from "../kits/peers.ts";

const merge = "application/merge-patch+json";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const available = "ManagedClusterConditionAvailable";

let stage: ClusterStage;

beforeAll(async () => {
  const users = { ann: [], acc: [], only: [], owner: [] };
  stage = await startClusterStage({ users });
});
afterAll(() => stage.close());

const lease = (cluster: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${cluster}/leases/managed-cluster-lease`;
const addOns = (cluster: string): string =>
  `/apis/addon.open-cluster-management.io/v1beta1/namespaces/${cluster}/managedclusteraddons`;

async function beat(agent: ApiClient, cluster: string): Promise<Reply> {
  const stored = (await agent(lease(cluster))).object();
  const spec = { ...(stored["spec"] as object), renewTime: new Date().toISOString().replace("Z", "000Z") };
  return agent(lease(cluster), { method: "PUT", body: { ...stored, spec } });
}

async function addOn(cluster: string, name: string, metadata: object = {}): Promise<Reply> {
  return stage.admin(addOns(cluster), {
    method: "POST",
    body: {
      apiVersion: "addon.open-cluster-management.io/v1beta1",
      kind: "ManagedClusterAddOn",
      metadata: { name, ...metadata },
      spec: {},
    },
  });
}

/** Gives a user a role of these rules on the whole hub. */
async function grant(user: string, rules: readonly object[]): Promise<void> {
  await stage.admin(`${rbac}/clusterroles`, { method: "POST", body: { metadata: { name: `test-${user}` }, rules } });
  await bind(user, `test-${user}`);
}

async function bind(user: string, role: string): Promise<void> {
  const apiGroup = "rbac.authorization.k8s.io";
  const body = {
    metadata: { name: `test-${user}` },
    subjects: [{ kind: "User", name: user, apiGroup }],
    roleRef: { kind: "ClusterRole", name: role, apiGroup },
  };
  await stage.admin(`${rbac}/clusterrolebindings`, { method: "POST", body });
}

const taintsOf = ({ spec }: ApiObject): readonly string[] =>
  ((spec as { readonly taints?: readonly { readonly key: string; readonly timeAdded?: string }[] }).taints ?? []).map(
    ({ key, timeAdded }) => `${key.split("/")[1] ?? ""}${timeAdded === undefined ? "" : " at"}`,
  );

peerSuite("kubectl", "a cluster that joins", () => {
  it("is accepted by two decisions, with the calls that a klusterlet makes", async () => {
    const { booter, admin } = stage;
    expect((await booter(`${clustersPath}?fieldSelector=metadata.name%3Deast`)).status).toBe(200);
    expect((await booter(`${clustersPath}/east`)).status).toBe(404);
    const made = await stage.create("east");
    expect([made.status, made.object()["spec"], made.object().metadata.labels]).toEqual([
      201,
      { hubAcceptsClient: false, leaseDurationSeconds: 60 },
      { "cluster.open-cluster-management.io/clusterset": "default" },
    ]);
    const selector = "labelSelector=open-cluster-management.io%2Fcluster-name%3Deast";
    expect((await booter(`${csrsPath}?${selector}`)).items()).toEqual([]);
    const request = await stage.request("east");
    expect(request.reply.status).toBe(201);
    expect(request.name).toMatch(/^east-/);
    await stage.approve(request.name);
    const agent = await stage.issued(request);
    expect((await agent(`${clustersPath}/east`)).status).toBe(403);
    expect((await admin("/api/v1/namespaces/east")).status).toBe(404);

    expect((await stage.accept("east")).status).toBe(200);
    const cluster = await stage.cluster("east");
    expect(cluster.metadata.finalizers).toContain("cluster.open-cluster-management.io/api-resource-cleanup");
    expect((await agent(`${clustersPath}/east`)).status).toBe(200);
    expect((await agent(`${clustersPath}?fieldSelector=metadata.name%3Deast`)).status).toBe(200);
    expect((await agent(clustersPath)).status).toBe(403);
    const stored = (await agent(lease("east"))).object();
    expect(stored.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "east" });
    expect((await beat(agent, "east")).status).toBe(200);
    await stage.cluster("east", says("ManagedClusterConditionClockSynced", "True"));
    expect(taintsOf(await stage.cluster("east", (one) => taintsOf(one).length > 0))).toEqual(["unreachable at"]);
    expect((await reportStatus(agent, "east", { conditions: [{ type: available }] })).status).toBe(200);
    expect(taintsOf(await stage.cluster("east", (one) => taintsOf(one).length === 0))).toEqual([]);
  });

  it("is let in whichever of the two decisions comes first", async () => {
    await stage.create("early");
    await stage.accept("early");
    await stage.cluster("early");
    const request = await stage.request("early");
    await stage.approve(request.name);
    const agent = await stage.issued(request);
    expect((await agent(lease("early"))).status).toBe(200);
  });

  it("has the rights that the klusterlet operator checks, and no others", async () => {
    const agent = await stage.joined("sound");
    const may = async (resourceAttributes: object): Promise<boolean> => {
      const body = {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes },
      };
      const reply = await agent("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { method: "POST", body });
      return (reply.json()["status"] as { readonly allowed: boolean }).allowed;
    };
    const asked = (text: string): readonly object[] => {
      const [verbs = "", group = "", resource = "", subresource = "", namespace = "", name = ""] = text.split(" ");
      const of = (value: string): string => (value === "-" ? "" : value);
      return verbs.split(",").map((verb) => ({
        verb,
        group: of(group),
        resource,
        subresource: of(subresource),
        namespace: of(namespace),
        name: of(name),
      }));
    };
    const needed = [
      "get,list,watch certificates.k8s.io certificatesigningrequests - - -",
      "get,list,update,watch cluster.open-cluster-management.io managedclusters - - sound",
      "patch,update cluster.open-cluster-management.io managedclusters status - sound",
      "renew register.open-cluster-management.io managedclusters clientcertificates - -",
      "get,update coordination.k8s.io leases - sound managed-cluster-lease",
      "create,patch,update - events - sound -",
      "create,patch,update events.k8s.io events - sound -",
      "get,list,watch,update work.open-cluster-management.io manifestworks - sound -",
      "patch,update work.open-cluster-management.io manifestworks status sound -",
    ].flatMap(asked);
    for (const one of needed) expect([one, await may(one)]).toEqual([one, true]);
    const refused = [
      "create,delete,patch coordination.k8s.io leases - sound managed-cluster-lease",
      "update coordination.k8s.io leases - sound another",
      "get,update coordination.k8s.io leases - east managed-cluster-lease",
      "get cluster.open-cluster-management.io managedclusters - - east",
      "patch,delete cluster.open-cluster-management.io managedclusters - - sound",
      "update register.open-cluster-management.io managedclusters accept - sound",
      "approve certificates.k8s.io signers - - kubernetes.io/kube-apiserver-client",
      "get - secrets - sound -",
    ].flatMap(asked);
    for (const one of refused) expect([one, await may(one)]).toEqual([one, false]);
  });

  it("serves what a klusterlet follows", async () => {
    const agent = await stage.joined("following");
    for (const path of [addOns("following"), "/apis/coordination.k8s.io/v1/namespaces/following/leases", csrsPath]) {
      expect([path, (await agent(path)).status]).toEqual([path, 200]);
      const stream = await agent.stream(`${path}?watch=true`);
      expect(stream.status).toBe(200);
      stream.close();
    }
    const event = {
      metadata: { generateName: "following." },
      involvedObject: { kind: "ManagedCluster", name: "following", namespace: "following" },
      reason: "Available",
    };
    expect((await agent("/api/v1/namespaces/following/events", { method: "POST", body: event })).status).toBe(201);
    const reported = {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { generateName: "following." },
      eventTime: "2026-11-21T00:00:00.000000Z",
      reportingController: "klusterlet-agent",
      reportingInstance: "klusterlet-agent-1",
      action: "Available",
      reason: "Available",
      regarding: { kind: "ManagedCluster", name: "following", namespace: "following" },
      note: "The managed cluster is available",
      type: "Normal",
    };
    const path = "/apis/events.k8s.io/v1/namespaces/following/events";
    const made = await agent(path, { method: "POST", body: reported });
    expect([made.status, made.json()]).toMatchObject([201, { note: "The managed cluster is available" }]);
    const name = made.object().metadata.name ?? "";
    const stored = await stage.admin(`/api/v1/namespaces/following/events/${name}`);
    expect(stored.json()).toMatchObject({ message: "The managed cluster is available", reason: "Available" });
  });

  it("renews its certificate with the current one", async () => {
    const agent = await stage.joined("renewing");
    const request = await stage.request("renewing", {}, agent);
    const renewed = await stage.issued(request);
    expect((await renewed(`${clustersPath}/renewing`)).status).toBe(200);
    const csr = (await stage.admin(`${csrsPath}/${request.name}`)).object();
    expect(csr["status"]).toMatchObject({
      conditions: [{ type: "Approved", reason: "AutoApprovedByHubCSRApprovingController" }],
    });
  });

  it("is printed in the columns of the original", async () => {
    await stage.joined("shown", {});
    const found = await stage.hub.kubectl("get", "mcl", "shown");
    expect(found.out.split("\n")[0]).toMatch(/^NAME +HUB ACCEPTED +MANAGED CLUSTER URLS +JOINED +AVAILABLE +AGE/);
    expect(found.out).toMatch(/shown +true/);
  });
});

describe("the two decisions", () => {
  it("are of two people where each holds one right", async () => {
    await bind("ann", "open-cluster-management:approver");
    await bind("acc", "open-cluster-management:accepter");
    const [ann, acc] = [stage.as("ann"), stage.as("acc")];
    await stage.create("apart");
    const request = await stage.request("apart");
    const refusedAcceptance = await stage.accept("apart", ann);
    const refusedApproval = await stage.approve(request.name, acc);
    expect([refusedAcceptance.status, refusedApproval.status]).toEqual([403, 403]);
    expect((await stage.approve(request.name, ann)).status).toBe(200);
    expect((await stage.accept("apart", acc)).status).toBe(200);
    await stage.cluster("apart");
  });

  it("hold for an administrator who may write clusters and has no right to accept", async () => {
    await grant("owner", [{ apiGroups: ["cluster.open-cluster-management.io"], resources: ["*"], verbs: ["*"] }]);
    const owner = stage.as("owner");
    expect((await stage.create("owned", {}, owner)).status).toBe(201);
    const refused = await stage.accept("owned", owner);
    expect([refused.status, refused.json()["message"]]).toEqual([
      403,
      expect.stringContaining("managedclusters/accept"),
    ]);
    expect((await stage.create("owned-at-once", { hubAcceptsClient: true }, owner)).status).toBe(403);
  });

  it("are of one cluster where the right names it", async () => {
    const names = ["mine"];
    await grant("only", [
      {
        apiGroups: ["cluster.open-cluster-management.io"],
        resources: ["managedclusters"],
        verbs: ["get", "list", "patch", "update"],
      },
      {
        apiGroups: ["register.open-cluster-management.io"],
        resources: ["managedclusters/accept"],
        verbs: ["update"],
        resourceNames: names,
      },
    ]);
    const only = stage.as("only");
    for (const name of ["mine", "yours", "mine-too"]) await stage.create(name);
    const replies = [];
    for (const name of ["mine", "yours", "mine-too"]) replies.push((await stage.accept(name, only)).status);
    expect(replies).toEqual([200, 403, 403]);
    expect((await stage.accept("mine", only, false)).status).toBe(200);
  });
});

describe("a cluster that is denied", () => {
  it("loses all rights at once, and its certificate stays rejected when it is accepted again", async () => {
    const agent = await stage.joined("denied");
    await stage.cluster(
      "denied",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    await stage.accept("denied", stage.admin, false);
    await stage.cluster("denied", says("HubAcceptedManagedCluster", "False", "HubClusterAdminDenied"));
    expect((await agent(`${clustersPath}/denied`)).status).toBe(401);
    const bindings = (await stage.admin(`${rbac}/namespaces/denied/rolebindings`)).items();
    expect(bindings).toEqual([]);

    await stage.accept("denied");
    await stage.cluster("denied", isLetIn);
    expect((await agent(`${clustersPath}/denied`)).status).toBe(401);
    const anew = await stage.request("denied", { agent: "n3wag" });
    await stage.approve(anew.name);
    expect((await (await stage.issued(anew))(lease("denied"))).status).toBe(200);
  });

  it("is left alone where it was never let in", async () => {
    await stage.create("patient");
    await stage.cluster("patient", (one) => taintsOf(one).length > 0);
    const { metadata, status } = (await stage.admin(`${clustersPath}/patient`)).object();
    expect([metadata.finalizers, status]).toEqual([undefined, undefined]);
  });
});

describe("a cluster that leaves", () => {
  it("is deleted with its namespace, its rights and its lease", async () => {
    const agent = await stage.joined("leaving");
    await stage.admin(`${clustersPath}/leaving`, { method: "DELETE" });
    await stage.gone(clustersPath, "leaving");
    await stage.gone("/api/v1/namespaces", "leaving");
    const role = "open-cluster-management:managedcluster:leaving";
    for (const kind of ["clusterroles", "clusterrolebindings"]) {
      expect((await stage.admin(`${rbac}/${kind}/${role}`)).status).toBe(404);
    }
    expect((await agent(`${clustersPath}/leaving`)).status).toBe(401);
  });

  it("may announce it itself, and the hub removes it", async () => {
    const agent = await stage.joined("departing");
    const stored = (await agent(`${clustersPath}/departing`)).object();
    const annotations = { ...stored.metadata.annotations, "agent.open-cluster-management.io/leave": "true" };
    const left = await agent(`${clustersPath}/departing`, {
      method: "PUT",
      body: {
        ...stored,
        metadata: { ...stored.metadata, annotations },
        spec: { ...(stored["spec"] as object), hubAcceptsClient: false },
      },
    });
    expect(left.status).toBe(200);
    await stage.gone(clustersPath, "departing");
  });

  it("leaves a namespace that was there before", async () => {
    await stage.admin("/api/v1/namespaces", { method: "POST", body: { metadata: { name: "older" } } });
    await stage.create("older");
    expect((await stage.accept("older")).headers["warning"]).toContain("was there before the cluster");
    await stage.cluster("older");
    await stage.admin(`${clustersPath}/older`, { method: "DELETE" });
    await stage.gone(clustersPath, "older");
    const { metadata } = (await stage.admin("/api/v1/namespaces/older")).object();
    expect(metadata.deletionTimestamp).toBeUndefined();
  });

  it("is waited for while something of it is left, unless an administrator says that its spoke is gone", async () => {
    await stage.joined("dead");
    const held = await addOn("dead", "stuck", { finalizers: ["example.com/agent"] });
    expect(held.status).toBe(201);
    await stage.admin(`${clustersPath}/dead`, { method: "DELETE" });
    await stage.cluster("dead", says("Deleting", "False", "ResourceRemaining"));
    const annotations = { "registration.pratique.dev/force-detach": "true" };
    await stage.admin(`${clustersPath}/dead`, { method: "PATCH", type: merge, body: { metadata: { annotations } } });
    await stage.gone(clustersPath, "dead");
    await stage.gone("/api/v1/namespaces", "dead");
  });

  it("joins again under its name, as another agent", async () => {
    await stage.joined("again");
    await stage.admin(`${clustersPath}/again`, { method: "DELETE" });
    await stage.gone(clustersPath, "again");
    await stage.gone("/api/v1/namespaces", "again");
    const agent = await stage.joined("again", { agent: "zzzzz" });
    expect((await agent(lease("again"))).status).toBe(200);
  });
});

describe("sets of clusters", () => {
  it("are default and global from the start, and say whether they are empty", async () => {
    await stage.create("counted");
    for (const name of ["default", "global"]) {
      await until(stage.admin, `${setsPath}?fieldSelector=metadata.name=${name}`, (set) =>
        says("ClusterSetEmpty", "False", "ClustersSelected")(set as ApiObject),
      );
    }
    await stage.admin(`${setsPath}/global`, { method: "DELETE" });
    const spec = { clusterSelector: { selectorType: "LabelSelector", labelSelector: {} } };
    expect(
      await until(stage.admin, `${setsPath}?fieldSelector=metadata.name=global`, (set) => set !== undefined),
    ).toMatchObject({ spec });
  });

  it("accept clusters only of users who may join them", async () => {
    await stage.admin(setsPath, {
      method: "POST",
      body: {
        apiVersion: "cluster.open-cluster-management.io/v1beta2",
        kind: "ManagedClusterSet",
        metadata: { name: "prod" },
      },
    });
    const labels = { "cluster.open-cluster-management.io/clusterset": "prod" };
    const body = {
      apiVersion: "cluster.open-cluster-management.io/v1",
      kind: "ManagedCluster",
      metadata: { name: "sly", labels },
    };
    const refused = await stage.booter(clustersPath, { method: "POST", body });
    expect([refused.status, refused.json()["message"]]).toEqual([403, expect.stringContaining('set "prod"')]);
    expect((await stage.admin(clustersPath, { method: "POST", body })).status).toBe(201);
  });

  it("are bound under their own name, and say so", async () => {
    const path = "/apis/cluster.open-cluster-management.io/v1beta2/namespaces/default/managedclustersetbindings";
    const binding = (name: string, clusterSet: string): object => ({
      apiVersion: "cluster.open-cluster-management.io/v1beta2",
      kind: "ManagedClusterSetBinding",
      metadata: { name },
      spec: { clusterSet },
    });
    expect((await stage.admin(path, { method: "POST", body: binding("other", "global") })).status).toBe(422);
    for (const [name, status] of [
      ["global", "True"],
      ["missing", "False"],
    ] as const) {
      expect((await stage.admin(path, { method: "POST", body: binding(name, name) })).status).toBe(201);
      await until(stage.admin, `${path}?fieldSelector=metadata.name=${name}`, (one) =>
        says("Bound", status)(one as ApiObject),
      );
    }
  });
});

describe("add-ons", () => {
  it("are followed and reported in v1alpha1 by agents before v1.3, and stay unchanged in v1beta1", async () => {
    const agent = await stage.joined("older");
    await addOn("older", "logs");
    const path = `${addOns("older")}/logs`;
    const registrations = [{ type: "kubeClient", kubeClient: { subject: { user: "u", groups: ["g"] } } }];
    const wanted = { status: { namespace: "logs", registrations } };
    await stage.admin(`${path}/status`, { method: "PATCH", type: merge, body: wanted });
    const older = addOns("older").replace("v1beta1", "v1alpha1");
    const [listed] = (await agent(older)).items();
    expect(listed).toMatchObject({
      status: {
        namespace: "logs",
        registrations: [{ signerName: "kubernetes.io/kube-apiserver-client", subject: { user: "u", groups: ["g"] } }],
      },
    });
    const condition = {
      type: "Available",
      status: "True",
      reason: "ManagedClusterAddOnLeaseUpdated",
      message: "logs add-on is available.",
      lastTransitionTime: "2026-11-21T00:00:00Z",
    };
    const body = { status: { kubeClientDriver: "csr", conditions: [condition] } };
    const said = await agent(`${older}/logs/status`, { method: "PATCH", type: merge, body });
    expect([said.status, said.object().apiVersion]).toEqual([200, "addon.open-cluster-management.io/v1alpha1"]);
    expect((await agent(path)).object()["status"]).toMatchObject({
      namespace: "logs",
      conditions: [condition],
      registrations: [{ type: "kubeClient", kubeClient: { subject: { user: "u", groups: ["g"] }, driver: "csr" } }],
    });
  });

  it("get a certificate for the agent of their cluster, once their hub side wants one", async () => {
    const agent = await stage.joined("addons");
    await addOn("addons", "logs");
    const own = "system:open-cluster-management:cluster:addons:addon:logs";
    const asked = {
      commonName: `${own}:agent:a1b2c`,
      organizations: [own, "system:open-cluster-management:addon:logs", "system:authenticated"],
      dnsNames: ["logs.addon.open-cluster-management.io"],
      labels: {
        "open-cluster-management.io/cluster-name": "addons",
        "open-cluster-management.io/addon-name": "logs",
      },
    };
    const request = await stage.request("addons", asked, agent);
    expect(request.reply.status).toBe(201);
    await stage.admin(`${addOns("addons")}/logs/status`, {
      method: "PATCH",
      type: merge,
      body: { status: { registrations: [{ type: "kubeClient", kubeClient: { driver: "csr" } }] } },
    });
    const client = await stage.issued(request);
    const who = await client("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
      method: "POST",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    expect(who.text).toContain(`${own}:agent:a1b2c`);
  });

  it("show in the labels of their cluster how they are", async () => {
    await stage.joined("healthy");
    await addOn("healthy", "probe");
    const label =
      (value: string) =>
      ({ metadata }: ApiObject): boolean =>
        metadata.labels?.["feature.open-cluster-management.io/addon-probe"] === value;
    await stage.cluster("healthy", label("unreachable"));
    const condition = {
      type: "Available",
      status: "True",
      reason: "Tested",
      message: "",
      lastTransitionTime: "2026-11-21T00:00:00Z",
    };
    await stage.admin(`${addOns("healthy")}/probe/status`, {
      method: "PATCH",
      type: merge,
      body: { status: { conditions: [condition] } },
    });
    expect((await stage.cluster("healthy", label("available"))).metadata.name).toBe("healthy");
  });
});

describe("taints of a cluster", () => {
  it("hold since when the hub saw them", async () => {
    const timeAdded = "2001-01-01T00:00:00Z";
    const made = await stage.create("tainted", { taints: [{ key: "a", effect: "NoSelect", timeAdded }] });
    const [first] = (made.object()["spec"] as { readonly taints: readonly { readonly timeAdded: string }[] }).taints;
    expect(first?.timeAdded).not.toBe(timeAdded);
    const patch = (taints: readonly object[]): Promise<Reply> =>
      stage.admin(`${clustersPath}/tainted`, { method: "PATCH", type: merge, body: { spec: { taints } } });
    const refused = await patch([{ key: "a", effect: "NoSelect", timeAdded }]);
    expect([refused.status, refused.json()["reason"]]).toEqual([400, "BadRequest"]);
    expect((await patch([{ key: "b", effect: "NoSelect", timeAdded }])).status).toBe(400);
    expect((await patch([{ key: "b", effect: "NoSelect" }])).status).toBe(200);
  });
});

describe("a hub that starts again", () => {
  it("knows the clusters that it had, and what belongs to them", async () => {
    const first = await startClusterStage();
    const agent = await first.joined("lasting");
    const certificate = await first.joined("other");
    expect([(await agent(lease("lasting"))).status, (await certificate(lease("other"))).status]).toEqual([200, 200]);
    await first.admin(`${rbac}/clusterroles/open-cluster-management:managedcluster:work`, { method: "DELETE" });
    await first.close("keep");
    const again = await startClusterStage({ dir: first.hub.dir });
    await again.cluster("lasting");
    await until(
      again.admin,
      `${rbac}/clusterroles?fieldSelector=metadata.name%3Dopen-cluster-management:managedcluster:work`,
      (role) => role !== undefined,
    );
    const renewed = await again.request("lasting", { agent: "other" });
    expect(renewed.reply.status).toBe(201);
    await again.close();
  });
});

describe("a hub after all this", () => {
  it("is healthy", async () => {
    const answers = ["/livez", "/readyz", "/healthz"].map(async (path) => (await stage.admin(path)).text);
    expect(await Promise.all(answers)).toEqual(["ok", "ok", "ok"]);
  });

  it("has logged nothing that broke", () => {
    // That denied agents come again is reported as it should be, and so is what a deletion or a request waits for.
    const expected: ReadonlySet<unknown> = new Set([
      "AddOnObjectsLeft",
      "AvailableUnknown",
      "ClusterNotApproved",
      "RevokedCredentialUsed",
    ]);
    const bad = stage.hub.log.filter(
      ({ level, reason }) => (level === "error" || level === "warn") && !expected.has(reason),
    );
    expect(bad).toEqual([]);
  });
});
