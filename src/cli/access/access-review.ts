import { hasReason } from "../../client/api-errors.ts";
import type { Client, ListOptions, ResourceRef } from "../../client/client.ts";
import { isMadeFor } from "../../controllers/access/access-grant.ts";
import { profileFor } from "../../controllers/access/access-request-policy.ts";
import { serviceAccounts } from "../../controllers/kinds.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { StatusError } from "../../apimachinery/status.ts";
import {
  accessProfiles,
  decidedProfile,
  defaultProfileAnnotation,
  profileCondition,
  profileDefaults,
  type AccessProfile,
} from "../../apis/access-profile.ts";
import {
  accessRequests,
  notIssuedIn,
  readKey,
  stateOf,
  type AccessEvidence,
  type AccessRequest,
  type DecidedProfile,
} from "../../apis/access-request.ts";
import { accessMarks, groupedBy, type NameMark } from "./name-marks.ts";

/** What an approver needs to know of a request. Texts of the machine are as it chose them: escape them before they reach a terminal. */
export interface AccessReview extends SeenEvidence {
  readonly kind: "AccessRequest";
  readonly name: string;
  /** RFC 3339, or empty. */
  readonly created: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The requested profile; undefined for the default one where it may not be read or none is marked. */
  readonly profile: string | undefined;
  /** What an approval would grant; undefined where the profile may not be read or does not exist. */
  readonly grants: AccessGrants | undefined;
  readonly fingerprint: string | undefined;
  readonly keyKind: string | undefined;
  /** For a machine whose key was approved before: since when, and what it waits for. */
  readonly returning: string | undefined;
  /** The machine's own claim, as `claims` are. */
  readonly hostname: string | undefined;
  readonly claims: Readonly<Record<string, string>> | undefined;
  /** Why its host name needs a second look; their sentences are among the warnings. */
  readonly nameMarks: readonly NameMark[];
  /** The users that have approved so far. */
  readonly approvals: readonly string[];
  /** Whether a warning needs a second look; a missing second approver is none. */
  readonly needsCare: boolean;
  /** Sentences about what needs care, and the missing approvals. */
  readonly warnings: readonly string[];
}

/** What the server recorded of the requester. */
type SeenEvidence = { readonly [K in Exclude<keyof AccessEvidence, "returning">]-?: AccessEvidence[K] | undefined };

/** A profile in short. */
export interface AccessGrants {
  readonly namespace: string;
  /** Each as `ClusterRole/view`, with its scope where that is the whole cluster. */
  readonly roles: readonly string[];
  readonly tokenSeconds: number;
  readonly bootstrapToken: boolean;
  readonly approvers: number;
}

/** The objects around a request. */
interface AccessSurroundings {
  /** Undefined where the reader may not see them. */
  readonly profiles: readonly AccessProfile[] | undefined;
  /** Requests that were denied or revoked, by the fingerprint of their key. */
  readonly turnedAway: ReadonlyMap<string, readonly AccessRequest[]>;
  /** By the name of the request. */
  readonly nameMarks: ReadonlyMap<string, readonly NameMark[]>;
  /** The accounts of the profile's namespace, by name. */
  readonly accounts: ReadonlyMap<string, ApiObject>;
}

export interface AccessReviewerOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** All access requests, where they were read already. */
  readonly requests?: readonly AccessRequest[];
  /** Receives each kind that may not be read, with the error. */
  readonly unseen?: (resource: ResourceRef, refusal: StatusError) => void;
}

/**
 * A reader of requests that lists the objects around them once: profiles, other requests (unless given) and the accounts of each
 * namespace. Kinds that may not be read are left out.
 */
