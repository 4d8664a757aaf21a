import { describe, expect, test } from "vitest";
import { certificateSigningRequests, leases } from "../../controllers/kinds.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { createCsr } from "../../pki/csr.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { csrKey, csrObject } from "../../../test/kits/csr-object.ts";
import { memoryApi, type MemoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { fakeIo, kubeconfigText, runLine, type FakeIo } from "../../../test/kits/fake-io.ts";

const hostile = "\u001b[2J\u202e\r\n\u009b31m\u200b";
const replies = { "/apis/cluster.open-cluster-management.io/v1": { status: 200, body: "{}" } };

function world(): { readonly api: MemoryApi; readonly io: FakeIo } {
  const clock = fakeClock(Date.UTC(2026, 10, 21, 0, 5));
  const api = memoryApi({ clock });
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  return { api, io: fakeIo({ clock, client: api.client, files, replies }) };
}

async function joined(api: MemoryApi, name: string, more: object = {}): Promise<void> {
  await api.given(managedClusters, {
    apiVersion: "",
    kind: "",
    metadata: {
      name,
      creationTimestamp: "2026-11-20T00:05:00Z",
      labels: { "cluster.open-cluster-management.io/clusterset": "prod" },
      annotations: {
        "registration.pratique.dev/agents": JSON.stringify({
          now: "2027-01-01T00:00:00.000Z",
          gone: "2026-01-01T00:00:00.000Z",
        }),
      },
    },
    spec: { hubAcceptsClient: true },
    status: {
      conditions: ["HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"].map(
        (type) => ({ type, status: "True", reason: type, message: "", lastTransitionTime: "2026-11-20T00:05:00Z" }),
      ),
      version: { kubernetes: "v1.36.0" },
    },
    ...more,
  });
  const metadata = { namespace: name, name: "managed-cluster-lease" };
  const spec = { renewTime: "2026-11-21T00:04:30.000000Z" };
  await api.client.create(leases, { apiVersion: "", kind: "", metadata, spec });
}

describe("pratique cluster list", () => {
  test("shows how each cluster is, and only agents whose certificates are valid", async () => {
    const { api, io } = world();
    await joined(api, "east");
    await joined(api, "apart", { spec: { hubAcceptsClient: false } });
    expect(await runLine("cluster list", io)).toBe(0);
    expect(io.out()).toBe(
      `NAME    ACCEPTED   JOINED   AVAILABLE   VERSION   HEARTBEAT   AGENT ID   SET    AGE
apart   denied     yes      True        v1.36.0   30s ago     now        prod   24h
east    yes        yes      True        v1.36.0   30s ago     now        prod   24h
`,
    );
  });

  test("tells a cluster that was denied before it was ever accepted, although no request of it is left, from one in whose name a request was denied", async () => {
    const { api, io } = world();
    const spec = { hubAcceptsClient: false };
    for (const name of ["refused", "waits"]) await joined(api, name, { spec, status: {} });
    const denied = csrObject({
      name: "b",
      conditions: [{ type: "Denied", status: "True", reason: "No", message: "no" }],
    });
    const labels = { "open-cluster-management.io/cluster-name": "waits" };
    await api.given(certificateSigningRequests, { ...denied, metadata: { ...denied.metadata, labels } });
    expect(await runLine("cluster deny refused", io)).toBe(0);
    expect(await runLine("cluster list", io)).toBe(0);
    expect(io.out()).toMatch(/^refused +denied /m);
    expect(io.out()).toMatch(/^waits +no /m);
  });

  test("lets nothing that an agent wrote reach the terminal or begin a line", async () => {
    const { api, io } = world();
    await joined(api, "east", { status: { version: { kubernetes: `v1${hostile}` } } });
    expect(await runLine("cluster list", io)).toBe(0);
    expect(io.out().replaceAll("\n", "")).toMatch(/^[ -~…]*$/);
    expect(io.out().split("\n")).toHaveLength(3);
  });

  test("says what to do where there is none, and what may not be seen", async () => {
    const { api, io } = world();
    api.failNext("list", leases, new StatusError("Forbidden", "no"));
    expect(await runLine("cluster list", io)).toBe(0);
    expect(io.out()).toContain("pratique cluster token");
    expect(io.err()).toBe("note: heartbeats are not shown, since you may not list leases\n");
  });
});

describe("a cluster in pratique pending", () => {
  test("brings nothing that a requester chose to the terminal", async () => {
    const { api, io } = world();
    const commonName = "system:open-cluster-management:east:x\u202e\u200b";
    const organizations = ["system:open-cluster-management:east"];
    const made = csrObject({
      username: `u${hostile}`,
      signerName: "kubernetes.io/kube-apiserver-client",
      request: createCsr({ key: csrKey, commonName, organizations }),
    });
    const labels = { "open-cluster-management.io/cluster-name": "east" };
    await api.given(certificateSigningRequests, { ...made, metadata: { ...made.metadata, labels } });
    expect(await runLine("pending", io)).toBe(0);
    expect(io.out()).toContain("managedcluster/east");
    expect(io.out()).toContain("not registered");
    expect(io.out().replaceAll("\n", "")).toMatch(/^[ -~…]*$/);
  });

  test("is shown to somebody who may not list requests, as far as it can be seen", async () => {
    const { api, io } = world();
    const metadata = {
      name: "east",
      annotations: { "registration.pratique.dev/requested-by": "system:bootstrap:abcdef" },
    };
    await api.given(managedClusters, { apiVersion: "", kind: "", metadata, spec: {} });
    api.failNext(
      "list",
      certificateSigningRequests,
      new StatusError("Forbidden", "certificatesigningrequests is forbidden"),
    );
    expect(await runLine("pending", io)).toBe(0);
    expect(io.out()).toMatch(/managedcluster\/east +0s +<unknown> +<unknown> +pending +system:bootstrap:abcdef/);
    expect(io.err()).toBe(
      "note: certificate requests are not visible with this credential: certificatesigningrequests is forbidden\n",
    );
  });
});
