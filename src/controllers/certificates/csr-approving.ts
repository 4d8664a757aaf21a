import type { Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { rfc3339, type Clock } from "../../apimachinery/clock.ts";
import type { ApiObject, ObjectKey, Condition } from "../../apimachinery/object.ts";
import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { nodeUserPrefix, type UserInfo } from "../../apimachinery/user.ts";
import { CsrError, type CsrContents } from "../../pki/csr.ts";
import { signerChecks } from "../../pki/signers.ts";
import { isRefusal } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import {
  accessReviewOf,
  approvalOf,
  isAllowed,
  isUndecided,
  nodeNameProblem,
  recognisersOf,
  type Recogniser,
} from "./csr-approving-policy.ts";
import { csrView, withConditions, type CsrView } from "./csr-view.ts";
import { certificateSigningRequests, subjectAccessReviews } from "../kinds.ts";
import {
  isUserRevoked,
  wantedNodeName,
  type NodeNameClaims,
  type NodeNameHolder,
  type WantedNodeName,
} from "./node-name-claims.ts";
import type { SharedInformers } from "../shared-informers.ts";
import { referenceTo } from "../report.ts";
import {
  clonedRequester,
  lookAgainMs,
  manualApproval,
  notAllowed,
  revokedRequester,
  revokedUser,
  withoutAbstention,
  type Abstention,
} from "./manual-approval.ts";
import { findCondition, setCondition } from "../../apimachinery/conditions.ts";
import { nameInUseCondition } from "../../apis/csr-conditions.ts";

const serviceAccount = "certificate-controller";

export interface CsrApprovingOptions {
  readonly informers: SharedInformers;
  readonly clock: Pick<Clock, "now">;
  /** Reads the PEM of a request, which the API verified when it was created. @throws CsrError */
  readonly parse: (pem: string) => CsrContents;
  /** Whether what the requester asked with has been revoked since, or the user that it asks for is; such a request is left to people. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Whether it asks with a credential after which a later one is in use elsewhere; such a request is left to people as well. */
  readonly isCloned?: (requester: UserInfo, request: CsrContents, askedAt: number) => boolean;
  /** Who holds which node name: a name that another key holds is left to people. Absent: nothing is known of that. */
  readonly names?: NameCheck | undefined;
}

/** How the names that requests ask for are judged. */
export interface NameCheck {
  readonly claims: NodeNameClaims;
  readonly clock: Pick<Clock, "now">;
  /** Approve names that are in use as well; default false. */
  readonly approveInUse?: boolean | undefined;
}

// As in Kubernetes: a grant may follow soon, and a request that nobody ever grants costs little.
const backoff: Backoff = { initialMs: 200, maxMs: 1_000_000 };

/**
 * Approves kubelet client certificates whose requester has the permission for them; never denies. One that is recognised and not
 * allowed is asked about again, so that a later grant takes effect. One for a node name that another key holds is marked and left to
 * people, unless the node itself asks. Source: Kubernetes pkg/controller/certificates/approver.
 */
export function csrApproving(options: CsrApprovingOptions): Controller {
  const { names } = options;
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const object = csrs.get(key);
    if (object === undefined) return done;
    const csr = csrView(object);
    if (!isUndecided(csr)) return done;
    const facts = readable(options.parse, csr.request);
    const lockedOut = lockOutOf({ object, csr }, facts, options);
    if (lockedOut !== undefined) return leave(object, csr, lockedOut);
    if (facts === undefined) return done;
    const looked: Looked = { object, csr, wanted: names && wantedNodeName(csr, facts, key.name) };
    const recognisers = recognisersOf(csr, facts);
    const recogniser = await firstAllowed(client, csr, recognisers);
    if (recogniser !== undefined) return approve(looked, recogniser);
    const held = looked.wanted && names?.claims.holderOf(looked.wanted);
    if (held !== undefined) return mark(looked, held);
    await unmark(client, looked, names);
    const abstention = abstentionOf(csr, facts, recognisers);
    return abstention === undefined ? done : leave(object, csr, abstention);
  }

  /** Requests for other signers, and of machines that come back, are marked by their own approvers, and by none twice. */
  function leave(object: ApiObject, csr: CsrView, abstention: Abstention): Promise<Outcome> {
    const marking =
      csr.signerName === nodeSigner && nodeReturningAs(csr.requester) === undefined
        ? { client, clock: options.clock }
        : undefined;
    return manualApproval(marking, object, abstention);
  }

  /** Nothing is awaited between the look at the name and its reservation, which stays until the approval is known to be written or not. */
  async function approve(looked: Looked, recogniser: Recogniser): Promise<Outcome> {
    const { object, csr, wanted } = looked;
    const checked = names?.approveInUse === true ? undefined : wanted;
    const held = checked && names?.claims.reserve(checked);
    if (held !== undefined) return mark(looked, held);
    const unmarked = names === undefined ? csr.conditions : withNameInUse(csr, undefined, names.clock.now());
    const approved = withConditions(object, [...withoutAbstention(unmarked), approvalOf(recogniser)]);
    try {
      await client.update(certificateSigningRequests, approved, { subresource: "approval" });
    } catch (error) {
      if (checked !== undefined && isRefusal(error)) names?.claims.release(checked.request);
      throw error;
    }
    return done;
  }

  async function mark({ object, csr, wanted }: Looked, held: NodeNameHolder): Promise<Outcome> {
    if (wanted === undefined || names === undefined) return done;
    const now = names.clock.now();
    const message = unchangedMessage(
      csr,
      [held, ...names.claims.holdersOf(wanted)].map((one) => nameInUseMessage(wanted, one)),
    );
    const conditions = withNameInUse(csr, message, now);
    if (conditions !== csr.conditions) {
      await client.update(certificateSigningRequests, withConditions(object, conditions), { subresource: "status" });
    }
    const about = referenceTo(certificateSigningRequests, object);
    const details = { user: csr.requester.username, fingerprint: wanted.key };
    return { kind: "blocked", because: { reason: nameInUseReason, about, message, details }, again: lookAgainMs };
  }

  return {
    name: "csrapproving",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 64,
    backoff,
    reconcile,
  };
}

