import {
  type CsrControllerOptions,
  type CsrView,
  csrView,
  isUndecided,
  readRequest,
  withConditions,
} from "./csr-view.ts";
import { findCondition, isConditionTrue, setCondition } from "../../apimachinery/conditions.ts";
import {
  type Abstention,
  approveRequest,
  clonedRequester,
  lookAgainMs,
  manualApproval,
  notAllowed,
  revokedRequester,
  revokedUser,
} from "./manual-approval.ts";
import type { Backoff } from "../../client/backoff.ts";
import type { Client } from "../../client/client.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import type { ApiObject, Condition } from "../../apimachinery/object.ts";
import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { type UserInfo, nodeUserPrefix } from "../../apimachinery/user.ts";
import type { CsrContents } from "../../pki/csr.ts";
import { signerChecks } from "../../pki/signers.ts";
import { isRefusal } from "../../client/api-errors.ts";
import { type Controller, type Outcome, done, referenceTo } from "../controller.ts";
import { type Recogniser, accessReviewOf, isAllowed, nodeNameProblem, recognisersOf } from "./csr-approving-policy.ts";
import { certificateSigningRequests, subjectAccessReviews } from "../kinds.ts";
import {
  type NodeNameClaims,
  type NodeNameHolder,
  type WantedNodeName,
  isUserRevoked,
  wantedNodeName,
} from "./node-name-claims.ts";
import { nameInUseCondition } from "../../apis/csr-conditions.ts";

const serviceAccount = "certificate-controller";

export interface CsrApprovingOptions extends CsrControllerOptions {
  /** Whether the credential of the requester, or the user that it requests a certificate for, has been revoked since; such a request is left to an approver. */
  readonly isRevoked?: (requester: UserInfo) => boolean;
  /** Whether a credential issued after the one of the requester is in use elsewhere; such a request is left to an approver too. */
  readonly isCloned?: (requester: UserInfo, request: CsrContents, askedAt: number) => boolean;
  /** Which key holds which node name: a request for a name that another key holds is left to an approver. Absent: not checked. */
  readonly names?: NameCheck | undefined;
}

/** How requested node names are checked. */
export interface NameCheck {
  readonly claims: NodeNameClaims;
  /** Also approve names that are in use; default false. */
  readonly approveInUse?: boolean | undefined;
}

// As in Kubernetes: a permission may be granted soon, and a request that is never permitted costs little.
const backoff: Backoff = { initialMs: 200, maxMs: 1_000_000 };

/**
 * Approves kubelet client certificates whose requester has the permission for them; never denies. A recognised request without permission
 * is checked again, so that a later grant takes effect. A request for a node name that another key holds is marked and left to an
 * approver, unless the node itself requests it. Source: Kubernetes pkg/controller/certificates/approver.
 */
export function csrApproving(options: CsrApprovingOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const csrs = reader({ resource: certificateSigningRequests });
  return {
    name: "csrapproving",
    serviceAccount,
    watches: [{ resource: certificateSigningRequests }],
    concurrency: 64,
    backoff,
    reconcile: async (key) => {
      const object = csrs.get(key);
      return object === undefined ? done : judge({ ...options, client }, object);
    },
  };
}

interface Approving extends CsrApprovingOptions {
  readonly client: Client;
}

async function judge(approving: Approving, object: ApiObject): Promise<Outcome> {
  const csr = csrView(object);
  if (!isUndecided(csr)) return done;
  const read = readRequest(approving.parse, csr);
  const facts = typeof read === "string" ? undefined : read;
  const lockedOut = lockOutOf({ object, csr }, facts, approving);
  if (lockedOut !== undefined) return leave(approving, { object, csr }, lockedOut);
  return facts === undefined ? done : decide(approving, { object, csr }, facts);
}

async function decide(
  approving: Approving,
  { object, csr }: Pick<Asked, "object" | "csr">,
  facts: CsrContents,
): Promise<Outcome> {
  const { client, names } = approving;
  const wanted = names && wantedNodeName(csr, facts, object.metadata.name ?? "");
  const recognisers = recognisersOf(csr, facts);
  const recogniser = await firstAllowed(client, csr, recognisers);
  if (recogniser !== undefined) return approve(approving, { object, csr, wanted }, recogniser);
  const held = wanted && names?.claims.holderOf(wanted);
  if (held !== undefined) return mark(approving, { object, csr, wanted }, held);
  await writeConditions(client, { object, csr }, withNameFree(approving, csr));
  const abstention = abstentionOf(csr, facts, recognisers);
  return abstention === undefined ? done : leave(approving, { object, csr }, abstention);
}

