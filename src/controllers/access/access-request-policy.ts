import { isConditionTrue, setCondition } from "../../apimachinery/conditions.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { Condition } from "../../apimachinery/object.ts";
import {
  decidedProfile,
  isMarkedDefault,
  profileDefaults,
  type AccessProfile,
  accessRulesBudget,
  compileAccessRule,
} from "../../apis/access-profile.ts";
import {
  readKey,
  type AccessRequest,
  type AccessRequestStatus,
  profileExistsCondition,
} from "../../apis/access-request.ts";
import { accessRecovery, recoveredCondition, returningEvidence, type AccessRecoveryView } from "./access-recovery.ts";
import { provesPossession } from "../../trust/possession.ts";

/** The inputs for the next step of a request. */
export interface AccessView {
  readonly request: AccessRequest;
  /** The requested profile. */
  readonly profile: AccessProfile | undefined;
  /** All other requests of the same key; empty where no decision is left. */
  readonly earlier: readonly AccessRequest[];
  /** The state of the access that an earlier request granted. */
  readonly lifeOf: AccessRecoveryView["lifeOf"];
  /** Pins of the CAs that the machine may have seen. */
  readonly caPins: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The next step for a request. `afterMs` is the time until the next check. */
export type AccessStep =
  | { readonly kind: "wait"; readonly afterMs: number | undefined; readonly why: string }
  /** Nothing is granted (any more): remove everything and write this status. */
  | {
      readonly kind: "close";
      readonly status: AccessRequestStatus;
      /** The namespace where an account may have been created that the status does not name. */
      readonly namespace?: string;
    }
  /** Write only the status. */
  | { readonly kind: "write"; readonly status: AccessRequestStatus }
  | { readonly kind: "issue"; readonly profile: AccessProfile }
  | { readonly kind: "remove" };

/** The profile of that name; without a name, the default profile, the first by name where several are marked as default. */
export function profileFor(profiles: readonly AccessProfile[], name: string | undefined): AccessProfile | undefined {
  if (name !== undefined && name !== "") return profiles.find(({ metadata }) => metadata.name === name);
  return profiles
    .filter(isMarkedDefault)
    .toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))[0];
}

/** Decides the next step; every step changes the stored object, so that the next check finds another step or waits. */
export function accessStep(view: AccessView): AccessStep {
  const { request } = view;
  const status = request.status ?? {};
  if (request.metadata.deletionTimestamp !== undefined) return deleted(view, status);
  if (status.revoked === true) return closed(view, condition("Revoked", "Revoked", lastReason(status)));
  if (status.denied === true) return denied(view, status);
  return status.accepted === true ? accepted(view, status) : undecided(view, status);
}

function undecided(view: AccessView, status: AccessRequestStatus): AccessStep {
  const { request, profile } = view;
  if (holds(status, "Expired")) return outlived(view);
  const seen = observed(view, status);
  if (seen !== undefined) return { kind: "write", status: seen };
  const profileSeen = profileExists(view, status);
  if (profileSeen !== undefined) return { kind: "write", status: profileSeen };
  const age = view.now - Date.parse(request.metadata.creationTimestamp ?? "");
  const pendingMs = (profile?.spec.pendingSeconds ?? profileDefaults.pendingSeconds) * 1000;
  if (age >= pendingMs) {
    return closed(view, condition("Expired", "Unanswered", `no approver decided within ${pendingMs / 1000} seconds`));
  }
  return ruled(view, status) ?? recovered(view, status) ?? wait("no approver has decided", pendingMs - age);
}

/** For the waiting machine, which may read its own request but no profiles; undefined where the status has it already. */
function profileExists(view: AccessView, status: AccessRequestStatus): AccessRequestStatus | undefined {
  const { profile, request } = view;
  const isKnown = (status.conditions ?? none).some(({ type }) => type === profileExistsCondition);
  if (profile !== undefined && !isKnown) return undefined;
  const asked = request.spec.profile ?? "";
  const message =
    asked === ""
      ? "the request names no profile, and no AccessProfile is marked as default: an operator of the hub must create one, or the machine must request access with --profile under another --name"
      : `no AccessProfile ${JSON.stringify(asked)} exists: an operator of the hub must create it, or the machine must request access with another --profile under another --name`;
  const next: Condition =
    profile === undefined
      ? { type: profileExistsCondition, status: "False", reason: "NoProfile", message }
      : condition(profileExistsCondition, "ProfileFound", "");
  const conditions = withConditions(view, [next]);
  return conditions === (status.conditions ?? none) ? undefined : { ...status, conditions };
}

