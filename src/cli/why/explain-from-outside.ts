import type { Attributes } from "../../authorization/authorizer.ts";
import { firstDecision, type ChainDecision } from "../../authorization/chain.ts";
import { isMistyped, likelyMeant } from "../../authorization/did-you-mean.ts";
import { masters } from "../../authorization/always.ts";
import { nearestOwnRights, unboundRoles } from "../../authorization/suggest-bindings.ts";
import { rbacAuthorizer } from "../../authorization/rbac.ts";
import { smallestRight } from "../../authorization/minimal-rule.ts";
import type { Client } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { authenticatedGroup, serviceAccountUser, type UserInfo } from "../../apimachinery/user.ts";
import { subjectOf } from "../../pki/names.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem } from "../../pki/pem.ts";
import type { AccessExplanationStatus } from "../../apis/access-explanation.ts";
import {
  type SubjectAccessReviewStatus,
  selfSubjectAccessReviews,
  subjectAccessReviews,
  type SubjectAccessReview,
} from "../../apis/access-review.ts";
import { stringAt } from "../../apis/json-fields.ts";
import { selfSubjectReviews, type SelfSubjectReview } from "../../apis/token-review.ts";
import { CliError } from "../cli-error.ts";
import { readPolicy, type ReadPolicy } from "../../authorization/rbac-reader.ts";
import { tokenClaims, type ServerAccess } from "../server-access.ts";
import { accessReviewSpec } from "../../authorization/access-review-spec.ts";
import type { DiscoveredKind } from "./served-kinds.ts";

/**
 * Explains a decision of a server that has no explanations of its own. The verdict is the server's; the binding, or the nearest rights,
 * are computed from the roles and bindings that the caller may read, by the hub's own code. @throws CliError refused where the caller may
 * not create the review
 */
export async function explainFromOutside(question: Question, server: ServerAccess): Promise<Explained> {
  const { action, user: asked, kinds } = question;
  const verdict = await reviewed(server.client, question);
  const kind = asked === undefined ? selfSubjectAccessReviews.kind : subjectAccessReviews.kind;
  const user = asked ?? (await ownUser(server));
  const status: AccessExplanationStatus = { ...verdict, authorizers: [serverStep(verdict)] };
  const policy = await readPolicy(server.client, action.namespace);
  const unknown = (why: string): Explained => ({
    status: { ...status, notes: [why] },
    source: { verdict: kind, rights: "not known" },
  });
  if (user === undefined) return unknown("This server does not tell who you are, so your roles cannot be looked at.");
  if (policy.unseen.length === 4) {
    return unknown("You may not read roles and bindings here, so nothing more is known.");
  }
  const attributes = { ...action, user };
  const ours = await firstDecision([masters, rbacAuthorizer(policy.index)]).decide(attributes, { trace: true });
  const { grant } = ours.trace?.at(-1) ?? {};
  const notes = [...subjectNotes(ours), ...differences(verdict, ours), ...unseenNotes(policy)];
  const more = verdict.allowed ? { ...(grant && { grant }), notes } : refusal({ attributes, policy, kinds, notes });
  return { status: { ...status, ...more }, source: { verdict: kind, rights: "worked out here" } };
}

function refusal(known: {
  readonly attributes: Attributes;
  readonly policy: ReadPolicy;
  readonly kinds: Question["kinds"];
  readonly notes: readonly string[];
}): Pick<AccessExplanationStatus, "nearest" | "toAllow" | "notes"> {
  const { attributes, policy, kinds = [] } = known;
  const { commands, notes } = smallestRight(attributes);
  const nearest = [
    ...(kinds.length === 0 ? [] : likelyMeant(attributes, kinds)),
    ...nearestOwnRights(policy.index, attributes),
    ...unboundRoles(policy.index, attributes),
  ];
  if (nearest.some(isMistyped)) return { nearest, toAllow: [], notes: known.notes };
  return { nearest, toAllow: commands, notes: [...known.notes, ...notes] };
}

function subjectNotes({ verdict, trace }: ChainDecision): readonly string[] {
  const note = trace?.at(-1)?.note;
  return verdict === "allow" && note !== undefined ? [`The subject is ${note}.`] : [];
}

