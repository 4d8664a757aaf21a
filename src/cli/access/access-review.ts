import { hasReason } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
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
  type AccessRequest,
  type DecidedProfile,
} from "../../apis/access-request.ts";
import { accessMarks, type NameMark } from "./name-marks.ts";

/** What an approver needs to know of a request. Texts of the machine are as it chose them: escape them before they reach a terminal. */
export interface AccessReview {
  readonly kind: "AccessRequest";
  readonly name: string;
  /** RFC 3339, or empty. */
  readonly created: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** The one that is asked for, by name; absent for the default one where it may not be read or none is. */
  readonly profile?: string;
  /** What approving would grant; absent where the profile may not be read or does not exist. */
  readonly grants?: AccessGrants;
  readonly fingerprint?: string;
  readonly keyKind?: string;
  readonly sourceAddress?: string;
  readonly userAgent?: string;
  readonly requester?: string;
  readonly possession?: "Proven" | "Unproven";
  readonly earlierRequests?: number;
  /** Of a machine whose key was let in before: since when, and what it waits for. */
  readonly returning?: string;
  /** The machine's own words, as `claims` are. */
  readonly hostname?: string;
  readonly claims?: Readonly<Record<string, string>>;
  /** Why its host name needs a second look; their sentences are among the warnings. */
  readonly nameMarks: readonly NameMark[];
  /** Who has approved so far. */
  readonly approvals: readonly string[];
  /** Whether something about it is a reason to look twice; a missing second approver is none. */
  readonly needsCare: boolean;
  /** Sentences about what needs care, and who is still needed. */
  readonly warnings: readonly string[];
}

/** A profile in short. */
export interface AccessGrants {
  readonly namespace: string;
  /** Each as `ClusterRole/view`, with its extent where that is the whole cluster. */
  readonly roles: readonly string[];
  readonly tokenSeconds: number;
  readonly bootstrapToken: boolean;
  readonly approvers: number;
}

/** What lies around a request. */
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
  /** Told of each kind that may not be read, with the refusal. */
  readonly unseen?: (resource: ResourceRef, refusal: StatusError) => void;
}

/**
 * A reader of requests that asks for what lies around them once: profiles, other requests (unless given) and the accounts of each
 * namespace. What may not be read is passed over.
 */
export function accessReviewer(
  client: Client,
  { now, requests, unseen }: AccessReviewerOptions,
): (request: AccessRequest) => Promise<AccessReview> {
  let shared: Promise<Omit<AccessSurroundings, "accounts">> | undefined;
  const accounts = new Map<string, Promise<ReadonlyMap<string, ApiObject>>>();
  async function read(): Promise<Omit<AccessSurroundings, "accounts">> {
    const profiles = await listed<AccessProfile>({ client, unseen }, accessProfiles);
    const all = requests ?? (await listed<AccessRequest>({ client, unseen }, accessRequests)) ?? [];
    return { profiles, turnedAway: turnedAwayIn(all), nameMarks: accessMarks(all, now) };
  }
  function accountsIn(namespace: string): Promise<ReadonlyMap<string, ApiObject>> {
    const found = accounts.get(namespace) ?? accountsByName({ client, unseen }, namespace);
    accounts.set(namespace, found);
    return found;
  }
  return async (request) => {
    const around = await (shared ??= read());
    const namespace = profileFor(around.profiles ?? [], request.spec.profile)?.spec.namespace;
    const near = namespace === undefined ? new Map<string, ApiObject>() : await accountsIn(namespace);
    return reviewAccess(request, { ...around, accounts: near });
  };
}

interface Reading {
  readonly client: Client;
  readonly unseen: AccessReviewerOptions["unseen"] | undefined;
}

async function accountsByName(reading: Reading, namespace: string): Promise<ReadonlyMap<string, ApiObject>> {
  const found = (await listed(reading, serviceAccounts, namespace)) ?? [];
  return new Map(found.map((account) => [account.metadata.name ?? "", account]));
}

