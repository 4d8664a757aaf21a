import {
  readAgentRequest,
  addOnObjection,
  agentSigner,
  clusterRequestIndex,
  labelledAddOn,
  labelledCluster,
  type AddOnName,
} from "./cluster-request.ts";
import { versionOf } from "../object-status.ts";
import { retryOn, done, type Controller, type Outcome, type Watch } from "../controller.ts";
import {
  type CsrControllerOptions,
  isUndecided,
  readRequest,
  csrView,
  hasCondition,
  type CsrView,
} from "../certificates/csr-view.ts";
import {
  approveRequest,
  manualApproval,
  noLongerLeft,
  notAllowed,
  revokedRequester,
  type Abstention,
  type Marking,
} from "../certificates/manual-approval.ts";
import { getOrUndefined } from "../../client/api-errors.ts";
import type { Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { keyOf } from "../../client/paths.ts";
import type { Reader } from "../../client/object-store.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import {
  agentUser,
  autoAcceptedAnnotation,
  clusterNameLabel,
  isAccepted,
  managedClusterAddOns,
  managedClusters,
  type AgentIdentity,
  type ManagedCluster,
} from "../../apis/managed-cluster.ts";
import { wantsApiAccess } from "../../apis/add-on-versions.ts";
import {
  firstObjection,
  needsAcceptance,
  renewalAccess,
  type AutoApproval,
  approvedRival,
  turns,
  type JudgedRequest,
} from "./cluster-approving-policy.ts";
import { accessReviewOf, isAllowed } from "../certificates/csr-approving-policy.ts";
import { certificateSigningRequests, subjectAccessReviews } from "../kinds.ts";

const serviceAccount = "managed-cluster-approving-controller";

export interface ClusterApprovingOptions extends CsrControllerOptions {
  /** The identities that join without an approver; default none. */
  readonly rules: readonly AutoApproval[];
  /** Whether a requester, or an agent, has been revoked; such requests are left to an approver. */
  readonly isRevoked: (user: UserInfo) => boolean;
  /** Whether a request that is left to an approver gets a condition. Not on a real Kubernetes, whose cleaner never deletes requests with a condition. */
  readonly marks?: boolean;
}

const backoff: Backoff = { initialMs: 200, maxMs: 1_000_000 };

/**
 * Approves certificates of agents of clusters: a renewal when the agent itself requests it and has the permission, a first certificate
 * for the configured identities and clusters, nothing else; never denies. Source: ocm pkg/registration/hub/csr.
 */
export function clusterApproving(options: ClusterApprovingOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const { clock, rules, isRevoked } = options;
  const marking = options.marks === true ? { client, clock } : undefined;
  const csrs = reader({ resource: certificateSigningRequests });
  const clusters = reader({ resource: managedClusters });
  const addOns = reader({ resource: managedClusterAddOns });
  const requests = clusterRequestIndex();
  const inTurn = turns();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!isOpen(csr)) return done;
    if (isRevoked(csr.requester)) return manualApproval(marking, object, revokedRequester);
    const addOn = labelledAddOn(object);
    if (addOn !== undefined) return forAddOn(object, csr, addOn);
    const name = labelledCluster(object);
    if (name === undefined) return done;
    const read = readAgentRequest(options.parse, csr, name);
    if (typeof read === "string") return manualApproval(marking, object, notRecognized(name, read));
    const { contents, identity } = read;
    if (csr.requester.username === agentUser(identity)) return renew(client, marking, { object, csr });
    const asked = { object, csr, identity, key: keyFingerprint(contents.spki) };
    return inTurn(identity.cluster, () => first(asked));
  }

  /** Runs one at a time for each cluster, on a list that is read in that turn: of several keys requested at once, one is approved. */
  async function first({ object, csr, identity, key }: FirstAsked): Promise<Outcome> {
    const { username } = csr.requester;
    // A revoked agent must not get a new certificate with another credential.
    if (isRevoked({ username: agentUser(identity), groups: [] }))
      return manualApproval(marking, object, revokedRequester);
    const cluster = clusters.get({ name: identity.cluster });
    // The creation of the cluster wakes the request.
    if (cluster === undefined) return missing(client, marking, { object, name: identity.cluster });
    // Without rules an approver accepts every cluster, and its agent reports so.
    if (rules.length === 0) {
      await noLongerLeft(marking, object);
      return done;
    }
    const now = clock.now();
    const rival = await rivalOf(client, { cluster: identity.cluster, key, parse: options.parse, now });
    const message = firstObjection({ username, identity, cluster, rules, rival, now });
    if (message !== undefined) return manualApproval(marking, object, notApproved(identity.cluster, message));
    // Before the approval, so that after a failure in between the request is unchanged.
    const accepted = needsAcceptance(cluster) ? accept(client, clock, cluster) : undefined;
    const outcome = accepted && (await retryOn(accepted, "Conflict", "NotFound"));
    if (outcome?.kind === "retry") return outcome;
    return approve(client, object, `Auto approving the first certificate of the cluster for ${username}.`);
  }

  async function forAddOn(object: ApiObject, csr: CsrView, name: AddOnName): Promise<Outcome> {
    const cluster = clusters.get({ name: name.cluster });
    const addOn = addOns.get({ namespace: name.cluster, name: name.addOn });
    const isWanted = cluster !== undefined && isAccepted(cluster) && addOn !== undefined && wantsApiAccess(addOn);
    const contents = isWanted ? readRequest(options.parse, csr) : "its add-on does not ask for it";
    const objection = typeof contents === "string" ? contents : addOnObjection(csr, name, contents);
    if (objection !== undefined) return manualApproval(marking, object, notRecognized(name.cluster, objection));
    return approve(client, object, "Auto approving the certificate of an add-on for the agent of its cluster.");
  }

  const watches = watchesOf(requests, csrs);
  return { name: "managed-cluster-approving", serviceAccount, watches, concurrency: 64, backoff, reconcile };
}

