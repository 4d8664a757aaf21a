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
  /** How the credential stands with which was asked for this key, at that moment in milliseconds since the epoch; undefined for whoever is no node. Knows every acknowledged write. */
  readonly statusOf: (
    requester: UserInfo,
    key: string,
    askedAt: number,
  ) => (FoundCredentialStatus & { readonly record: IssuedCredential | undefined }) | undefined;
  /** Who holds which node name: two keys are not let in under one name at the same time. Absent: nothing is known of that. */
  readonly names?: Pick<NodeNameClaims, "reserveReturning" | "release"> | undefined;
}

/** A request is looked at again soon that came together with another one for its name. */
const together: Outcome = { kind: "requeue", afterMs: 5000, why: "another request for its name is being answered" };

/** What lets a machine in again does not count where two hold its credential. */
const nothingElse = { policies: [], address: undefined, recoveries: [] } as const;

type Found = NonNullable<ReturnType<CsrRecoveringOptions["statusOf"]>>;

/** An undecided request of a node, with what is known of who asks. */
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

/** What the request of a machine that comes back says once it is locked out; undefined for other requests. */
function clonedStep({ csr, found }: Asked, now: number): ReturningStep | undefined {
  const node = nodeReturningAs(csr.requester);
  return node === undefined
    ? undefined
    : returningStep({ ...nothingElse, ...found, node, credentialStatus: "cloned", now });
}

/** How many approvals are remembered until the records have them. */
const maxRemembered = 4096;

/**
 * Lets nodes in again whose certificate has expired, where a RecoveryPolicy allows it; else says on the request what it waits for. And
 * begins the lock of both holders of an identity, which the controller `clone-lock` completes, wherever a node asks for its next certificate with one after which a later one is in use.
 */
export function csrRecovering(options: CsrRecoveringOptions): Controller {
  const { informers, clock, isRevoked } = options;
  const { client, reader } = informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const policies = reader({ resource: recoveryPolicies });
  const revocations = reader({ resource: credentialRevocations });
  const approvals = approvalMemory(clock, csrs);
  const isLocked = ({ asking }: Found): boolean =>
    asking !== undefined && revocations.get({ name: cloneRevocationName(asking) }) !== undefined;
  const mark = async (asked: Asked, step: ReturningStep | undefined): Promise<void> => {
    const marked = step && markedAs(asked, step, rfc3339(clock.now()));
    if (marked !== undefined) await approve(client, marked);
  };

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    const asked = object && askedIn(object, options);
    if (asked === undefined) return done;
    if (isRevoked(asked.csr.requester)) {
      // By a clone lock, perhaps before a restart: its mark may be missing still.
      if (isLocked(asked.found)) await mark(asked, clonedStep(asked, clock.now()));
      return done;
    }
    const clone = cloneIn(asked.found);
    if (clone === undefined) return recover(key, asked);
    // A lock that has ended is about to be deleted.
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
    // From here to the write nothing is awaited: another request for the name sees this one, or this one sees it.
    if (options.names?.reserveReturning(wanted) !== undefined) return together;
    approvals.add(`csr/${key.name}`, csr.requester.username);
    const approval: Condition = { type: "Approved", status: "True", reason: "AutoApproved", message: step.message };
    try {
      await approve(client, withCondition(object, approval));
    } catch (error) {
      if (isRefusal(error)) options.names?.release(key.name);
      throw error;
    }
    return done;
  }

  const all = (): readonly ObjectKey[] => csrs.list().map(({ metadata }) => ({ name: metadata.name ?? "" }));
  return {
    name: "csrrecovering",
    serviceAccount,
    watches: [
      { resource: certificateSigningRequests },
      // A policy may let in who waits.
      { resource: recoveryPolicies, keys: all },
      // A request whose requester is locked out is marked.
      { resource: credentialRevocations, keys: (one) => (hasLocked(one) ? all() : []) },
    ],
    // One after another, as each counts those before it.
    concurrency: 1,
    reconcile,
  };
}

interface ApprovalMemory {
  readonly add: (request: string, node: string) => void;
  /** When requests of this user were approved that may not be in its record yet, by request. */
  readonly of: (username: string) => ReadonlyMap<string, number>;
}

/** What was approved here, as the record of it comes later. */
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

/** The undecided request of a node, and how the credential stands with which it asks. */
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

/** The request with the condition that says what it waits for; undefined where it says so already, or waits for nothing. */
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

/** The request of a node, or of whoever comes back as one, for its own client certificate; undefined for any other. */
function ownRequest(csr: CsrView, parse: CsrRecoveringOptions["parse"]): CsrContents | undefined {
  const { requester } = csr;
  const node = nodeReturningAs(requester) ?? (nodeNameOf(requester) === undefined ? undefined : requester.username);
  if (node === undefined) return undefined;
  const request = readRequest(parse, csr);
  if (typeof request === "string" || request.subject.commonName !== node) return undefined;
  return isClientKubelet(csr.signerName, request, csr.usages) ? request : undefined;
}

/** Everything that is known when somebody asks who comes back with an expired certificate. */
export interface ReturningView {
  /** The user name of the node. */
  readonly node: string;
  readonly credentialStatus: CredentialStatus;
  readonly record: IssuedCredential | undefined;
  /** The certificate that has expired. */
  readonly asking: CredentialIssue | undefined;
  readonly policies: readonly RecoveryPolicy[];
  /** Where the API saw the request come from. */
  readonly address: string | undefined;
  /** When it was let in so before, in milliseconds since the epoch. */
  readonly recoveries: readonly number[];
  readonly now: number;
}

/** What to do: approve by a policy, or leave it to a person and say why. */
type ReturningStep =
  | { readonly kind: "approve"; readonly policy: string; readonly message: string }
  | { readonly kind: "wait"; readonly reason: string; readonly message: string };

/** Decides. It never denies: whoever proves the key of a machine that was let in once is for a person to judge. */
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

/** Since when a machine is known, and when it was last here; in one clause. */
function historyOf({ metadata, status = {} }: IssuedCredential): string {
  const { count = 0, lastSeen = "never" } = status;
  return `known since ${metadata.creationTimestamp ?? "an unknown time"}, ${count} issued, last seen ${lastSeen}`;
}

/** When a machine was let in again after its credential had expired; by its record, and by `others` that are not in it yet. */
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
