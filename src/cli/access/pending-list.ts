import { getOrUndefined, hasReason, ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import { certificateSigningRequests, secrets, serviceAccounts } from "../../controllers/kinds.ts";
import type { ApiList, ApiObject } from "../../apimachinery/object.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { accessProfiles } from "../../apis/access-profile.ts";
import { accessRequests, notIssuedIn, stateOf, type AccessRequest } from "../../apis/access-request.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { isTokenId } from "../../trust/token.ts";
import { readTokenSecret, tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import { clustersServed } from "../cluster/cluster-access.ts";
import { accessReviewer, type AccessReview, type AccessReviewerOptions } from "./access-review.ts";
import { isUndecided, reviewCsr, type CsrReview } from "./csr-review.ts";
import { byAge, csrMarks } from "./name-marks.ts";
import { pendingClusters, type PendingCluster } from "./pending-clusters.ts";

/** A kind of request that approvers decide on. */
export type PendingKind = "CertificateSigningRequest" | "AccessRequest" | "ManagedCluster";

/** Everything pending, and the kinds that could not be read. */
export interface PendingRequests {
  readonly certificates: readonly CsrReview[];
  readonly clusters: readonly PendingCluster[];
  readonly access: readonly AccessReview[];
  /** Kinds that may not be listed, with the error. */
  readonly unseen: readonly { readonly kind: PendingKind; readonly why: string }[];
  /** Missing parts of the listed ones, with the error. */
  readonly leftOut: readonly { readonly what: string; readonly why: string }[];
  /** The listed kinds, and the versions for a watch. */
  readonly versions: readonly { readonly resource: ResourceRef; readonly resourceVersion: string }[];
}

/**
 * Lists the pending requests, the oldest of each kind first. A kind that the API does not serve is left out, one that may not be listed
 * is reported. `now` in milliseconds. @throws StatusError Forbidden where no kind may be listed; ConnectionError
 */
export async function readPending(client: RemoteClient, now: number): Promise<PendingRequests> {
  const reading = readings(client);
  const requests = await reading.kind(certificateSigningRequests, "CertificateSigningRequest");
  const clustersThere = await reading.clusters();
  const found = clustersThere && pendingClusters(clustersThere, requests, now);
  const others = (requests ?? []).filter(({ metadata }) => found?.listed.has(metadata.name ?? "") !== true);
  const marks = csrMarks(requests ?? [], now);
  const reviews = others
    .filter(isUndecided)
    .map((object) => reviewCsr(object, marks.get(object.metadata.name ?? "")))
    .sort(byAge);
  const certificates = await withTokenDescriptions(client, reviews);
  const accessThere = (await reading.kind(accessRequests, "AccessRequest")) as readonly AccessRequest[] | undefined;
  const access = await pendingAccess(client, accessThere ?? [], {
    now,
    unseen: ({ plural }, refusal) => reading.leaveOut(missingWords.get(plural) ?? `${plural} are not shown`, refusal),
  });
  return { certificates, clusters: found?.clusters ?? [], access, ...reading.done() };
}

const missingWords: ReadonlyMap<string, string> = new Map([
  [accessProfiles.plural, "what access requests would be granted is not shown"],
  [serviceAccounts.plural, "whether the account of an access request is taken was not checked"],
]);

interface Readings extends Pick<PendingRequests, "unseen" | "leftOut" | "versions"> {}

/** Lists kind after kind, and collects the forbidden ones. */
function readings(client: RemoteClient): {
  readonly kind: (resource: ResourceRef, kind: PendingKind) => Promise<readonly ApiObject[] | undefined>;
  readonly clusters: () => Promise<readonly ApiObject[] | undefined>;
  readonly leaveOut: (what: string, refusal: StatusError) => void;
  /** @throws StatusError the first rejection, where no kind could be listed */
  readonly done: () => Readings;
} {
  const refusals: { readonly kind: PendingKind; readonly refusal: StatusError }[] = [];
  const leftOut = new Map<string, string>();
  const versions: { readonly resource: ResourceRef; readonly resourceVersion: string }[] = [];

  async function kind(resource: ResourceRef, name: PendingKind): Promise<readonly ApiObject[] | undefined> {
    try {
      const list: ApiList = await client.list(resource);
      versions.push({ resource, resourceVersion: list.metadata.resourceVersion });
      return list.items;
    } catch (error) {
      // NotFound: a cluster that does not have the kind.
      if (!hasReason(error, "Forbidden", "NotFound")) throw error;
      if (error.code === 403) refusals.push({ kind: name, refusal: error });
      return undefined;
    }
  }

  return {
    kind,
    clusters: async () =>
      (await clustersServed(client)) === "no" ? undefined : kind(managedClusters, "ManagedCluster"),
    leaveOut: (what, { message }) => void leftOut.set(what, message),
    done: () => {
      if (versions.length === 0 && refusals[0] !== undefined) throw refusals[0].refusal;
      return {
        unseen: refusals.map(({ kind: unseen, refusal }) => ({ kind: unseen, why: refusal.message })),
        leftOut: [...leftOut].map(([what, why]) => ({ what, why })),
        versions,
      };
    },
  };
}

async function withTokenDescriptions(client: Client, reviews: readonly CsrReview[]): Promise<readonly CsrReview[]> {
  const ids = new Set(reviews.flatMap(({ tokenId }) => (tokenId !== undefined && isTokenId(tokenId) ? [tokenId] : [])));
  const descriptions = new Map<string, string>();
  for (const id of ids) {
    const text = await tokenDescription(client, id);
    if (text === undefined) break;
    if (text !== "") descriptions.set(id, text);
  }
  return reviews.map((review) => {
    const tokenDescription = descriptions.get(review.tokenId ?? "");
    return tokenDescription === undefined ? review : { ...review, tokenDescription };
  });
}

/** Empty when the token has no description or is deleted; undefined when it may not be read, as often for an approver. */
async function tokenDescription(client: Client, id: string): Promise<string | undefined> {
  const key = { namespace: tokenSecretNamespace, name: tokenSecretName(id) };
  const secret = getOrUndefined(client, secrets, key);
  return ignoreReasons(
    secret.then((found) => (found === undefined ? "" : readTokenSecret(found).description)),
    "Forbidden",
  );
}

/** The requests as objects, each with its kind. */
export function pendingData({ certificates, clusters, access }: PendingRequests): readonly PendingEntry[] {
  return [
    ...certificates.map((review) => ({ kind: "CertificateSigningRequest" as const, ...review })),
    ...clusters,
    ...access,
  ];
}

/** One pending request, of any kind. */
export type PendingEntry =
  | ({ readonly kind: "CertificateSigningRequest" } & PendingRequests["certificates"][number])
  | PendingRequests["clusters"][number]
  | PendingRequests["access"][number];

/** The pending access requests, and the approved ones that cannot be answered; the oldest first. @throws StatusError */
async function pendingAccess(
  client: Client,
  requests: readonly AccessRequest[],
  options: Omit<AccessReviewerOptions, "requests">,
): Promise<readonly AccessReview[]> {
  const review = accessReviewer(client, { ...options, requests });
  const waiting = requests.filter((item) => stateOf(item) === "Pending" || isBlocked(item));
  const reviews: AccessReview[] = [];
  for (const request of waiting) reviews.push(await review(request));
  return reviews.sort(byAge);
}

function isBlocked(request: AccessRequest): boolean {
  return stateOf(request) === "Approved" && notIssuedIn(request.status ?? {}) !== undefined;
}
