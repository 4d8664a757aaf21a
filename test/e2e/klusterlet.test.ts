import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFailed, onTestFinished } from "vitest";
import { folderStore } from "../../src/credentials/storage/folder-store.ts";
import { klusterletStatus } from "../../src/agent/klusterlet/klusterlet-status.ts";
import type { KlusterletStore } from "../../src/credentials/storage/klusterlet-store.ts";
import { leaveHub } from "../../src/agent/klusterlet/leave-hub.ts";
import { secretStore } from "../../src/credentials/storage/secret-store.ts";
import { privateFiles } from "../../src/host/private-files.ts";
import { wallClock } from "../../src/host/system-clock.ts";
import { remoteClient, type RemoteClient } from "../../src/client/remote.ts";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { parseCsr } from "../../src/pki/csr.ts";
import { apiClient, putChanged, type ApiClient } from "../kits/api-client.ts";
import {
  clustersPath,
  csrsPath,
  isLetIn,
  says,
  sendRequest,
  startClusterStage,
  type ClusterStage,
} from "../kits/cluster-stage.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { klusterletOptions, startKlusterlet, type KlusterletWish, type RunningKlusterlet } from "../kits/klusterlet.ts";
import { keepSkipping, skippingClock } from "../kits/skipping-clock.ts";

