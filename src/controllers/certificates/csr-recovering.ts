import { rfc3339, type Clock } from "../../core/clock.ts";
import { setCondition } from "../../core/conditions.ts";
import type { ApiObject, Condition, ObjectKey } from "../../core/object.ts";
import { nodeReturningAs } from "../../core/returning.ts";
import { nodeNameOf, type UserInfo } from "../../core/user.ts";
import { CsrError, type CsrContents } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { isClientKubelet } from "../../pki/signers.ts";
import { sourceAddressOf } from "../../resources/certificate-signing-request.ts";
import type { IssuedCredential } from "../../resources/issued-credential.ts";
import { returningCondition } from "../../resources/csr-waiting.ts";
import { recoveryPolicies, type RecoveryPolicy } from "../../resources/recovery-policy.ts";
import { lockClones } from "../credentials/clone-lock.ts";
import { isRefusal } from "../api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import type { FoundStanding } from "../credentials/credential-standing.ts";
import { isUndecided } from "./csr-approving-policy.ts";
import { recoveriesOf, returningStep } from "./csr-recovering-policy.ts";
import { csrView, hasCondition, withCondition, type CsrView } from "./csr-view.ts";
import { certificateSigningRequests } from "../kinds.ts";
import type { NodeNameClaims } from "./node-name-claims.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "credential-controller";

export interface CsrRecoveringOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** Reads the PEM of a request, which the API verified when it was created. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
  readonly isRevoked: (requester: UserInfo) => boolean;
  /** How the credential stands with which was asked for this key, at that moment in milliseconds since the epoch; undefined for whoever is no node. Knows every acknowledged write. */
  readonly standingOf: (
    requester: UserInfo,
    key: string,
    askedAt: number,
  ) => (FoundStanding & { readonly record: IssuedCredential | undefined }) | undefined;
  /** Who holds which node name: two keys are not let in under one name at the same time. Absent: nothing is known of that. */
  readonly names?: Pick<NodeNameClaims, "reserveReturning" | "release"> | undefined;
}

/** A request is looked at again soon that came together with another one for its name. */
const together: Outcome = { kind: "requeue", afterMs: 5000, why: "another request for its name is being answered" };

/** How many approvals are remembered until the records have them. */
const mostRemembered = 4096;

/**
 * Lets nodes in again whose certificate has expired, where a RecoveryPolicy allows it; else says on the request what it waits for. And
 * locks out both holders of an identity, wherever a node asks for its next certificate with one after which a later one is in use.
 */
export function csrRecovering(options: CsrRecoveringOptions): Controller {
  const { informers, clock, parse, isRevoked, standingOf } = options;
  const { client, reader } = informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  const policies = reader({ resource: recoveryPolicies });
  // What was approved here, as the record of it comes later.
  const approved = new Map<string, { readonly node: string; readonly at: number }>();

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!isUndecided(csr)) return done;
    const request = ownRequest(csr, parse);
    if (request === undefined || isRevoked(csr.requester)) return done;
    const askedAt = Date.parse(object.metadata.creationTimestamp ?? "");
    const found = standingOf(csr.requester, keyFingerprint(request.spki), askedAt);
    if (found === undefined) return done;
    const { standing, record, asking, later } = found;
    const isCloned = standing === "cloned" && record !== undefined && asking !== undefined;
    const tell = isCloned ? [await lockClones(client, { record, asking, later })] : [];
    const node = nodeReturningAs(csr.requester);
    if (node === undefined) return { kind: "done", tell };
    const step = returningStep({
      ...found,
      node,
      policies: policies.list() as readonly RecoveryPolicy[],
      address: sourceAddressOf(object),
      recoveries: recoveriesOf(record, unrecorded(csr.requester.username)),
      now: clock.now(),
    });
    if (step.kind === "wait") {
      return { ...(await says(object, csr, { reason: step.reason, message: step.message })), tell };
    }
    const wanted = { username: node, key: keyFingerprint(request.spki), request: key.name };
    // From here to the write nothing is awaited: another request for the name sees this one, or this one sees it.
    if (options.names?.reserveReturning(wanted) !== undefined) return together;
    remember(`csr/${key.name}`, csr.requester.username);
    await orRelease(approve(withCondition(object, approvedAs(step.message))), () => options.names?.release(key.name));
    return done;
  }

  async function approve(object: ApiObject): Promise<void> {
    await client.update(certificateSigningRequests, object, { subresource: "approval" });
  }

  async function says(object: ApiObject, csr: CsrView, why: Pick<Condition, "reason" | "message">): Promise<Outcome> {
    const condition: Condition = { type: returningCondition, status: "True", ...why };
    const conditions = setCondition(csr.conditions, condition, rfc3339(clock.now()));
    if (conditions !== csr.conditions) {
      await approve({ ...object, status: { ...(object["status"] as object | undefined), conditions } });
    }
    return done;
  }

  /** Requests of this user that were approved and may not be in its record yet. */
  function unrecorded(username: string): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    for (const object of csrs.list()) {
      const csr = csrView(object);
      if (csr.requester.username !== username || !hasCondition(csr, "Approved")) continue;
      found.set(`csr/${object.metadata.name}`, Date.parse(object.metadata.creationTimestamp ?? ""));
    }
    for (const [request, { node, at }] of approved) if (node === username) found.set(request, at);
    return found;
  }

  function remember(request: string, node: string): void {
    approved.set(request, { node, at: clock.now() });
    const [oldest] = approved.keys();
    if (approved.size > mostRemembered && oldest !== undefined) approved.delete(oldest);
  }

  return {
    name: "csrrecovering",
    serviceAccount,
    watches: [
      { resource: certificateSigningRequests },
      // A policy may let in who waits.
      { resource: recoveryPolicies, keys: () => csrs.list().map(({ metadata }) => ({ name: metadata.name ?? "" })) },
    ],
    // One after another, as each counts those before it.
    concurrency: 1,
    reconcile,
  };
}

function approvedAs(message: string): Condition {
  return { type: "Approved", status: "True", reason: "AutoApproved", message };
}

async function orRelease(write: Promise<void>, release: () => void): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (isRefusal(error)) release();
    throw error;
  }
}

/** The request of a node, or of whoever comes back as one, for its own client certificate; undefined for any other. */
function ownRequest(csr: CsrView, parse: CsrRecoveringOptions["parse"]): CsrContents | undefined {
  const { requester } = csr;
  const node = nodeReturningAs(requester) ?? (nodeNameOf(requester) === undefined ? undefined : requester.username);
  if (node === undefined) return undefined;
  try {
    const request = parse(csr.request);
    const isOwn = request.subject.commonName === node && isClientKubelet(csr.signerName, request, csr.usages);
    return isOwn ? request : undefined;
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}
