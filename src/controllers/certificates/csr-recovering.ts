import {
  type CsrControllerOptions,
  readRequest,
  isUndecided,
  csrView,
  hasCondition,
  withCondition,
  withConditions,
  type CsrView,
} from "./csr-view.ts";
import { type Clock, rfc3339 } from "../../apimachinery/clock.ts";
import type { Reader } from "../../client/object-store.ts";
import type { Client } from "../../client/client.ts";
import { setCondition } from "../../apimachinery/conditions.ts";
import type { ApiObject, Condition, ObjectKey } from "../../apimachinery/object.ts";
import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { nodeNameOf, nodeUserPrefix, type UserInfo } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { isClientKubelet } from "../../pki/signers.ts";
import { sourceAddressOf } from "../../apis/certificate-signing-request.ts";
import type { IssuedCredential, CredentialIssue } from "../../apis/issued-credential.ts";
import { returningCondition } from "../../apis/csr-conditions.ts";
import { recoveryPolicies, type RecoveryPolicy } from "../../apis/recovery-policy.ts";
import { clonedAnnotation, credentialRevocations } from "../../apis/credential-revocation.ts";
import { beginCloneLock, cloneRevocationName, type FoundClone } from "../credentials/clone-lock.ts";
import { isRefusal } from "../../client/api-errors.ts";
import { done, retryOn, type Controller, type Outcome, referenceTo, type Report } from "../controller.ts";
import type { FoundCredentialStatus, CredentialStatus } from "../credentials/credential-record.ts";
import { certificateSigningRequests } from "../kinds.ts";
import { type NodeNameClaims, matchesNodePattern } from "./node-name-claims.ts";
import { recoveryRefusal } from "../credentials/recovery-judgement.ts";

const serviceAccount = "credential-controller";

export interface CsrRecoveringOptions extends CsrControllerOptions {
  readonly isRevoked: (requester: UserInfo) => boolean;
  /**
   * The status of the credential of the requester when it requested this key, at that time in milliseconds since the epoch; undefined for
   * a requester that is no node. Includes every acknowledged write.
   */
  readonly statusOf: (
    requester: UserInfo,
    key: string,
    askedAt: number,
  ) => (FoundCredentialStatus & { readonly record: IssuedCredential | undefined }) | undefined;
  /** Which key holds which node name: two keys must not get one name at the same time. Absent: not checked. */
  readonly names?: Pick<NodeNameClaims, "reserveReturning" | "release"> | undefined;
}

/** A request that arrived together with another one for its name is checked again soon. */
const together: Outcome = { kind: "requeue", afterMs: 5000, why: "another request for its name is being answered" };

/** Terms of recovery do not apply where two machines hold its credential. */
const nothingElse = { policies: [], address: undefined, recoveries: [] } as const;

type Found = NonNullable<ReturnType<CsrRecoveringOptions["statusOf"]>>;

/** An undecided request of a node, with what is known of its requester. */
interface Asked {
  readonly object: ApiObject;
  readonly csr: CsrView;
  readonly request: CsrContents;
  readonly found: Found;
}

function cloneIn({ credentialStatus, record, asking, later }: Found): FoundClone | undefined {
  return credentialStatus === "cloned" && record !== undefined && asking !== undefined
    ? { record, asking, later }
    : undefined;
}

/** The step for the request of a locked out machine with an expired certificate; undefined for other requests. */
function clonedStep({ csr, found }: Asked, now: number): ReturningStep | undefined {
  const node = nodeReturningAs(csr.requester);
  return node === undefined
    ? undefined
    : returningStep({ ...nothingElse, ...found, node, credentialStatus: "cloned", now });
}

/** How many approvals are kept until the records include them. */
const maxRemembered = 4096;

/**
 * Approves requests of nodes whose certificate has expired, where a RecoveryPolicy allows it; else marks the request with the reason why
 * it waits. Where a node requests its next certificate although a later one is in use, it starts the lock of both holders, which the
 * controller `clone-lock` completes.
 */