/** A deleted request that a finalizer holds, as for orphaning its dependents, loses its access like a revoked one. */
function deleted(view: AccessView, { grant }: AccessRequestStatus): AccessStep {
  return grant === undefined ? wait("it is being deleted") : closed(view);
}

function wait(why: string, afterMs?: number): AccessStep {
  return { kind: "wait", why, afterMs };
}

function accepted(view: AccessView, status: AccessRequestStatus): AccessStep {
  if (status.ready === true) {
    const left = Date.parse(status.expiresAt ?? "") - view.now;
    if (left > 0) return wait("it was issued", left);
    // The sealed answer has expired; the account remains for a machine that has renewed its token itself.
    const over = condition("Expired", "TokenExpired", "the token that was sealed has ended");
    return { kind: "write", status: { ...withoutAnswer(status), conditions: withConditions(view, [over]) } };
  }
  if (holds(status, "Expired"))
    return wait("its token has ended; a machine that still needs access creates a new request");
  if (view.profile === undefined) {
    const why = "it names no profile that exists, and none is marked as default; make one, or ask for another";
    return written(view, notIssued("NoProfile", why));
  }
  const unlike = otherThanDecided(view.profile, status);
  if (unlike === "older") return wait("the profile that was decided on has not been seen yet");
  if (unlike === "other") {
    const why = `profile ${view.profile.metadata.name} is not what it was when the request was approved; revoke the request, and let the machine create a new request`;
    return written(view, notIssued("ProfileChanged", why));
  }
  return { kind: "issue", profile: view.profile };
}

/** Whether the profile has changed since the last approval. The controller may see a change later than the API does. */
function otherThanDecided(
  profile: AccessProfile,
  { decisions = [] }: AccessRequestStatus,
): "older" | "other" | undefined {
  const approved = decisions.findLast(({ verdict }) => verdict === "Approved")?.profile;
  if (approved === undefined) return undefined;
  const { name, uid, generation } = decidedProfile(profile);
  if (approved.name !== name || approved.uid !== uid || approved.generation < generation) return "other";
  return approved.generation > generation ? "older" : undefined;
}

/** Denied requests must not fill the store: each is deleted after an hour. */
function denied(view: AccessView, status: AccessRequestStatus): AccessStep {
  const step = closed(view, condition("Denied", "Denied", lastReason(status)));
  if (step.kind !== "wait") return step;
  const since = status.decisions?.at(-1)?.time ?? view.request.metadata.creationTimestamp ?? "";
  const left = Date.parse(since) + deniedMs - view.now;
  return left > 0 ? wait("it was denied", left) : { kind: "remove" };
}

const deniedMs = 3_600_000;

/** An unanswered request is kept as expired for as long as it waited, and is then deleted. */
function outlived({ request, profile, now }: AccessView): AccessStep {
  const pendingMs = (profile?.spec.pendingSeconds ?? profileDefaults.pendingSeconds) * 1000;
  const left = Date.parse(request.metadata.creationTimestamp ?? "") + 2 * pendingMs - now;
  return left > 0 ? wait("no approver decided in time", left) : { kind: "remove" };
}

/** Evidence that the API could not record itself; set once. */
function observed(
  { request, earlier, caPins }: AccessView,
  status: AccessRequestStatus,
): AccessRequestStatus | undefined {
  const { fingerprint, evidence = {} } = status;
  if (evidence.possession !== undefined && evidence.earlierRequests !== undefined) return undefined;
  const key = readKey(request);
  if (key === undefined) return undefined;
  const facts = { name: request.metadata.name ?? "", fingerprint: key.fingerprint };
  const isProven = caPins.some((caPin) => provesPossession(key, { ...facts, caPin }, request.spec.proof ?? ""));
  const returning = returningEvidence(earlier);
  return {
    ...status,
    fingerprint: fingerprint ?? key.fingerprint,
    evidence: {
      ...evidence,
      possession: isProven ? "Proven" : "Unproven",
      earlierRequests: earlier.length,
      ...(returning === undefined ? {} : { returning }),
    },
  };
}