/** Why requester or user may not get a certificate, whatever rights the requester has. */
function lockOutOf(
  { object, csr }: Pick<Looked, "object" | "csr">,
  facts: CsrContents | undefined,
  options: CsrApprovingOptions,
): Abstention | undefined {
  if (options.isRevoked?.(csr.requester) === true) return revokedRequester;
  if (facts === undefined) return undefined;
  const { commonName } = facts.subject;
  if (csr.signerName === nodeSigner && isUserRevoked(commonName, options.isRevoked)) return revokedUser(commonName);
  const askedAt = Date.parse(object.metadata.creationTimestamp ?? "");
  return options.isCloned?.(csr.requester, facts, askedAt) === true ? clonedRequester : undefined;
}

const nodeSigner = "kubernetes.io/kube-apiserver-client-kubelet";

function rightText({ access: { verb, resource, subresource } }: Recogniser): string {
  return `${verb} ${resource}/${subresource}`;
}

/** Why a request that nothing else speaks against is left to an approver; undefined for those of other signers. */
function abstentionOf(csr: CsrView, facts: CsrContents, recognisers: readonly Recogniser[]): Abstention | undefined {
  const last = recognisers.at(-1);
  if (last !== undefined) return notAllowed(csr.requester.username, rightText(last));
  if (csr.signerName !== nodeSigner) return undefined;
  const problem = signerChecks.get(nodeSigner)?.(facts, csr.usages);
  const form =
    problem === undefined
      ? nodeNameProblem(facts)
      : `it has not the form of a kubelet client certificate, which its signer requires: ${problem}`;
  if (form === undefined) return undefined;
  return {
    reason: "RequestNotRecognized",
    message: `${form}; deny it, and create a corrected request`,
    again: "woken",
  };
}

async function unmark(client: Client, { object, csr }: Looked, names: NameCheck | undefined): Promise<void> {
  const conditions = names === undefined ? csr.conditions : withNameInUse(csr, undefined, names.clock.now());
  if (conditions === csr.conditions) return;
  await client.update(certificateSigningRequests, withConditions(object, conditions), { subresource: "status" });
}

async function firstAllowed(
  client: Client,
  csr: CsrView,
  recognisers: readonly Recogniser[],
): Promise<Recogniser | undefined> {
  for (const recogniser of recognisers) {
    const review = await client.create(subjectAccessReviews, accessReviewOf(csr, recogniser.access));
    if (isAllowed(review)) return recogniser;
  }
  return undefined;
}

interface Looked {
  readonly object: ApiObject;
  readonly csr: CsrView;
  /** Undefined where the name is the requester's own, or none is asked for. */
  readonly wanted: WantedNodeName | undefined;
}

function readable(parse: CsrApprovingOptions["parse"], pem: string): CsrContents | undefined {
  try {
    return parse(pem);
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}

/** Why such a request waits, in its condition, the log and an Event. */
const nameInUseReason = "NodeNameInUse";

/** What the condition says, to the approver and to the machine that asks. */
function nameInUseMessage({ username }: WantedNodeName, { key, notAfter, request }: NodeNameHolder): string {
  const name = username.slice(nodeUserPrefix.length);
  const which = key === undefined ? "another key" : `another key, ${key}`;
  const until = notAfter === undefined ? "approved and not yet issued" : `valid until ${notAfter}`;
  const by = request === undefined ? "" : `, ${request}`;
  return `the node name ${name} is in use by ${which} (${until}${by}); this request is not approved automatically, an approver must decide`;
}

/**
 * The message that the mark has already, where that is one of those that are true now, else the first of them: a mark stays while the
 * holder that it names holds the name, so that renewals of the holder do not rewrite every request that waits.
 */
function unchangedMessage({ conditions }: Pick<CsrView, "conditions">, messages: readonly string[]): string {
  const text = findCondition(conditions, nameInUseCondition);
  return messages.find((message) => text?.status === "True" && text.message === message) ?? messages[0] ?? "";
}

/** The conditions with the mark as it is to be; the same list where it says so already. */
function withNameInUse(
  { conditions }: Pick<CsrView, "conditions">,
  message: string | undefined,
  now: number,
): readonly Condition[] {
  const before = findCondition(conditions, nameInUseCondition);
  if (message === undefined && before?.status !== "True") return conditions;
  const next: Condition =
    message === undefined
      ? {
          type: nameInUseCondition,
          status: "False",
          reason: "NodeNameFree",
          message: "no other key holds the node name",
        }
      : { type: nameInUseCondition, status: "True", reason: nameInUseReason, message };
  return setCondition(conditions, next, rfc3339(now));
}