const available = "ManagedClusterConditionAvailable";
const leasePath = (name: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/${name}/leases/managed-cluster-lease`;

const admissionPath = (plural: string): string => `/apis/admissionregistration.k8s.io/v1/${plural}`;
const noLeases = {
  metadata: { name: "no-leases" },
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: ["coordination.k8s.io"], apiVersions: ["v1"], operations: ["UPDATE"], resources: ["leases"] },
      ],
    },
    validations: [{ expression: "object.metadata.name != 'managed-cluster-lease'", message: "no heartbeats" }],
  },
};
const noLeasesBinding = {
  metadata: { name: "no-leases" },
  spec: { policyName: "no-leases", validationActions: ["Deny"] },
};

let stage: ClusterStage;
let dir: string;
let bootstrap: string;
const running: RunningKlusterlet[] = [];

beforeAll(async () => {
  stage = await startClusterStage();
  dir = await mkdtemp(join(tmpdir(), "pratique-klusterlet-"));
  bootstrap = await stage.hub.kubeconfigOf("booter");
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});
afterAll(async () => {
  await stage.close();
  await rm(dir, { recursive: true, force: true });
});

const place = (name: string): KlusterletStore => folderStore(join(dir, name), privateFiles);

function start(clusterName: string, wish: Partial<KlusterletWish> = {}): RunningKlusterlet {
  const one = startKlusterlet({ bootstrapKubeconfigs: [bootstrap], clusterName, store: place(clusterName), ...wish });
  running.push(one);
  onTestFailed(() => void process.stderr.write(`the agent of ${clusterName} told: ${JSON.stringify(one.events)}\n`));
  return one;
}

/** An agent that may go to the hub of `stage`, too, and that a hub has served which has ended since; `kubeconfigs` are its own copies. */
async function startAtDyingHub(name: string): Promise<{
  readonly agent: RunningKlusterlet;
  readonly kubeconfigs: readonly string[];
  /** Lets the time of the agent pass until it leaves the hub that is silent. */
  readonly left: () => Promise<string>;
  /** Starts that hub again. */
  readonly revive: () => Promise<ClusterStage>;
}> {
  const dying = await startClusterStage();
  const clock = skippingClock();
  const kubeconfigs = [join(dir, `${name}-dying.kubeconfig`), join(dir, `${name}-other.kubeconfig`)];
  const [first, second] = kubeconfigs as [string, string];
  await copyFile(await dying.hub.kubeconfigOf("booter"), first);
  await copyFile(bootstrap, second);
  const agent = start(name, { bootstrapKubeconfigs: kubeconfigs, clock, hubTimeoutMs: 180_000 });
  await dying.create(name);
  await dying.accept(name);
  await letIn(name, agent, dying);
  await dying.close("keep");
  onTestFinished(() => rm(dying.hub.dir, { recursive: true, force: true }));
  agent.forget();
  const left = async (): Promise<string> => {
    const stopSkipping = keepSkipping(clock, 30_000);
    try {
      return (await agent.told("leaving-hub")).message;
    } finally {
      stopSkipping();
    }
  };
  const revive = async (): Promise<ClusterStage> => {
    const again = await startClusterStage({ dir: dying.hub.dir, securePort: dying.hub.port });
    onTestFinished(() => again.close("keep"));
    return again;
  };
  return { agent, kubeconfigs, left, revive };
}

/** Both decisions on the cluster that asks now. */
async function letIn(name: string, agent: RunningKlusterlet, at = stage): Promise<string> {
  const { request } = await agent.told("requested");
  await at.approve(request);
  await at.accept(name);
  await agent.told("available");
  return request;
}

async function deny(request: string, why: { readonly reason: string; readonly message: string }): Promise<void> {
  const change = (object: ApiObject): object => ({
    ...object,
    status: { conditions: [{ type: "Denied", status: "True", ...why }] },
  });
  const reply = await putChanged(stage.admin, `${csrsPath}/${request}`, { change, subresource: "/approval" });
  expect(reply.status).toBe(200);
}

const requestsOf = async (name: string): Promise<readonly ApiObject[]> =>
  (
    await stage.admin(
      `${csrsPath}?labelSelector=${encodeURIComponent(`open-cluster-management.io/cluster-name=${name}`)}`,
    )
  ).items();

const subjectOf = ({ spec }: ApiObject): string => {
  const { request } = spec as { readonly request: string };
  return parseCsr(Buffer.from(request, "base64").toString("latin1")).subject.commonName;
};

describe("a cluster that joins", () => {
  it("is available once both decisions are made, and leaves files that only their owner reads", async () => {
    const agent = start("east");
    const { request, agent: id } = await agent.told("requested");
    const waiting = await agent.told("waiting");
    expect(waiting).toMatchObject({ agent: id, open: ["certificate", "acceptance"] });
    expect(waiting.commands[0]).toBe(`pratique cluster accept east --agent-id ${id}`);
    expect((await klusterletStatus(place("east"), Date.now()))?.agent).toBe(id);
    const csr = (await stage.admin(`${csrsPath}/${request}`)).object();
    expect(csr.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "east" });
    expect([subjectOf(csr), csr["spec"]]).toEqual([
      `system:open-cluster-management:east:${id}`,
      expect.objectContaining({
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["digital signature", "key encipherment", "client auth"],
      }),
    ]);
    await stage.approve(request);
    await agent.told("waiting", ({ open }) => open.join() === "acceptance");
    await stage.accept("east");
    await agent.told("available");
    await stage.cluster("east", says(available, "True"));
    await stage.cluster("east", says("ManagedClusterJoined", "True"));
    for (const name of ["kubeconfig", "tls.crt", "tls.key", "cluster-name", "agent-name"]) {
      expect((await stat(join(dir, "east", name))).mode & 0o777).toBe(0o600);
    }
    expect(await readFile(join(dir, "east", "agent-name"), "utf8")).toBe(id);
    const lease = (await stage.admin(leasePath("east"))).object();
    expect(lease.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "east" });
  });

  it("may be accepted before its certificate is approved", async () => {
    const clock = skippingClock();
    const agent = start("early", { clock });
    const { request } = await agent.told("requested");
    await stage.accept("early");
    clock.skip(5000);
    expect((await agent.told("waiting", ({ open }) => open.length === 1)).open).toEqual(["certificate"]);
    await stage.approve(request);
    await agent.told("available");
  });

  it("keeps its id, its key and its request when it restarts while that is pending", async () => {
    const first = start("patient");
    const asked = await first.told("requested");
    await first.stop();
    const second = start("patient");
    expect(await second.told("requested")).toEqual({ ...asked, found: true });
    expect(await requestsOf("patient")).toHaveLength(1);
    await letIn("patient", second);
  });

  it("joins with one id and one request, wherever its agent was killed", async () => {
    let deaths = 0;
    for (let at = 1; ; at += 1) {
      const name = `killed-${at}`;
      const first = start(name, { store: dyingStore(place(name), at) });
      const isDead = await Promise.race([
        first.done.then(
          () => false,
          () => true,
        ),
        letIn(name, first).then(() => false),
      ]).catch(() => true);
      await first.stop();
      if (!isDead) break;
      deaths += 1;
      const clock = skippingClock();
      const second = start(name, { clock });
      const stopSkipping = keepSkipping(clock, 1000, 100);
      const asked = await Promise.race([second.told("requested"), second.told("accepted").then(() => undefined)]);
      if (asked !== undefined) await stage.approve(asked.request);
      await stage.accept(name);
      await second.told("available").finally(stopSkipping);
      const ids = new Set(
        [...first.events, ...second.events].flatMap((one) => (one.kind === "started" ? [one.agent] : [])),
      );
      expect([at, (await requestsOf(name)).length, ids.size]).toEqual([at, 1, at === 1 ? ids.size : 1]);
      await second.stop();
    }
    expect(deaths).toBeGreaterThan(1);
  }, 120_000);

  it("uses the credential that another agent of the same name has left", async () => {
    const first = start("adopted");
    const request = await letIn("adopted", first);
    await first.stop();
    await rm(join(dir, "adopted", "klusterlet.json"));
    const second = start("adopted");
    await second.told("available");
    expect((await second.told("started")).agent).toBe((await first.told("started")).agent);
    expect((await requestsOf("adopted")).map(({ metadata }) => metadata.name)).toEqual([request]);
  });

  it("has a random name where none was given, and keeps it", async () => {
    const first = startKlusterlet({ bootstrapKubeconfigs: [bootstrap], store: place("nameless") });
    running.push(first);
    const { cluster } = await first.told("started");
    await first.told("requested");
    await first.stop();
    expect(cluster).toMatch(/^[0-9a-f-]{36}$/);
    const second = startKlusterlet({ bootstrapKubeconfigs: [bootstrap], store: place("nameless") });
    running.push(second);
    expect((await second.told("started")).cluster).toBe(cluster);
  });

  it("is not another cluster than before in the same place", async () => {
    const first = start("one");
    await first.told("requested");
    await first.stop();
    const second = start("two", { store: place("one") });
    await expect(second.done).rejects.toMatchObject({ code: "already-joined" });
  });

  it("joins although ten requests of its name exist", async () => {
    await stage.create("crowded");
    for (let count = 0; count < 10; count += 1) await sendRequest(stage.booter, "crowded", { agent: `old${count}` });
    const clock = skippingClock();
    const agent = start("crowded", { clock });
    const asking = agent.told("requested");
    const stopSkipping = keepSkipping(clock, 60_000, 500);
    try {
      const { request } = await asking;
      expect((await stage.admin(`${csrsPath}/${request}`)).status).toBe(200);
    } finally {
      stopSkipping();
    }
  });
});

describe("a cluster that is refused", () => {
  it("creates another request, with the same id and another key, once its denied one is gone", async () => {
    const clock = skippingClock();
    const agent = start("unwanted", { clock });
    const { request, agent: id, fingerprint } = await agent.told("requested");
    await deny(request, { reason: "Unknown", message: "who is that" });
    expect((await agent.told("failed")).message).toBe(
      `the request ${request} was denied: Unknown: who is that. To let the agent request another certificate, delete that request on the hub: kubectl delete csr ${request}`,
    );
    await stage.admin(`${csrsPath}/${request}`, { method: "DELETE" });
    agent.forget();
    // The agent reports before it pauses: one skip could come before the pause that it is to end.
    const stopSkipping = keepSkipping(clock, 30_000, 50);
    const again = await agent.told("requested").finally(stopSkipping);
    expect([again.agent, again.request === request, again.fingerprint === fingerprint]).toEqual([id, false, false]);
  });

  it("ends at once where somebody waits at a terminal", async () => {
    const agent = start("hasty", { until: "available" });
    const { request } = await agent.told("requested");
    await deny(request, { reason: "No", message: "no" });
    await expect(agent.done).rejects.toMatchObject({
      code: "denied",
      message: expect.stringMatching(/ was denied: No: no\. To let the agent request .*kubectl delete csr /),
    });
    const status = await klusterletStatus(place("hasty"), Date.now());
    expect(status?.request?.denied).toContain("was denied: No: no");
  });

  it("stops updating its lease when it is denied, and registers with a new id when it is accepted again", async () => {
    const clock = skippingClock();
    const agent = start("denied", { clock });
    await letIn("denied", agent);
    const { agent: id } = await agent.told("started");
    await stage.cluster(
      "denied",
      ({ metadata }) => metadata.annotations?.["registration.pratique.dev/agents"] !== undefined,
    );
    await stage.accept("denied", stage.admin, false);
    await stage.cluster("denied", says("HubAcceptedManagedCluster", "False", "HubClusterAdminDenied"));
    await agent.told("denied");
    await expect
      .poll(() => klusterletStatus(place("denied"), Date.now()))
      .toMatchObject({
        good: false,
        shutOut: { message: expect.stringContaining("cluster denied is no longer accepted by") },
      });
    agent.forget();
    await stage.accept("denied");
    await stage.cluster("denied", isLetIn);
    const stopSkipping = keepSkipping(clock, 10_000, 500);
    try {
      expect((await agent.told("registering-again")).message).toContain("but no longer");
    } finally {
      stopSkipping();
    }
    const anew = await agent.told("requested");
    expect(anew.agent).not.toBe(id);
    await stage.approve(anew.request);
    await agent.told("available");
    await expect.poll(() => klusterletStatus(place("denied"), Date.now())).toMatchObject({ good: true });
    expect(await klusterletStatus(place("denied"), Date.now())).not.toHaveProperty("shutOut");
  });
});

describe("a cluster that stays", () => {
  it("renews its certificate with the current one and another key, without a person", async () => {
    const clock = skippingClock();
    const agent = start("renewing", { clock, expirationSeconds: 3600 });
    await letIn("renewing", agent);
    const [before, key] = [await readFile(join(dir, "renewing", "tls.crt"), "utf8"), await keyOf("renewing")];
    const { at, expiresAt } = await agent.told("planned");
    expect((expiresAt - at) / 3_600_000).toBeGreaterThan(0.19);
    clock.skip(at - clock.now());
    await agent.told("renewed");
    const after = await readFile(join(dir, "renewing", "tls.crt"), "utf8");
    expect([after === before, (await keyOf("renewing")) === key]).toEqual([false, false]);
  });

  it("updates its lease with a wrong clock, and reports why its status is not written", async () => {
    const agent = start("skewed", { clock: skippingClock(10 * 60_000) });
    const { request } = await agent.told("requested");
    await stage.approve(request);
    await stage.accept("skewed");
    await stage.cluster("skewed", says("ManagedClusterConditionClockSynced", "False"));
    expect((await agent.told("withheld")).message).toContain("clock");
    const { spec } = (await stage.admin(leasePath("skewed"))).object();
    expect(Date.parse((spec as { readonly renewTime: string }).renewTime)).toBeGreaterThan(Date.now() + 5 * 60_000);
  });

  it("registers again under its id when the bootstrap kubeconfig names another hub", async () => {
    const clock = skippingClock();
    const file = join(dir, "renamed.kubeconfig");
    const text = await readFile(bootstrap, "utf8");
    await writeFile(file, text);
    const agent = start("renamed", { clock, bootstrapKubeconfigs: [file] });
    await letIn("renamed", agent);
    const { agent: id } = await agent.told("started");
    agent.forget();
    await writeFile(file, text.replaceAll("kubernetes", "rebuilt"));
    clock.skip(60_000);
    await agent.told("registering-again");
    expect((await agent.told("requested")).agent).toBe(id);
  });

  it("goes to another hub when the first one denies it", async () => {
    const second = await startClusterStage();
    try {
      const other = await second.hub.kubeconfigOf("booter");
      await second.create("moving");
      await second.accept("moving");
      const agent = start("moving", { bootstrapKubeconfigs: [bootstrap, other] });
      await letIn("moving", agent);
      agent.forget();
      await stage.accept("moving", stage.admin, false);
      await agent.told("leaving-hub");
      await letIn("moving", agent, second);
      expect((await klusterletStatus(place("moving"), Date.now()))?.server).toBe(second.hub.url);
    } finally {
      await second.close();
    }
  });
});

describe("a cluster with several hubs", () => {
  it("says once which bootstrap kubeconfig it cannot read, and joins by another", async () => {
    const missing = join(dir, "missing.kubeconfig");
    const agent = start("half", { bootstrapKubeconfigs: [missing, bootstrap] });
    const { message } = await agent.told("failed");
    expect(message).toContain(missing);
    await letIn("half", agent);
    expect(agent.events.filter(({ kind }) => kind === "failed")).toHaveLength(1);
  });

  it("goes to the next one when the first does not answer in time", async () => {
    await stage.create("safe");
    await stage.accept("safe");
    const { agent, left } = await startAtDyingHub("safe");
    expect(await left()).toBe("the hub takes no heartbeat");
    await stage.approve((await agent.told("requested")).request);
    await agent.told("accepted");
  });

  it("asks the next one again when that did not take it at first, instead of waiting for the silent one once more", async () => {
    await stage.create("turned-away");
    const { agent, left } = await startAtDyingHub("turned-away");
    await left();
    await agent.told("failed", ({ message }) => message.includes("does not accept the cluster turned-away"));
    agent.forget();
    await stage.accept("turned-away");
    await stage.approve((await agent.told("requested")).request);
    await agent.told("accepted");
    expect(agent.events.map(({ kind }) => kind)).not.toContain("leaving-hub");
  });

  it("goes to the next one when the first answers and accepts it, but takes no heartbeat", async () => {
    const deaf = await startClusterStage();
    onTestFinished(() => deaf.close());
    await stage.create("unheard");
    await stage.accept("unheard");
    const clock = skippingClock();
    const bootstrapKubeconfigs = [await deaf.hub.kubeconfigOf("booter"), bootstrap];
    const agent = start("unheard", { bootstrapKubeconfigs, clock, hubTimeoutMs: 180_000 });
    await deaf.create("unheard");
    await deaf.accept("unheard");
    await letIn("unheard", agent, deaf);
    await deaf.admin(admissionPath("validatingadmissionpolicies"), { method: "POST", body: noLeases });
    await deaf.admin(admissionPath("validatingadmissionpolicybindings"), { method: "POST", body: noLeasesBinding });
    agent.forget();
    const stopSkipping = keepSkipping(clock, 30_000);
    onTestFinished(stopSkipping);
    await agent.told("leaving-hub", ({ message }) => message === "the hub takes no heartbeat");
    const { request } = await agent.told("requested");
    expect((await stage.approve(request)).status).toBe(200);
  });

  it("goes back to the one that it left when that answers again, though its bootstrap credential has ended", async () => {
    await stage.create("faithful");
    const { agent, kubeconfigs, left, revive } = await startAtDyingHub("faithful");
    const [first] = kubeconfigs as [string];
    await writeFile(first, (await readFile(first, "utf8")).replace("booter-token-", "ended-token-"));
    await left();
    await agent.told("failed", ({ message }) => message.includes("does not accept the cluster faithful"));
    const { hub } = await revive();
    const back = await agent.told("hub", ({ as, server }) => as === "agent" && server === hub.url);
    expect(back).toMatchObject({ server: hub.url });
    await agent.told("accepted");
  });

  it("goes back to the one that it left when no bootstrap kubeconfig can be read", async () => {
    const { agent, kubeconfigs, left, revive } = await startAtDyingHub("unread");
    for (const file of kubeconfigs) await rm(file);
    await left();
    const { hub } = await revive();
    const back = await agent.told("hub", ({ as, server }) => as === "agent" && server === hub.url);
    expect(back).toMatchObject({ server: hub.url });
    await agent.told("accepted");
  });
});

describe("a cluster that leaves", () => {
  it("is taken off the hub, and nothing stays behind", async () => {
    const agent = start("leaving");
    await letIn("leaving", agent);
    await agent.stop();
    const options = { ...klusterletOptions({ bootstrapKubeconfigs: [bootstrap], store: place("leaving") }) };
    const signal = new AbortController().signal;
    const left = await leaveHub({ ...options, signal, report: () => undefined }, false);
    expect(left).toMatchObject({ cluster: "leaving", onHub: "nothing" });
    expect((await stage.admin(`${clustersPath}/leaving`)).status).toBe(404);
    expect(await klusterletStatus(place("leaving"), Date.now())).toBeUndefined();
    await expect(leaveHub({ ...options, signal, report: () => undefined }, false)).rejects.toMatchObject({
      code: "no-access",
    });
  });

  it("joins again after a new installation, as another agent that a person lets in", async () => {
    const first = start("again");
    await letIn("again", first);
    await first.stop();
    await place("again").remove();
    const second = start("again");
    const [before, anew] = [await first.told("started"), await second.told("requested")];
    expect(anew.agent).not.toBe(before.agent);
    expect((await second.told("waiting")).open).toEqual(["certificate"]);
    await stage.approve(anew.request);
    await second.told("available");
  });

  it("is told when the hub has detached it", async () => {
    const clock = skippingClock();
    const agent = start("detached", { clock });
    await letIn("detached", agent);
    await stage.admin(`${clustersPath}/detached`, { method: "DELETE" });
    await stage.gone(clustersPath, "detached");
    const stopSkipping = keepSkipping(clock, 10_000, 500);
    try {
      expect((await agent.told("detached")).message).toContain("has no ManagedCluster detached any more");
    } finally {
      stopSkipping();
    }
  });
});

describe("a cluster with an API", () => {
  let spoke: TestHub;
  let admin: ApiClient;
  let client: RemoteClient;

  beforeAll(async () => {
    spoke = await startTestHub({ users: { root: ["system:masters"] } });
    admin = apiClient(spoke);
    client = remoteClient({
      server: spoke.url,
      caPem: spoke.ca,
      token: spoke.token("root"),
      userAgent: "klusterlet-test",
      timeoutMs: 30_000,
      clock: wallClock,
    });
  });
  afterAll(async () => {
    client.close();
    admin.close();
    await spoke.close();
  });

  it("reports its version, its capacity and its claims, and stores its credential as a Secret", async () => {
    for (const [name, cpu, unschedulable] of [
      ["a", "2", false],
      ["b", "500m", true],
    ] as const) {
      const node = { apiVersion: "v1", kind: "Node", metadata: { name }, spec: { unschedulable } };
      await admin("/api/v1/nodes", { method: "POST", body: node });
      const size = { cpu, memory: "1Gi" };
      await admin(`/api/v1/nodes/${name}/status`, {
        method: "PATCH",
        type: "application/merge-patch+json",
        body: { status: { capacity: size, allocatable: size } },
      });
    }
    await servesClaims(admin);
    const store = secretStore(client, "open-cluster-management-agent");
    const agent = start("south", { spoke: client, store, externalServers: [spoke.url], spokeCaPem: spoke.ca });
    await letIn("south", agent);
    const { status, spec } = await stage.cluster(
      "south",
      (cluster) => "clusterClaims" in (cluster["status"] as object),
    );
    expect(status).toMatchObject({
      version: { kubernetes: expect.stringMatching(/^v1\./) },
      capacity: { cpu: "2500m", memory: "2Gi" },
      allocatable: { cpu: "2", memory: "1Gi" },
      clusterClaims: [
        { name: "id.k8s.io", value: "an-id" },
        { name: "colour", value: "blue" },
      ],
    });
    expect(spec).toMatchObject({
      managedClusterClientConfigs: [{ url: spoke.url, caBundle: Buffer.from(spoke.ca).toString("base64") }],
    });
    const secret = (
      await admin("/api/v1/namespaces/open-cluster-management-agent/secrets/hub-kubeconfig-secret")
    ).object();
    expect(Object.keys(secret["data"] as object).toSorted()).toEqual([
      "agent-name",
      "cluster-name",
      "kubeconfig",
      "tls.crt",
      "tls.key",
    ]);
  });
});

/** A store whose change with this number fails, as if its agent were killed there. */
function dyingStore(store: KlusterletStore, at: number): KlusterletStore {
  let count = 0;
  const step = <A extends readonly unknown[]>(run: (...args: A) => Promise<void>) => {
    return (...args: A): Promise<void> => {
      count += 1;
      return count >= at ? Promise.reject(new TypeError("killed")) : run(...args);
    };
  };
  return { ...store, writeState: step(store.writeState), writeCredential: step(store.writeCredential) };
}

async function keyOf(name: string): Promise<string> {
  return readFile(join(dir, name, "tls.key"), "utf8");
}

/** The kind that distributions define on their clusters, and a few claims of it. */
async function servesClaims(admin: ApiClient): Promise<void> {
  const group = "cluster.open-cluster-management.io";
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { value: { type: "string" } } } },
    },
  };
  await admin("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    method: "POST",
    body: {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `clusterclaims.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names: { plural: "clusterclaims", kind: "ClusterClaim" },
        versions: [{ name: "v1alpha1", served: true, storage: true, schema }],
      },
    },
  });
  const path = `/apis/${group}/v1alpha1/clusterclaims`;
  while ((await admin(path)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
  const claims: readonly (readonly [string, string, object])[] = [
    ["colour", "blue", {}],
    ["secret-colour", "red", { "open-cluster-management.io/spoke-only": "" }],
    ["id.k8s.io", "an-id", {}],
  ];
  for (const [name, value, labels] of claims) {
    const body = { apiVersion: `${group}/v1alpha1`, kind: "ClusterClaim", metadata: { name, labels }, spec: { value } };
    expect((await admin(path, { method: "POST", body })).status).toBe(201);
  }
}