/** Requests for other signers, and of machines with an expired certificate, are marked by their own approvers, and only by these. */
function leave(
  { client, clock }: Approving,
  { object, csr }: Pick<Asked, "object" | "csr">,
  abstention: Abstention,
): Promise<Outcome> {
  const isMarked = csr.signerName === nodeSigner && nodeReturningAs(csr.requester) === undefined;
  return manualApproval(isMarked ? { client, clock } : undefined, object, abstention);
}

/** Does not await between the check of the name and its reservation, which remains until the approval is known to be written or not. */
async function approve(approving: Approving, asked: Asked, { message }: Recogniser): Promise<Outcome> {
  const { client, names } = approving;
  const { object, csr, wanted } = asked;
  const checked = names?.approveInUse === true ? undefined : wanted;
  const held = checked && names?.claims.reserve(checked);
  if (held !== undefined) return mark(approving, asked, held);
  try {
    const unmarked = withConditions(object, withNameFree(approving, csr));
    return await approveRequest(client, unmarked, { reason: "AutoApproved", message });
  } catch (error) {
    if (checked !== undefined && isRefusal(error)) names?.claims.release(checked.request);
    throw error;
  }
}

async function mark(approving: Approving, asked: Asked, held: NodeNameHolder): Promise<Outcome> {
  const { client, clock, names } = approving;
  const { object, csr, wanted } = asked;
  if (wanted === undefined || names === undefined) return done;
  const holders = [held, ...names.claims.holdersOf(wanted)];
  const message = unchangedMessage(
    csr,
    holders.map((one) => nameInUseMessage(wanted, one)),
  );
  const marked: Condition = { type: nameInUseCondition, status: "True", reason: nameInUseReason, message };
  await writeConditions(client, asked, setCondition(csr.conditions, marked, rfc3339(clock.now())));
  const about = referenceTo(certificateSigningRequests, object);
  const details = { user: csr.requester.username, fingerprint: wanted.key };
  return { kind: "blocked", because: { reason: nameInUseReason, about, message, details }, again: lookAgainMs };
}

async function writeConditions(
  client: Client,
  { object, csr }: Pick<Asked, "object" | "csr">,
  conditions: readonly Condition[],
): Promise<void> {
  if (conditions === csr.conditions) return;
  await client.update(certificateSigningRequests, withConditions(object, conditions), { subresource: "status" });
}

/** Why requester or user may not get a certificate, whatever permissions the requester has. */
function lockOutOf(
  { object, csr }: Pick<Asked, "object" | "csr">,
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

/** Why an otherwise acceptable request is left to an approver; undefined for requests to other signers. */
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

/** An undecided request. */
interface Asked {
  readonly object: ApiObject;
  readonly csr: CsrView;
  /** Undefined where the name is the requester's own, or none is requested. */
  readonly wanted: WantedNodeName | undefined;
}

/** Why such a request waits: the reason in its condition, the log and an Event. */
const nameInUseReason = "NodeNameInUse";

/** The message of the condition, for the approver and the requesting machine. */
function nameInUseMessage({ username }: WantedNodeName, { key, notAfter, request }: NodeNameHolder): string {
  const name = username.slice(nodeUserPrefix.length);
  const which = key === undefined ? "another key" : `another key, ${key}`;
  const until = notAfter === undefined ? "approved and not yet issued" : `valid until ${notAfter}`;
  const by = request === undefined ? "" : `, ${request}`;
  return `the node name ${name} is in use by ${which} (${until}${by}); this request is not approved automatically, an approver must decide`;
}

/**
 * The message of the present mark, where it is one of `messages` that are true now, else the first of them: a mark remains while the
 * holder that it names holds the name, so that renewals of the holder do not rewrite every waiting request.
 */
function unchangedMessage({ conditions }: Pick<CsrView, "conditions">, messages: readonly string[]): string {
  const text = findCondition(conditions, nameInUseCondition);
  return messages.find((message) => text?.status === "True" && text.message === message) ?? messages[0] ?? "";
}

/** The conditions without the mark; the same list where there is none. */
function withNameFree({ names, clock }: Approving, { conditions }: CsrView): readonly Condition[] {
  if (names === undefined || !isConditionTrue(conditions, nameInUseCondition)) return conditions;
  const message = "no other key holds the node name";
  const free: Condition = { type: nameInUseCondition, status: "False", reason: "NodeNameFree", message };
  return setCondition(conditions, free, rfc3339(clock.now()));
}
