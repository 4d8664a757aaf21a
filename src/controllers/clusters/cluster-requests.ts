import type { ControllerOptions } from "../shared-informers.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { attributeTexts } from "../../pki/names.ts";
import { oids } from "../../pki/oids.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem } from "../../pki/pem.ts";
import { agentOf, agentsAnnotation, managedClusters } from "../../apis/managed-cluster.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { agentsOn, withAgents, type ClusterAgents } from "./managed-cluster-policy.ts";
import { agentSigner, clusterRequestIndex, labelledCluster } from "./cluster-request.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { csrView, hasCondition } from "../certificates/csr-view.ts";
import { certificateSigningRequests } from "../kinds.ts";

const serviceAccount = "managed-cluster-approving-controller";

interface Issued {
  readonly agent: string;
  readonly end: number;
}

/**
 * Records which agents hold certificates of a cluster, so that these can be revoked, and deletes requests that would prevent its agent
 * from creating another one.
 */
export function clusterRequests(options: ControllerOptions): Controller {
  const { clock } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const clusters = reader({ resource: managedClusters });
  const requests = clusterRequestIndex();
  const read = new WeakMap<ApiObject, Issued | undefined>();
  /** The last written records, which the informer may not have seen yet. */
  const written = new Map<string, { readonly uid: string; readonly agents: ClusterAgents }>();

  function issuedIn(request: ApiObject, cluster: string): Issued | undefined {
    if (read.has(request)) return read.get(request);
    const found = issuedTo(request, cluster);
    read.set(request, found);
    return found;
  }

  async function reconcile({ name }: ObjectKey): Promise<Outcome> {
    const all = requests.of(name);
    await keepRecord(name, all);
    const { names, againMs } = supersededRequests(all, clock.now());
    for (const one of names) await ignoreReasons(client.delete(certificateSigningRequests, { name: one }), "NotFound");
    return againMs === undefined ? done : { kind: "requeue", afterMs: againMs, why: "decided requests get old" };
  }

  async function keepRecord(name: string, all: readonly ApiObject[]): Promise<void> {
    const cluster = clusters.get({ name });
    if (cluster === undefined) {
      written.delete(name);
      return;
    }
    const { uid = "" } = cluster.metadata;
    const last = written.get(name);
    const now = clock.now();
    const issued = new Map(last?.uid === uid ? [...last.agents].filter(([, end]) => end > now) : []);
    for (const request of all) {
      const one = issuedIn(request, name);
      if (one !== undefined) issued.set(one.agent, Math.max(one.end, issued.get(one.agent) ?? 0));
    }
    const record = withAgents(agentsOn(cluster), issued, now);
    if (record === undefined) return;
    const annotations = { [agentsAnnotation]: record };
    // Only this controller writes the record, while other clients write the cluster at the same time.
    await client.patch(managedClusters, { name }, { metadata: { uid, annotations } });
    written.set(name, { uid, agents: issued });
  }

  return {
    name: "managed-cluster-requests",
    serviceAccount,
    watches: [
      {
        resource: certificateSigningRequests,
        observe: requests.observe,
        keys: (request) => [labelledCluster(request)].flatMap((name) => (name === undefined ? [] : [{ name }])),
      },
      // Certificates issued before the cluster was created.
      {
        resource: managedClusters,
        keys: ({ metadata: { name = "" } }) => (requests.of(name).length === 0 && !written.has(name) ? [] : [{ name }]),
      },
    ],
    concurrency: 16,
    reconcile,
  };
}

/** The identity in the certificate itself: the request is only what was requested. */
function issuedTo(request: ApiObject, cluster: string): Issued | undefined {
  const { certificate, signerName } = csrView(request);
  if (certificate === "" || signerName !== agentSigner) return undefined;
  try {
    const [leaf] = decodePem(certificate);
    if (leaf === undefined) return undefined;
    const { subject, notAfter } = parseCertificate(leaf.bytes);
    const identity = agentOf(attributeTexts(subject, oids.commonName, "subject")[0] ?? "");
    return identity?.cluster === cluster ? { agent: identity.agent, end: notAfter } : undefined;
  } catch {
    // Any signer may have written it; an unreadable certificate authenticates no client.
    return undefined;
  }
}

/** With ten requests of a cluster, its agent creates no more. Source: ocm pkg/registration/register/csr. */
const maxKept = 6;

/** How long a decided request is kept for its agent, in milliseconds. */
const seenMs = 600_000;

/** One request of a cluster, with the fields that decide whether it is kept. */
interface Candidate {
  readonly name: string;
  readonly requester: string;
  readonly created: number;
  readonly state: "pending" | "decided";
}

interface Superseded {
  /** The requests to delete. */
  readonly names: readonly string[];
  /** When to check again, in milliseconds from now; undefined where no request ages. */
  readonly againMs: number | undefined;
}

/**
 * Which requests of one cluster, in order of arrival, to delete: decided ones that are ten minutes old, and as many of the oldest as
 * needed for its agent to create another one. The newest of each requester is kept.
 */
export function supersededRequests(requests: readonly ApiObject[], now: number): Superseded {
  // Times are in seconds; within a second, requests that arrived later are newer.
  const all = requests
    .map(candidate)
    .toReversed()
    .sort((a, b) => b.created - a.created);
  const isOld = ({ state, created }: Candidate): boolean => state === "decided" && now - created >= seenMs;
  const old = all.filter(isOld);
  const rest = all.filter((one) => !isOld(one));
  const newest = new Map(rest.toReversed().map(({ requester, name }) => [requester, name]));
  const isNewest = ({ requester, name }: Candidate): boolean => newest.get(requester) === name;
  // The oldest first, decided ones before others.
  const expendable = rest
    .filter((one) => !isNewest(one))
    .toReversed()
    .sort((a, b) => (a.state === b.state ? 0 : a.state === "decided" ? -1 : 1));
  const surplus = expendable.slice(0, Math.max(rest.length - maxKept, 0));
  const waits = rest.flatMap(({ state, created }) => (state === "decided" ? [created + seenMs - now] : []));
  return {
    names: [...old, ...surplus].map(({ name }) => name),
    againMs: waits.length === 0 ? undefined : Math.max(Math.min(...waits), 1000),
  };
}

function candidate(object: ApiObject): Candidate {
  const csr = csrView(object);
  const isDecided = csr.certificate !== "" || hasCondition(csr, "Denied") || hasCondition(csr, "Failed");
  const created = Date.parse(object.metadata.creationTimestamp ?? "");
  return {
    name: object.metadata.name ?? "",
    requester: csr.requester.username,
    created: Number.isNaN(created) ? 0 : created,
    state: isDecided ? "decided" : "pending",
  };
}
