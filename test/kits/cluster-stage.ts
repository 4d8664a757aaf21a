import type { ApiObject } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { exportSec1Pem, generatePrivateKey } from "../../src/pki/keys.ts";
import { agentUser, clusterGroupOf, managedClustersGroup } from "../../src/apis/managed-cluster.ts";
import { apiClient, type ApiClient, type Reply } from "./api-client.ts";
import { until } from "./definitions.ts";
import { startTestHub, type TestHub, type TestHubOptions } from "./hub.ts";
import { retryOnConflict } from "./retry-on-conflict.ts";

export const clustersPath = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
export const setsPath = "/apis/cluster.open-cluster-management.io/v1beta2/managedclustersets";
export const csrsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const merge = "application/merge-patch+json";

/** What a request for a certificate says; all of it may be left out. */
export interface AskedCertificate {
  readonly agent?: string;
  readonly commonName?: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly usages?: readonly string[];
  readonly signerName?: string;
  /** The cluster that the label names. */
  readonly label?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A request that was sent, with the key that it is for. */
export interface SentRequest {
  readonly reply: Reply;
  readonly name: string;
  readonly keyPem: string;
}

/** A hub that clusters join: `booter` holds the bootstrap identity, and admin everything. */
export interface ClusterStage {
  readonly hub: TestHub;
  readonly admin: ApiClient;
  readonly booter: ApiClient;
  as(user: string): ApiClient;
  create(name: string, spec?: object, who?: ApiClient): Promise<Reply>;
  /** Sends a request for a certificate as a bootstrapping agent does. */
  request(cluster: string, asked?: AskedCertificate, who?: ApiClient): Promise<SentRequest>;
  approve(csr: string, who?: ApiClient): Promise<Reply>;
  accept(cluster: string, who?: ApiClient, accepts?: boolean): Promise<Reply>;
  /** A client with the certificate of a request, once it is issued. */
  issued(sent: SentRequest): Promise<ApiClient>;
  cluster(name: string, holds?: (cluster: ApiObject) => boolean): Promise<ApiObject>;
  /** Both halves: the agent of a cluster that was let in. */
  joined(cluster: string, asked?: AskedCertificate): Promise<ApiClient>;
  gone(path: string, name: string): Promise<void>;
  close(files?: "remove" | "keep"): Promise<void>;
}

/** Whether a condition of a cluster has this status, and this reason where one is given. */
export function says(type: string, status: string, reason?: string): (object: ApiObject) => boolean {
  return ({ status: own }) => {
    const { conditions = [] } = (own ?? {}) as { conditions?: { type: string; status: string; reason: string }[] };
    return conditions.some(
      (one) => one.type === type && one.status === status && (reason === undefined || one.reason === reason),
    );
  };
}

export const isLetIn: (object: ApiObject) => boolean = says("HubAcceptedManagedCluster", "True");

export async function startClusterStage(options: TestHubOptions = {}): Promise<ClusterStage> {
  const users = { booter: ["system:bootstrappers:managedcluster"], ...options.users };
  const hub = await startTestHub({ managedClusters: {}, ...options, users });
  const clients: ApiClient[] = [];
  const kept = (client: ApiClient): ApiClient => {
    clients.push(client);
    return client;
  };
  const admin = kept(apiClient(hub));
  const booter = kept(apiClient(hub, { token: hub.token("booter") }));
  const stage: ClusterStage = {
    hub,
    admin,
    booter,
    as: (user) => kept(apiClient(hub, { token: hub.token(user) })),
    create: (name, spec, who = booter) => createCluster(who, name, spec),
    request: (cluster, asked = {}, who = booter) => sendRequest(who, cluster, asked),
    approve: (csr, who = admin) =>
      retryOnConflict(async () => {
        const conditions = [{ type: "Approved", status: "True", reason: "ByPerson", message: "compared" }];
        const object = (await admin(`${csrsPath}/${csr}`)).object();
        return who(`${csrsPath}/${csr}/approval`, { method: "PUT", body: { ...object, status: { conditions } } });
      }),
    accept: (cluster, who = admin, accepts) => acceptCluster(who, cluster, accepts),
    issued: async ({ name, keyPem }) => {
      const found = await until(
        admin,
        `${csrsPath}?fieldSelector=metadata.name=${name}`,
        (csr) => certificateOf(csr) !== "",
      );
      return kept(apiClient(hub, { certPem: certificateOf(found), keyPem }));
    },
    cluster: async (name, holds = isLetIn) =>
      (await until(
        admin,
        `${clustersPath}?fieldSelector=metadata.name=${name}`,
        (one) => one !== undefined && holds(one as ApiObject),
      )) as ApiObject,
    joined: async (cluster, asked) => {
      await stage.create(cluster);
      const request = await stage.request(cluster, asked);
      await stage.approve(request.name);
      await stage.accept(cluster);
      await stage.cluster(cluster);
      return stage.issued(request);
    },
    gone: async (path, name) => {
      const stream = await admin.stream(`${path}?fieldSelector=metadata.name=${name}&watch=true`);
      try {
        // Asked once the watch is open: what went before is not told of.
        if ((await admin(`${path}/${name}`)).status === 404) return;
        while ((await stream.next()).type !== "DELETED");
      } finally {
        stream.close();
      }
    },
    close: async (files) => {
      for (const client of clients) client.close();
      await hub.close(files);
    },
  };
  return stage;
}

/** Writes the status of a cluster as its agent does: with these conditions, upon the version that it has read. */
export function reportStatus(
  agent: ApiClient,
  cluster: string,
  { conditions, ...more }: { readonly conditions: readonly { readonly type: string }[]; readonly version?: object },
): Promise<Reply> {
  const usual = { status: "True", reason: "Tested", message: "", lastTransitionTime: "2026-11-21T00:00:00Z" };
  return retryOnConflict(async () => {
    const { metadata, status = {} } = (await agent(`${clustersPath}/${cluster}`)).object();
    const { conditions: before = [] } = status as { readonly conditions?: readonly { readonly type: string }[] };
    const kept = before.filter(({ type }) => conditions.every((one) => one.type !== type));
    const written = [...kept, ...conditions.map((one) => ({ ...usual, ...one }))];
    const { uid, resourceVersion } = metadata;
    const body = { metadata: { uid, resourceVersion }, status: { conditions: written, ...more } };
    return agent(`${clustersPath}/${cluster}/status`, { method: "PATCH", type: merge, body });
  });
}

/** The certificate of a request as PEM, or nothing. */
export function certificateOf(csr: Readonly<Record<string, unknown>> | undefined): string {
  const { certificate = "" } = (csr?.["status"] ?? {}) as { certificate?: string };
  return Buffer.from(certificate, "base64").toString();
}

/** Who sends a request: a client, or one that impersonates. */
type Sender = (...asked: Parameters<ApiClient>) => Promise<Reply>;

/** Creates a cluster as a bootstrapping agent does. */
export function createCluster(who: Sender, name: string, spec: object = {}): Promise<Reply> {
  const body = {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name },
    spec: { hubAcceptsClient: false, ...spec },
  };
  return who(clustersPath, { method: "POST", body });
}

