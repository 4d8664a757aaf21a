import { randomBytes } from "node:crypto";
import type { Client } from "../../src/client/client.ts";
import type { RawReply, RemoteClient } from "../../src/client/remote.ts";
import { clusterChanges, type ServeEnd, type Serving } from "../../src/agent/klusterlet/serving-cluster.ts";
import type { ClusterCredential } from "../../src/credentials/proof/cluster-credential.ts";
import { credentialFiles } from "../../src/agent/klusterlet/register-cluster.ts";
import { storedState } from "../../src/credentials/storage/registration-state.ts";
import type { KlusterletEvent } from "../../src/agent/klusterlet/klusterlet-event.ts";
import type { KlusterletOptions } from "../../src/agent/klusterlet/klusterlet-options.ts";
import type { ApiObject, Condition } from "../../src/apimachinery/object.ts";
import { createCsr, parseCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey, loadPrivateKey } from "../../src/pki/keys.ts";
import {
  agentUser,
  clusterGroupOf,
  managedClusters,
  managedClustersGroup,
  type ManagedCluster,
} from "../../src/apis/managed-cluster.ts";
import { memoryApi, type MemoryApi } from "./memory-api.ts";
import { fakeClock, type FakeClock } from "./fake-clock.ts";
import { clientCertificate, testCa } from "./fake-hub.ts";
import { memoryStore } from "./memory-store.ts";

/** What a path that is no resource answers. */
export type RawPaths = Map<string, Partial<RawReply>>;

/** The parts that serve one hub, with both APIs in memory and a clock that stands still. */
export interface ServingStage {
  readonly serving: Serving;
  readonly clock: FakeClock;
  readonly hub: MemoryApi;
  readonly spoke: MemoryApi;
  readonly spokePaths: RawPaths;
  readonly hubPaths: RawPaths;
  readonly events: KlusterletEvent[];
  readonly ends: ServeEnd[];
  /** The ManagedCluster as it is on the hub. */
  cluster(): ManagedCluster;
  /** Writes to it as the hub does; the agent sees it at once. */
  change(change: (cluster: ManagedCluster) => ApiObject): Promise<void>;
  stop(): void;
}

const identity = { cluster: "east", agent: "a1b2c" };

/** A credential of the cluster east, valid for an hour from `now` on. */
export function credentialOf(now: number, server = "https://hub.example:6443"): ClusterCredential {
  const key = generatePrivateKey();
  const csr = parseCsr(
    createCsr({
      key,
      commonName: agentUser(identity),
      organizations: [clusterGroupOf(identity.cluster), managedClustersGroup],
    }),
  );
  return {
    identity,
    certificatePem: clientCertificate(testCa(), csr),
    keyPem: exportSec1Pem(loadPrivateKey(exportSec1Pem(key))),
    notBefore: now,
    notAfter: now + 3_600_000,
    hub: { server, caPem: testCa().pem, entry: "hub" },
  };
}

/** A client over an API in memory, whose paths answer 404 unless they are given. */
export function remoteOver(client: Client, paths: RawPaths = new Map()): RemoteClient {
  return {
    ...client,
    raw: async (_method, path) => ({
      status: paths.has(path) ? 200 : 404,
      headers: {},
      body: Buffer.from("{}"),
      ...paths.get(path),
    }),
    close: () => undefined,
  };
}

export const acceptedStatus: { readonly conditions: readonly Condition[] } = {
  conditions: [
    {
      type: "HubAcceptedManagedCluster",
      status: "True",
      reason: "HubClusterAdminAccepted",
      message: "",
      lastTransitionTime: "2026-11-21T00:00:00Z",
    },
  ],
};

export async function servingStage(
  wish: Partial<KlusterletOptions> & { readonly status?: object; readonly spec?: object } = {},
): Promise<ServingStage> {
  const { status = acceptedStatus, spec = { hubAcceptsClient: true, leaseDurationSeconds: 60 }, ...options } = wish;
  const clock = fakeClock(Date.now());
  const [hub, spoke] = [memoryApi({ clock }), memoryApi({ clock })];
  const [hubPaths, spokePaths]: readonly RawPaths[] = [new Map(), new Map()] as const;
  const events: KlusterletEvent[] = [];
  const ends: ServeEnd[] = [];
  const over = new AbortController();
  const store = memoryStore();
  const credential = credentialOf(clock.now());
  await store.writeCredential(credentialFiles(credential, credential.hub));
  let current = credential;
  await hub.given(managedClusters, {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "east" },
    spec,
    status,
  });
  const cluster = (): ManagedCluster => {
    const [found] = hub.all(managedClusters);
    if (found === undefined) throw new TypeError("there is no cluster");
    return found;
  };
  const client = remoteOver(hub.client, hubPaths);
  const changes = clusterChanges(clock, over.signal);
  const serving: Serving = {
    session: {
      server: credential.hub.server,
      client,
      credential: () => current,
      renewed: (next) => {
        current = next;
      },
      clientWith: () => client,
      close: () => undefined,
    },
    state: storedState(store, { clusterName: "east", agentName: "a1b2c", origin: "first" }),
    options: {
      bootstrapKubeconfigs: [],
      store,
      spoke: remoteOver(spoke.client, spokePaths),
      externalServers: [],
      readFile: async () => Buffer.from(""),
      clock,
      random: randomBytes,
      signal: over.signal,
      userAgent: "test",
      report: (event) => void events.push(event),
      ...options,
    },
    bootstrap: async () => undefined,
    hasOtherHubs: false,
    signal: over.signal,
    end: (why) => {
      ends.push(why);
      over.abort();
    },
    cluster,
    changes,
    notes: { beatAt: clock.now(), rotated: undefined, reported: new Set() },
  };
  return {
    serving,
    clock,
    hub,
    spoke,
    hubPaths,
    spokePaths,
    events,
    ends,
    cluster,
    change: async (change) => {
      await hub.client.update(managedClusters, change(cluster()), { subresource: "status" });
      await hub.client.update(managedClusters, change(cluster()));
      changes.wake();
      await clock.advance(0);
    },
    stop: () => over.abort(),
  };
}
