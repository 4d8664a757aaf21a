import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import type { LogEntry } from "../../src/apimachinery/log-entry.ts";
import { clustersPath, startClusterStage, says, type ClusterStage } from "../kits/cluster-stage.ts";
import { eventually } from "../kits/peers-process.ts";
import { leaveAnnotation } from "../../src/apis/managed-cluster.ts";
import { putChanged } from "../kits/api-client.ts";
import { pratiqueAs } from "../kits/pratique-as.ts";

let stage: ClusterStage;

beforeAll(async () => {
  stage = await startClusterStage();
});

afterAll(() => stage.close());

const merge = "application/merge-patch+json";
const stamp = "registration.pratique.dev/decided-by";
const operator = "kubernetes-admin";

function lineOf(reason: string, object: string): Promise<LogEntry> {
  return eventually(`${reason} of ${object}`, async () =>
    stage.hub.log.find((entry) => entry["reason"] === reason && entry["object"] === object),
  );
}

async function eventOf(reason: string, name: string): Promise<unknown> {
  const selector = encodeURIComponent(`reason=${reason},involvedObject.name=${name}`);
  return eventually(`the Event ${reason}`, async () => {
    const reply = await stage.admin(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
    const [event] = reply.object()["items"] as readonly { readonly message: string }[];
    return event?.message;
  });
}

describe("a decision on a managed cluster", () => {
  it("says in log and Event who accepted it, whatever its requester wrote there before", async () => {
    const metadata = { name: "told", annotations: { [stamp]: "the-queen" } };
    const body = {
      apiVersion: "cluster.open-cluster-management.io/v1",
      kind: "ManagedCluster",
      metadata,
      spec: { hubAcceptsClient: false },
    };
    expect((await stage.booter(clustersPath, { method: "POST", body })).status).toBe(201);
    expect((await stage.admin(`${clustersPath}/told`)).object().metadata.annotations?.[stamp]).toBeUndefined();
    await stage.accept("told");
    const accepted = await stage.cluster("told", says("HubAcceptedManagedCluster", "True"));
    expect(accepted.metadata.annotations?.[stamp]).toBe(operator);
    expect(await lineOf("ClusterAccepted", "ManagedCluster/told")).toMatchObject({ level: "info", user: operator });
    expect(await eventOf("ClusterAccepted", "told")).toBe(`managed cluster accepted by ${operator}`);
  });

  it("keeps the stamp whoever writes to the cluster afterwards", async () => {
    const body = { metadata: { annotations: { [stamp]: "mallory", other: "x" } } };
    const reply = await stage.admin(`${clustersPath}/told`, { method: "PATCH", type: merge, body });
    expect(reply.object().metadata.annotations).toMatchObject({ [stamp]: operator, other: "x" });
  });

  it("says who denied it, and why", async () => {
    const ran = await pratiqueAs(stage.hub, "admin", ["cluster", "deny", "told", "--reason", "stolen"]);
    expect(ran.code).toBe(0);
    expect(await lineOf("ClusterDenied", "ManagedCluster/told")).toMatchObject({ user: operator, why: "stolen" });
    expect(await eventOf("ClusterDenied", "told")).toBe(`managed cluster denied by ${operator}: stolen`);
  });

  it("is the agent's own where it leaves, and its stamp is no foreign change", async () => {
    const agent = await stage.joined("leaver");
    const reply = await putChanged(agent, `${clustersPath}/leaver`, {
      change: (stored) => {
        const { annotations } = stored.metadata;
        const metadata = { ...stored.metadata, annotations: { ...annotations, [leaveAnnotation]: "true" } };
        return { ...stored, metadata, spec: { ...(stored["spec"] as object), hubAcceptsClient: false } };
      },
    });
    expect(reply.status).toBe(200);
    expect(reply.object().metadata.annotations?.[stamp]).toMatch(/^system:open-cluster-management:leaver:/);
  });
});

describe("a revocation that is taken back", () => {
  it("says in log and Event who did so, and whose it was", async () => {
    expect((await pratiqueAs(stage.hub, "admin", ["revoke", "user/mallory", "--reason", "left"])).code).toBe(0);
    const path = "/apis/access.pratique.dev/v1alpha1/credentialrevocations";
    const all = (await stage.admin(path)).object()["items"] as readonly ApiObject[];
    const revocation = all.find(({ spec }) => (spec as { readonly user?: string }).user === "mallory");
    const name = revocation?.metadata.name ?? "";
    await lineOf("CredentialRevoked", `CredentialRevocation/${name}`);
    expect((await stage.admin(`${path}/${name}`, { method: "DELETE" })).status).toBe(200);
    expect(await lineOf("RevocationRemoved", `CredentialRevocation/${name}`)).toMatchObject({
      user: operator,
      revokedBy: operator,
      why: "left",
    });
    expect(await eventOf("RevocationRemoved", name)).toBe(`revocation of user mallory removed by ${operator}`);
  });
});