/**
 * The verdict of the first rule that is true. A rule that cannot be evaluated, or exceeds the budget of all rules, decides nothing, and
 * neither does any rule after it: an approver must decide.
 */
function ruled({ request, profile }: AccessView, status: AccessRequestStatus): AccessStep | undefined {
  if (profile === undefined) return undefined;
  const facts = { object: request, evidence: status.evidence ?? {}, profile };
  let left = accessRulesBudget;
  for (const { expression, effect, message = "" } of profile.spec.rules ?? []) {
    const result = compileAccessRule(expression)(facts, left);
    left -= result.cost;
    if ("error" in result) return undefined;
    if (!result.holds) continue;
    const reason = message === "" ? `by a rule of profile ${profile.metadata.name}` : message;
    const verdict = effect === "Approve" ? { accepted: true } : { denied: true };
    return { kind: "write", status: { ...status, ...verdict, reason } };
  }
  return undefined;
}

/** A machine that was accepted before, by the terms of its profile; where they do not accept it, the condition has the reason. */
function recovered(view: AccessView, status: AccessRequestStatus): AccessStep | undefined {
  const { profile } = view;
  if (profile === undefined) return undefined;
  const found = accessRecovery({ ...view, profile });
  if (found === undefined) return undefined;
  if (found.kind === "approve") {
    const conditions = withConditions(view, [condition(recoveredCondition, "WithinTerms", found.reason)]);
    return { kind: "write", status: { ...status, accepted: true, reason: found.reason, conditions } };
  }
  const conditions = withConditions(view, [condition("Returning", "OutsideTerms", found.message)]);
  return conditions === status.conditions ? undefined : { kind: "write", status: { ...status, conditions } };
}

/** The status without the sealed answer. */
export function withoutAnswer(status: AccessRequestStatus): AccessRequestStatus {
  const { key: _k, token: _t, ca: _c, bootstrapToken: _b, seal: _s, ready: _r, ...rest } = status;
  return rest;
}

function isClean({ key, token, grant, ready }: AccessRequestStatus): boolean {
  return ready !== true && [key, token, grant].every((one) => one === undefined);
}

/** Removes the sealed answer from an ended request. */
function closed(view: AccessView, ...conditions: readonly Condition[]): AccessStep {
  const status = view.request.status ?? {};
  const { expiresAt: _end, grant, ...rest } = withoutAnswer(status);
  const next = withConditions(view, conditions);
  if (isClean(status) && next === (status.conditions ?? none)) return wait("it is over");
  // An accepted request may have an account that its status does not name.
  const namespace = status.accepted === true && grant === undefined ? view.profile?.spec.namespace : undefined;
  return { kind: "close", status: { ...rest, conditions: next }, ...(namespace && { namespace }) };
}

const none: readonly Condition[] = [];

function written(view: AccessView, ...conditions: readonly Condition[]): AccessStep {
  const status = view.request.status ?? {};
  const next = withConditions(view, conditions);
  if (next === (status.conditions ?? none)) return wait("the reason is in its status");
  return { kind: "write", status: { ...status, conditions: next } };
}

/** The conditions with these merged in; the same list where nothing changes. */
export function withConditions(
  { request, now }: Pick<AccessView, "request" | "now">,
  conditions: readonly Condition[],
): readonly Condition[] {
  const before = request.status?.conditions ?? none;
  return conditions.reduce((list, one) => setCondition(list, one, rfc3339(now)), before);
}

/** A true condition. */
export function condition(type: string, reason: string, message: string): Condition {
  return { type, status: "True", reason, message };
}

/** The false condition `Issued` with the reason why there is no answer. */
export function notIssued(reason: string, message: string): Condition {
  return { type: "Issued", status: "False", reason, message };
}

function holds({ conditions = [] }: AccessRequestStatus, type: string): boolean {
  return isConditionTrue(conditions, type);
}

function lastReason({ decisions = [] }: AccessRequestStatus): string {
  const last = decisions.at(-1);
  if (last === undefined) return "";
  return `by ${last.user}${last.reason === undefined ? "" : `: ${last.reason}`}`;
}