/** Notes where the server and the roles that were read here do not agree. */
function differences(server: SubjectAccessReviewStatus, ours: ChainDecision): readonly string[] {
  const allows = ours.verdict === "allow";
  if (server.allowed && !allows) {
    return ["The roles read here do not allow it: another authorizer of the server does (Node, ABAC, a webhook)."];
  }
  if (!server.allowed && allows) {
    return [
      "The roles read here would allow it, but the server refuses: an authorizer before RBAC forbids it, RBAC is not on, or rights have just changed.",
    ];
  }
  return [];
}

function unseenNotes({ unseen }: ReadPolicy): readonly string[] {
  return unseen.length === 0 ? [] : [`You may not list ${unseen.join(", ")}; rights in them are not seen here.`];
}

function serverStep(status: SubjectAccessReviewStatus): NonNullable<AccessExplanationStatus["authorizers"]>[number] {
  return {
    name: "the server's chain",
    verdict: status.allowed ? "allow" : status.denied === true ? "deny" : "noOpinion",
    ...(status.reason === undefined || status.reason === "" ? { note: "gives no reason" } : { reason: status.reason }),
    ...(status.evaluationError === undefined || status.evaluationError === "" ? {} : { error: status.evaluationError }),
  };
}

async function reviewed(client: Client, { action, user }: Question): Promise<SubjectAccessReviewStatus> {
  const resource = user === undefined ? selfSubjectAccessReviews : subjectAccessReviews;
  const review = {
    apiVersion: `${resource.group}/${resource.version}`,
    kind: resource.kind,
    metadata: {},
    spec: specOf(action, user),
  };
  try {
    const { status } = await client.create<SubjectAccessReview>(resource, review);
    return { ...status, allowed: status?.allowed === true };
  } catch (error) {
    if (!(error instanceof StatusError) || error.code !== 403 || user === undefined) throw error;
    throw new CliError("refused", error.message, [
      "Asking about others needs the right to create accessexplanations (on a hub: ClusterRole pratique:access-explainer) or subjectaccessreviews.",
      "About yourself you may ask without it: leave out --as.",
    ]);
  }
}

/** The caller: from the server's SelfSubjectReview, and where that is unavailable, from the certificate or the ServiceAccount token. */
async function ownUser({ client, config }: ServerAccess): Promise<UserInfo | undefined> {
  const { group, version, kind } = selfSubjectReviews;
  try {
    const review = { apiVersion: `${group}/${version}`, kind, metadata: {} };
    const { status } = await client.create<SelfSubjectReview>(selfSubjectReviews, review);
    const { username, groups = [], ...rest } = status?.userInfo ?? {};
    return username === undefined ? undefined : { ...rest, username, groups };
  } catch (error) {
    if (!(error instanceof StatusError) || ![403, 404].includes(error.code)) throw error;
    return config.clientCertPem === undefined ? accountOf(config.token) : certificateUser(config.clientCertPem);
  }
}

/** The ServiceAccount in a token; it decides nothing here, the server has accepted the token already. */
function accountOf(token = ""): UserInfo | undefined {
  const [, kind, namespace = "", name = ""] = stringAt(tokenClaims(token), "sub").split(":");
  return kind === "serviceaccount" && name !== "" ? serviceAccountUser(namespace, name) : undefined;
}

function certificateUser(pem: string): UserInfo | undefined {
  const [leaf] = decodePem(pem);
  if (leaf === undefined) return undefined;
  const { commonName, organizations } = subjectOf(parseCertificate(leaf.bytes).subject, "the certificate's subject");
  return { username: commonName, groups: [...organizations, authenticatedGroup] };
}

/** The sources of an explanation. */
interface ExplanationSource {
  /** The kind of review that returned the verdict. */
  readonly verdict: string;
  /** Whether the server returned the nearest rights, or they were computed here from roles and bindings. */
  readonly rights: "the server" | "worked out here" | "not known";
}

/** An explanation of the server or of this program. */
export interface Explained {
  readonly status: AccessExplanationStatus;
  readonly source: ExplanationSource;
}

/** The question of the command line; `user` is undefined for the caller. */
export interface Question {
  readonly action: Omit<Attributes, "user">;
  readonly user: UserInfo | undefined;
  readonly kinds: readonly DiscoveredKind[] | undefined;
}

/** The spec of its review in the API. */
export function specOf(action: Omit<Attributes, "user">, user: UserInfo | undefined): object {
  const { user: _anonymous, ...about } = accessReviewSpec({ ...action, user: { username: "", groups: [] } });
  return user === undefined ? about : accessReviewSpec({ ...action, user });
}