function turnedAwayIn(requests: readonly AccessRequest[]): ReadonlyMap<string, readonly AccessRequest[]> {
  const found = new Map<string, AccessRequest[]>();
  for (const request of requests) {
    const state = stateOf(request);
    const fingerprint = state === "Denied" || state === "Revoked" ? readKey(request)?.fingerprint : undefined;
    if (fingerprint === undefined) continue;
    const same = found.get(fingerprint);
    if (same === undefined) found.set(fingerprint, [request]);
    else same.push(request);
  }
  return found;
}

async function listed<T extends ApiObject>(
  { client, unseen }: Reading,
  resource: ResourceRef,
  namespace?: string,
): Promise<readonly T[] | undefined> {
  try {
    return (await client.list<T>(resource, namespace === undefined ? {} : { namespace })).items;
  } catch (error) {
    if (!hasReason(error, "Forbidden", "NotFound")) throw error;
    if (error.code === 403) unseen?.(resource, error);
    return undefined;
  }
}

/** Reads a request of whatever contents. */
function reviewAccess(request: AccessRequest, around: AccessSurroundings): AccessReview {
  const { metadata, spec, status = {} } = request;
  const { evidence = {} } = status;
  const profile = profileFor(around.profiles ?? [], spec.profile);
  const profileName = spec.profile === undefined || spec.profile === "" ? profile?.metadata.name : spec.profile;
  const key = readKey(request);
  const nameMarks = around.nameMarks.get(metadata.name ?? "") ?? [];
  const care = [
    ...nameMarks.map(({ message }) => message),
    ...rules.flatMap((rule) => rule({ request, profile, around })),
  ];
  return {
    kind: "AccessRequest",
    name: metadata.name ?? "",
    created: metadata.creationTimestamp ?? "",
    ...given("labels", metadata.labels),
    ...given("profile", profileName),
    ...given("grants", profile === undefined ? undefined : grantsIn(profile)),
    ...given("fingerprint", key?.fingerprint),
    ...given("keyKind", key?.kind),
    ...given("sourceAddress", evidence.sourceAddress),
    ...given("userAgent", evidence.userAgent),
    ...given("requester", evidence.requester),
    ...given("possession", evidence.possession),
    ...given("earlierRequests", evidence.earlierRequests),
    ...given("returning", returningText(request)),
    ...given("hostname", spec.hostname),
    ...given("claims", spec.claims),
    nameMarks,
    approvals: approvalsOf(request, profile),
    needsCare: care.length > 0,
    warnings: [...care, ...stillNeeded(request, profile)],
  };
}

/** Since when a machine is known whose key was let in before, and why it was not let in by itself. */
function returningText({ status = {} }: AccessRequest): string | undefined {
  const { returning } = status.evidence ?? {};
  if (returning === undefined) return undefined;
  const { request, since = "an unknown time", times } = returning;
  const answer = status.conditions?.find(({ type }) => type === "Returning")?.message;
  const known = `its key was approved ${times === 1 ? "once" : `${times} times`} since ${since}, last as ${request}`;
  return answer === undefined ? known : `${known}; ${answer}`;
}

function given<K extends string, V>(key: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]?: V });
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

/** Who approved a request so far: the profile as it is now, where it is known. */
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
    const ready = profile?.status?.conditions?.find(({ type }) => type === profileCondition);
    if (profile === undefined || ready?.status !== "False" || request.status?.accepted === true) return [];
    const { reason = "", message = "" } = ready;
    const name = quoted(profile.metadata.name ?? "");
    return [`asks for profile ${name}, which grants nothing as it is (${reason}): ${message}`];
  },

  ({ request, profile, around }) => {
    const isNamed = (request.spec.profile ?? "") !== "";
    if (profile === undefined || isNamed || request.status?.accepted === true) return [];
    const marked = (around.profiles ?? [])
      .filter(({ metadata }) => metadata.annotations?.[defaultProfileAnnotation] === "true")
      .map(({ metadata }) => metadata.name ?? "");
    if (marked.length < 2) return [];
    const others = marked.filter((name) => name !== profile.metadata.name).map(quoted);
    return [
      `names no profile, and ${marked.length} are marked as default: an approval grants ${quoted(profile.metadata.name ?? "")}, the first by name; remove the annotation ${defaultProfileAnnotation} from all but one (also marked: ${others.toSorted().join(", ")})`,
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

/** Other requests of the same key that ended badly. */
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