async function renew(
  client: Client,
  marking: Marking | undefined,
  { object, csr }: Pick<FirstAsked, "object" | "csr">,
): Promise<Outcome> {
  if (isAllowed(await client.create(subjectAccessReviews, accessReviewOf(csr, renewalAccess)))) {
    return approve(client, object, "Auto approving Managed cluster agent certificate after SubjectAccessReview.");
  }
  const { verb, resource, subresource } = renewalAccess;
  return manualApproval(marking, object, notAllowed(csr.requester.username, `${verb} ${resource}/${subresource}`));
}

/** A cluster or an add-on wakes the requests that wait for its creation or acceptance. */
function watchesOf(requests: ReturnType<typeof clusterRequestIndex>, csrs: Reader): readonly Watch[] {
  const waitingFor = ({ metadata }: ApiObject): readonly ObjectKey[] =>
    requests
      .of(metadata.name ?? "")
      .filter((csr) => isOpen(csrView(csr)))
      .map(keyOf);
  const waitingForAddOn = ({ metadata }: ApiObject): readonly ObjectKey[] =>
    csrs
      .list()
      .filter((csr) => labelledAddOn(csr)?.cluster === metadata.namespace && isOpen(csrView(csr)))
      .map(keyOf);
  return [
    { resource: certificateSigningRequests, observe: requests.observe },
    { resource: managedClusters, keys: waitingFor },
    { resource: managedClusterAddOns, keys: waitingForAddOn },
  ];
}

/** The cache may lag: the agent creates the cluster right before its request. */
async function missing(
  client: Client,
  marking: Marking | undefined,
  { object, name }: { readonly object: ApiObject; readonly name: string },
): Promise<Outcome> {
  const cluster = await getOrUndefined(client, managedClusters, { name });
  return cluster === undefined ? manualApproval(marking, object, clusterMissing(name)) : done;
}

function clusterMissing(cluster: string): Abstention {
  const message = `there is no ManagedCluster ${JSON.stringify(cluster)}: its bootstrap credential could not create it; create it, then accept it with \`pratique cluster accept ${cluster}\``;
  return { reason: "ClusterNotApproved", message, again: "woken" };
}

/** For a request that has the label of a cluster, and is no valid request of its agent. */
function notRecognized(cluster: string, why: string): Abstention {
  const message = `it is labelled as a request of cluster ${JSON.stringify(cluster)}: ${why}; deny it, or approve it by hand`;
  return { reason: "ClusterNotApproved", message, again: "woken" };
}

function notApproved(cluster: string, why: string): Abstention {
  const message = `${why}; accept it with \`pratique cluster accept ${cluster}\`, or deny it`;
  return { reason: "ClusterNotApproved", message, again: "woken" };
}

interface FirstAsked {
  readonly object: ApiObject;
  readonly csr: CsrView;
  readonly identity: AgentIdentity;
  /** `SHA256:<base64>` of its public key. */
  readonly key: string;
}

async function rivalOf(client: Client, judged: JudgedRequest): Promise<string | undefined> {
  const labelSelector = `${clusterNameLabel}=${judged.cluster}`;
  const { items } = await client.list(certificateSigningRequests, { labelSelector });
  return approvedRival(items, judged);
}

async function accept(client: Client, clock: Clock, cluster: ManagedCluster): Promise<Outcome> {
  const annotations = { [autoAcceptedAnnotation]: rfc3339(clock.now()) };
  const patch = { metadata: { ...versionOf(cluster), annotations }, spec: { hubAcceptsClient: true } };
  await client.patch(managedClusters, keyOf(cluster), patch);
  return done;
}

/** Approves with the reason of the original. Source: ocm pkg/registration/hub/csr. */
function approve(client: Client, object: ApiObject, message: string): Promise<Outcome> {
  return approveRequest(client, object, { reason: "AutoApprovedByHubCSRApprovingController", message });
}

function isOpen(csr: CsrView): boolean {
  return csr.signerName === agentSigner && isUndecided(csr) && !hasCondition(csr, "Failed");
}