export function accessReviewer(
  client: Client,
  { now, requests, unseen }: AccessReviewerOptions,
): (request: AccessRequest) => Promise<AccessReview> {
  let shared: Promise<Omit<AccessSurroundings, "accounts">> | undefined;
  const accounts = new Map<string, Promise<AccessSurroundings["accounts"]>>();
  async function listed<T extends ApiObject>(
    resource: ResourceRef,
    options: ListOptions = {},
  ): Promise<readonly T[] | undefined> {
    try {
      return (await client.list<T>(resource, options)).items;
    } catch (error) {
      if (!hasReason(error, "Forbidden", "NotFound")) throw error;
      if (error.code === 403) unseen?.(resource, error);
      return undefined;
    }
  }
  async function read(): Promise<Omit<AccessSurroundings, "accounts">> {
    const profiles = await listed<AccessProfile>(accessProfiles);
    const all = requests ?? (await listed<AccessRequest>(accessRequests)) ?? [];
    const turnedAway = all.filter((request) => ["Denied", "Revoked"].includes(stateOf(request)));
    return {
      profiles,
      turnedAway: groupedBy(turnedAway, (request) => readKey(request)?.fingerprint),
      nameMarks: accessMarks(all, now),
    };
  }
  async function accountsIn(namespace: string): Promise<AccessSurroundings["accounts"]> {
    const found = (await listed(serviceAccounts, { namespace })) ?? [];
    return new Map(found.map((account) => [account.metadata.name ?? "", account]));
  }
  return async (request) => {
    const around = await (shared ??= read());
    const namespace = profileFor(around.profiles ?? [], request.spec.profile)?.spec.namespace;
    if (namespace === undefined) return reviewAccess(request, { ...around, accounts: new Map() });
    const near = accounts.get(namespace) ?? accountsIn(namespace);
    accounts.set(namespace, near);
    return reviewAccess(request, { ...around, accounts: await near });
  };
}

/** Reads a request with any contents. */
function reviewAccess(request: AccessRequest, around: AccessSurroundings): AccessReview {
  const { metadata, spec } = request;
  const profile = profileFor(around.profiles ?? [], spec.profile);
  const profileName = spec.profile || profile?.metadata.name;
  const nameMarks = around.nameMarks.get(metadata.name ?? "") ?? [];
  const care = [
    ...nameMarks.map(({ message }) => message),
    ...rules.flatMap((rule) => rule({ request, profile, around })),
  ];
  return {
    kind: "AccessRequest",
    name: metadata.name ?? "",
    created: metadata.creationTimestamp ?? "",
    labels: metadata.labels,
    profile: profileName,
    grants: profile && grantsIn(profile),
    ...evidenceOf(request),
    hostname: spec.hostname,
    claims: spec.claims,
    nameMarks,
    approvals: approvalsOf(request, profile),
    needsCare: care.length > 0,
    warnings: [...care, ...stillNeeded(request, profile)],
  };
}

function evidenceOf(request: AccessRequest) {
  const key = readKey(request);
  const { sourceAddress, userAgent, requester, possession, earlierRequests } = request.status?.evidence ?? {};
  return {
    fingerprint: key?.fingerprint,
    keyKind: key?.kind,
    sourceAddress,
    userAgent,
    requester,
    possession,
    earlierRequests,
    returning: returningText(request),
  };
}

/** Since when the key of a machine is known, and why it was not approved automatically. */
function returningText({ status = {} }: AccessRequest): string | undefined {
  const { returning } = status.evidence ?? {};
  if (returning === undefined) return undefined;
  const { request, since = "an unknown time", times } = returning;
  const answer = status.conditions?.find(({ type }) => type === "Returning")?.message;
  const known = `its key was approved ${times === 1 ? "once" : `${times} times`} since ${since}, last as ${request}`;
  return answer === undefined ? known : `${known}; ${answer}`;
}

function grantsIn({ spec }: AccessProfile): AccessGrants {
  return {
    namespace: spec.namespace,
    roles: (spec.roles ?? []).map(
      ({ kind, name, clusterWide = false }) => `${kind}/${name}${clusterWide ? " (all namespaces)" : ""}`,
    ),
    tokenSeconds: spec.tokenSeconds ?? profileDefaults.tokenSeconds,
    bootstrapToken: spec.bootstrapToken !== undefined,
    approvers: spec.approvers ?? profileDefaults.approvers,
  };
}

/** The users that have approved a request: for the present profile, where it is known. */
function approvalsOf({ status }: AccessRequest, profile: AccessProfile | undefined): readonly string[] {
  return (status?.decisions ?? [])
    .filter(({ verdict, profile: seen }) => verdict === "Approved" && isStateOf(profile, seen))
    .map(({ user }) => user);
}

function isStateOf(profile: AccessProfile | undefined, seen: DecidedProfile | undefined): boolean {
  if (profile === undefined) return true;
  const { name, uid, generation } = decidedProfile(profile);
  return seen?.name === name && seen.uid === uid && seen.generation === generation;
}

interface Looked {
  readonly request: AccessRequest;
  readonly profile: AccessProfile | undefined;
  readonly around: AccessSurroundings;
}