/** Accepts a cluster, or takes that back. */
export function acceptCluster(who: Sender, name: string, accepts = true): Promise<Reply> {
  const body = { spec: { hubAcceptsClient: accepts } };
  return who(`${clustersPath}/${name}`, { method: "PATCH", type: merge, body });
}

/** Sends a request for a certificate as an agent does. */
export async function sendRequest(who: Sender, cluster: string, asked: AskedCertificate = {}): Promise<SentRequest> {
  const key = generatePrivateKey();
  const { agent = "a1b2c", dnsNames = [], label = cluster } = asked;
  const commonName = asked.commonName ?? agentUser({ cluster, agent });
  const organizations = asked.organizations ?? [clusterGroupOf(cluster), managedClustersGroup];
  const body = {
    metadata: {
      generateName: `${cluster}-`,
      labels: asked.labels ?? { "open-cluster-management.io/cluster-name": label },
    },
    spec: {
      request: Buffer.from(createCsr({ key, commonName, organizations, dnsNames })).toString("base64"),
      signerName: asked.signerName ?? "kubernetes.io/kube-apiserver-client",
      usages: asked.usages ?? ["digital signature", "key encipherment", "client auth"],
    },
  };
  const reply = await who(csrsPath, { method: "POST", body });
  return { reply, name: reply.status === 201 ? (reply.object().metadata.name ?? "") : "", keyPem: exportSec1Pem(key) };
}