export function csrRecovering(options: CsrRecoveringOptions): Controller {
  const { informers, clock, isRevoked } = options;
  const { client, reader } = informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const policies = reader({ resource: recoveryPolicies });
  const revocations = reader({ resource: credentialRevocations });
  const approvals = approvalMemory(clock, csrs);
  const mark = async (asked: Asked, step: ReturningStep | undefined): Promise<void> => {
    const marked = step && markedAs(asked, step, rfc3339(clock.now()));
    if (marked !== undefined) await approve(client, marked);
  };

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    const asked = object && askedIn(object, options);
    if (asked === undefined) return done;
    if (isRevoked(asked.csr.requester)) {
      // A clone lock revoked it, perhaps before a restart: the mark may be missing.
      if (isLocked(asked.found, revocations)) await mark(asked, clonedStep(asked, clock.now()));
      return done;
    }
    const clone = cloneIn(asked.found);
    if (clone === undefined) return recover(key, asked);
    // An ended lock is about to be deleted.
    const begun = await retryOn(beginCloneLock(client, clone), "AlreadyExists");
    await mark(asked, clonedStep(asked, clock.now()));
    return begun;
  }

  async function recover(key: ObjectKey, asked: Asked): Promise<Outcome> {
    const { object, csr, request, found } = asked;
    const node = nodeReturningAs(csr.requester);
    if (node === undefined) return done;
    const step = returningStep({
      ...found,
      node,
      policies: policies.list() as readonly RecoveryPolicy[],
      address: sourceAddressOf(object),
      recoveries: recoveriesOf(found.record, approvals.of(csr.requester.username)),
      now: clock.now(),
    });
    if (step.kind === "wait") {
      await mark(asked, step);
      return { kind: "blocked", because: leftReport(asked, step), again: "woken" };
    }
    const wanted = { username: node, key: keyFingerprint(request.spki), request: key.name };
    // No await from here to the write: of two requests for the name, one sees the other.
    if (options.names?.reserveReturning(wanted) !== undefined) return together;
    approvals.add(`csr/${key.name}`, csr.requester.username);
    const approval: Condition = { type: "Approved", status: "True", reason: "AutoApproved", message: step.message };
    await approve(client, withCondition(object, approval)).catch((error: unknown) => {
      if (isRefusal(error)) options.names?.release(key.name);
      throw error;
    });
    return done;
  }

  return {
    name: "csrrecovering",
    serviceAccount,
    watches: watchesOn(csrs),
    // One at a time, as each counts those before it.
    concurrency: 1,
    reconcile,
  };
}

function watchesOn(csrs: Reader): Controller["watches"] {
  const all = (): readonly ObjectKey[] => csrs.list().map(({ metadata }) => ({ name: metadata.name ?? "" }));
  return [
    { resource: certificateSigningRequests },
    // A new policy may accept a waiting machine.
    { resource: recoveryPolicies, keys: all },
    // The request of a locked out requester is marked.
    { resource: credentialRevocations, keys: (one) => (hasLocked(one) ? all() : []) },
  ];
}

function isLocked({ asking }: Found, revocations: Reader): boolean {
  return asking !== undefined && revocations.get({ name: cloneRevocationName(asking) }) !== undefined;
}

interface ApprovalMemory {
  readonly add: (request: string, node: string) => void;
  /** When requests of this user were approved that its record may lack, by request. */
  readonly of: (username: string) => ReadonlyMap<string, number>;
}

/** Approvals of this process, as the record is written later. */
function approvalMemory(clock: Clock, csrs: Reader): ApprovalMemory {
  const approved = new Map<string, { readonly node: string; readonly at: number }>();
  return {
    add: (request, node) => {
      approved.set(request, { node, at: clock.now() });
      const [oldest] = approved.keys();
      if (approved.size > maxRemembered && oldest !== undefined) approved.delete(oldest);
    },
    of: (username) => {
      const found = new Map<string, number>();
      for (const object of csrs.list()) {
        const csr = csrView(object);
        if (csr.requester.username !== username || !hasCondition(csr, "Approved")) continue;
        found.set(`csr/${object.metadata.name}`, Date.parse(object.metadata.creationTimestamp ?? ""));
      }
      for (const [request, { node, at }] of approved) if (node === username) found.set(request, at);
      return found;
    },
  };
}

function hasLocked({ metadata }: ApiObject): boolean {
  return metadata.annotations?.[clonedAnnotation] !== undefined;
}

/** The undecided request of a node, and the status of its requester's credential. */
function askedIn(object: ApiObject, { parse, statusOf }: CsrRecoveringOptions): Asked | undefined {
  const csr = csrView(object);
  const request = isUndecided(csr) ? ownRequest(csr, parse) : undefined;
  if (request === undefined) return undefined;
  const askedAt = Date.parse(object.metadata.creationTimestamp ?? "");
  const found = statusOf(csr.requester, keyFingerprint(request.spki), askedAt);
  return found === undefined ? undefined : { object, csr, request, found };
}

async function approve(client: Client, object: ApiObject): Promise<void> {
  await client.update(certificateSigningRequests, object, { subresource: "approval" });
}

