import { findCondition, isConditionTrue } from "../../apimachinery/conditions.ts";
import type { AccessProfile } from "../../apis/access-profile.ts";
import type { AccessEvidence, AccessRequest } from "../../apis/access-request.ts";
import type { RecoveryTerms } from "../../apis/recovery-policy.ts";
import { recoveryRefusal } from "../credentials/recovery-judgement.ts";

/** Reason of a request that was approved because its machine was accepted before. */
export const recoveredCondition = "Recovered";

/** The state of the access that an earlier request granted. */
export interface AccessLife {
  /** When its last token expires, in milliseconds since the epoch; undefined where only the first token is known. */
  readonly ends?: number | undefined;
  readonly isRevoked: boolean;
}

/** A request, and all others of the same key. */
export interface AccessRecoveryView {
  readonly request: AccessRequest;
  readonly profile: AccessProfile;
  /** All other requests of the key. */
  readonly earlier: readonly AccessRequest[];
  readonly lifeOf: (grant: { readonly namespace: string; readonly serviceAccount: string }) => AccessLife | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Whether the request is approved automatically; else why not, or undefined where recovery does not apply. */
export type AccessRecovery =
  | { readonly kind: "approve"; readonly reason: string }
  | { readonly kind: "wait"; readonly message: string };

/** The name of the profile of the last decision on a request. */
export function lastProfile({ status }: AccessRequest): string | undefined {
  return status?.decisions?.at(-1)?.profile?.name;
}

/** The granted requests, the first one first. */
function grantedAmong(requests: readonly AccessRequest[]): readonly AccessRequest[] {
  return requests
    .filter(({ status }) => status?.accepted === true && isConditionTrue(status.conditions, "Issued"))
    .toSorted((one, other) => issuedAt(one) - issuedAt(other));
}

function issuedAt({ status }: AccessRequest): number {
  return Date.parse(findCondition(status?.conditions, "Issued")?.lastTransitionTime ?? "");
}

/** Since when the key is known here, and the request by which it was last accepted. */
export function returningEvidence(earlier: readonly AccessRequest[]): AccessEvidence["returning"] {
  const granted = grantedAmong(earlier);
  const [first, last] = [granted[0], granted.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const since = findCondition(first.status?.conditions, "Issued")?.lastTransitionTime;
  return { request: last.metadata.name ?? "", ...(since === undefined ? {} : { since }), times: granted.length };
}

/**
 * Decides by the recovery terms of the profile whether a machine that approvers accepted before is accepted again: it must prove the same
 * key, request the same profile, have nothing revoked, and no client may still use what it was granted.
 */
export function accessRecovery(view: AccessRecoveryView): AccessRecovery | undefined {
  const { request, profile, earlier, now } = view;
  const terms = profile.spec.recovery;
  const { evidence = {} } = request.status ?? {};
  const ofProfile = earlier.filter((one) => lastProfile(one) === profile.metadata.name);
  const last = grantedAmong(ofProfile).at(-1);
  if (last === undefined) return undefined;
  const why =
    objection(view) ?? (terms === undefined ? `profile ${profile.metadata.name} recovers no machine` : refusal(terms));
  return why === undefined
    ? {
        kind: "approve",
        reason: `it was approved before as ${last.metadata.name}, and profile ${profile.metadata.name} lets it come back`,
      }
    : {
        kind: "wait",
        message: `it was approved before as ${last.metadata.name}, and is not approved again automatically: ${why}`,
      };

  function refusal(recovery: RecoveryTerms): string | undefined {
    // A machine that was accepted several times must have lost all of its accesses.
    const ended = Math.max(...grantedAmong(ofProfile).map((one) => endOf(one, view)));
    if (ended > now) return "its earlier credential is still valid, so another machine may hold its key";
    const recoveries = ofProfile.flatMap(({ status }) => {
      const found = findCondition(status?.conditions, recoveredCondition);
      return found?.lastTransitionTime === undefined ? [] : [Date.parse(found.lastTransitionTime)];
    });
    return recoveryRefusal(recovery, { now, ended, recoveries, address: evidence.sourceAddress });
  }
}

/** What prevents a key from being accepted again, whatever the terms are. */
function objection(view: AccessRecoveryView): string | undefined {
  const { request, earlier } = view;
  if (request.status?.evidence?.possession !== "Proven") return "it does not prove that it holds the key";
  for (const one of earlier) {
    const { status = {}, metadata } = one;
    if (status.revoked === true) return `the access of ${metadata.name} was revoked`;
    if (status.denied === true) return `the request ${metadata.name} of the same key was denied`;
    if (lifeOf(one, view)?.isRevoked === true) return `the account of ${metadata.name} is revoked`;
  }
  return undefined;
}

function endOf(request: AccessRequest, view: AccessRecoveryView): number {
  const first = Date.parse(request.status?.expiresAt ?? "");
  const known = lifeOf(request, view)?.ends;
  return known === undefined ? first : Number.isNaN(first) ? known : Math.max(first, known);
}

/** The state of the access that a request granted; undefined where it granted none. */
function lifeOf({ status }: AccessRequest, view: AccessRecoveryView): AccessLife | undefined {
  const { namespace, serviceAccount } = status?.grant ?? {};
  if (namespace === undefined || serviceAccount === undefined) return undefined;
  return view.lifeOf({ namespace, serviceAccount });
}