type Rule = (looked: Looked) => readonly string[];

const rules: readonly Rule[] = [
  ({ request: { status = {} } }) => {
    const obstacle = status.accepted === true && status.ready !== true ? notIssuedIn(status) : undefined;
    if (obstacle === undefined) return [];
    return [`was approved, and access cannot be issued (${obstacle.reason}): ${obstacle.message}`];
  },

  ({ request, profile }) => {
    if (profile === undefined || request.status?.accepted === true) return [];
    const ready = readyCondition(profile);
    if (ready?.status !== "False") return [];
    const { reason = "", message = "" } = ready;
    const name = quoted(profile.metadata.name ?? "");
    return [`asks for profile ${name}, which grants nothing as it is (${reason}): ${message}`];
  },

  ({ request, profile, around }) => {
    if (profile === undefined || request.spec.profile || request.status?.accepted === true) return [];
    const marked = defaultProfiles(around.profiles);
    if (marked.length < 2) return [];
    const { name: granted = "" } = profile.metadata;
    const others = marked.filter((name) => name !== granted).map(quoted);
    return [
      `names no profile, and ${marked.length} are marked as default: an approval grants ${quoted(granted)}, the first by name; remove the annotation ${defaultProfileAnnotation} from all but one (also marked: ${others.toSorted().join(", ")})`,
    ];
  },

  ({ request }) => (readKey(request) === undefined ? ["its key cannot be read: nothing can be sealed to it"] : []),

  ({ request }) => {
    const seen = request.status?.fingerprint;
    return seen === undefined || seen === readKey(request)?.fingerprint
      ? []
      : ["the fingerprint in its status is not that of its key: a user wrote to it who should not be able to"];
  },

  ({ request }) =>
    request.status?.evidence?.possession === "Proven"
      ? []
      : ["has not proven that it holds the private key: any holder of the public key may have created it"],

  (looked) => {
    const before = otherEnds(looked);
    return before.length === 0
      ? []
      : [`was turned away before with the same key: ${before.slice(0, 5).join(", ")}${before.length > 5 ? ", …" : ""}`];
  },

  ({ request, profile, around }) => {
    if (profile === undefined) return [];
    const { name = "" } = request.metadata;
    const { namespace } = profile.spec;
    const taken = around.accounts.get(name);
    return taken === undefined || taken.metadata.deletionTimestamp !== undefined || isMadeFor(request, taken)
      ? []
      : [`has the name of a ServiceAccount in ${quoted(namespace)} that was not made for it: nothing would be issued`];
  },

  ({ request, profile, around }) => {
    if (profile !== undefined || around.profiles === undefined) return [];
    const { profile: asked = "" } = request.spec;
    return asked === ""
      ? ["names no profile, and none is marked as default: approving it grants nothing"]
      : [`asks for profile ${quoted(asked)}, which does not exist: approving it grants nothing`];
  },
];

function readyCondition({ status }: AccessProfile) {
  return status?.conditions?.find(({ type }) => type === profileCondition);
}

function defaultProfiles(profiles: readonly AccessProfile[] = []): readonly string[] {
  return profiles
    .filter(({ metadata }) => metadata.annotations?.[defaultProfileAnnotation] === "true")
    .map(({ metadata }) => metadata.name ?? "");
}

/** Other requests of the same key that were denied or revoked. */
function otherEnds({ request, around }: Looked): readonly string[] {
  const same = around.turnedAway.get(readKey(request)?.fingerprint ?? "") ?? [];
  return same
    .filter(({ metadata }) => metadata.uid !== request.metadata.uid)
    .map((other) => `accessrequest/${other.metadata.name} (${stateOf(other).toLowerCase()})`);
}

function stillNeeded(request: AccessRequest, profile: AccessProfile | undefined): readonly string[] {
  const approvers = profile?.spec.approvers ?? profileDefaults.approvers;
  const approvals = approvalsOf(request, profile);
  if (profile === undefined || approvers < 2) return [];
  const who = approvals.length === 0 ? "" : ` (approved by ${approvals.map(quoted).join(", ")})`;
  const stale = approvalsOf(request, undefined).length - approvals.length;
  return [
    `needs ${approvers} different approvers and has ${approvals.length}${who}`,
    ...(stale === 0 ? [] : [`was approved before its profile was changed, which does not count`]),
  ];
}

function quoted(text: string): string {
  return `"${text}"`;
}