/** The request with the condition for why it waits; undefined where it has that condition already, or does not wait. */
function markedAs({ object, csr }: Asked, step: ReturningStep, now: string): ApiObject | undefined {
  if (step.kind !== "wait") return undefined;
  const { reason, message } = step;
  const conditions = setCondition(csr.conditions, { type: returningCondition, status: "True", reason, message }, now);
  return conditions === csr.conditions ? undefined : withConditions(object, conditions);
}

function leftReport({ object, csr }: Asked, { reason, message }: Extract<ReturningStep, { kind: "wait" }>): Report {
  return {
    reason: "RecoveryNotApproved",
    about: referenceTo(certificateSigningRequests, object),
    message: `not approved automatically: ${message}`,
    details: { requester: csr.requester.username, why: reason },
  };
}

/** The request of a node, also with an expired certificate, for its own client certificate; undefined for any other. */
function ownRequest(csr: CsrView, parse: CsrRecoveringOptions["parse"]): CsrContents | undefined {
  const { requester } = csr;
  const node = nodeReturningAs(requester) ?? (nodeNameOf(requester) === undefined ? undefined : requester.username);
  if (node === undefined) return undefined;
  const request = readRequest(parse, csr);
  if (typeof request === "string" || request.subject.commonName !== node) return undefined;
  return isClientKubelet(csr.signerName, request, csr.usages) ? request : undefined;
}

/** The inputs for a decision on a requester with an expired certificate. */
export interface ReturningView {
  /** The user name of the node. */
  readonly node: string;
  readonly credentialStatus: CredentialStatus;
  readonly record: IssuedCredential | undefined;
  /** The expired certificate. */
  readonly asking: CredentialIssue | undefined;
  readonly policies: readonly RecoveryPolicy[];
  /** The source address of the request, as the API saw it. */
  readonly address: string | undefined;
  /** Times of earlier recoveries, in milliseconds since the epoch. */
  readonly recoveries: readonly number[];
  readonly now: number;
}

/** What to do: approve by a policy, or leave it to an approver with a reason. */
type ReturningStep =
  | { readonly kind: "approve"; readonly policy: string; readonly message: string }
  | { readonly kind: "wait"; readonly reason: string; readonly message: string };

/** Decides. It never denies: an approver judges a requester that proves the key of a machine accepted before. */
export function returningStep(view: ReturningView): ReturningStep {
  const { node, record, asking, credentialStatus } = view;
  const name = node.slice(nodeUserPrefix.length);
  if (credentialStatus === "unknown" || record === undefined || asking === undefined) {
    return wait("NoRecord", `${node} comes back with a certificate of which this hub has no record`);
  }
  const history = historyOf(record);
  if (credentialStatus === "cloned") {
    return wait("Cloned", `${node} comes back with a certificate after which a later one is in use; ${history}`);
  }
  const matching = view.policies
    .filter(({ spec }) => spec.nodeNames.some((pattern) => pattern === "*" || matchesNodePattern(pattern, name)))
    .toSorted((one, other) => ((one.metadata.name ?? "") < (other.metadata.name ?? "") ? -1 : 1));
  if (matching.length === 0) {
    return wait("NoPolicy", `${node} comes back, and no RecoveryPolicy speaks of it; ${history}`);
  }
  const { now, recoveries, address } = view;
  const facts = { now, ended: Date.parse(asking.notAfter ?? ""), recoveries, address };
  const refusals: string[] = [];
  for (const { metadata, spec } of matching) {
    const refusal = recoveryRefusal(spec, facts);
    const policy = metadata.name ?? "";
    if (refusal === undefined) {
      return { kind: "approve", policy, message: `${node} comes back within RecoveryPolicy ${policy}; ${history}` };
    }
    refusals.push(`RecoveryPolicy ${policy} does not approve it automatically: ${refusal}`);
  }
  return wait("OutsidePolicy", `${node} comes back; ${refusals.join("; ")}; ${history}`);
}

function wait(reason: string, message: string): ReturningStep {
  return { kind: "wait", reason, message };
}

/** Since when a machine is known, and when it was last seen; in one clause. */
function historyOf({ metadata, status = {} }: IssuedCredential): string {
  const { count = 0, lastSeen = "never" } = status;
  return `known since ${metadata.creationTimestamp ?? "an unknown time"}, ${count} issued, last seen ${lastSeen}`;
}

/** Times of the recoveries of a machine: those in its record, and `others` that the record lacks. */
export function recoveriesOf(
  record: IssuedCredential | undefined,
  others: ReadonlyMap<string, number>,
): readonly number[] {
  const known = new Map(others);
  for (const { request = "", time = "" } of record?.status?.recoveries ?? []) {
    const at = Date.parse(time);
    if (!Number.isNaN(at)) known.set(request, at);
  }
  return [...known.values()];
}
