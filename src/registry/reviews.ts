import type { Attributes } from "../authorization/authorizer.ts";
import type { AuthorizerChain, ChainDecision, TraceStep } from "../authorization/chain.ts";
import type { RulesLister } from "../authorization/rules-review.ts";
import {
  partialSelectorText,
  reviewedFieldSelector,
  reviewedLabelSelector,
} from "../authorization/selector-attributes.ts";
import type { Authentication, Authenticator } from "../authentication/authenticator.ts";
import { invalidBearerToken } from "../authentication/bearer.ts";
import { invalidObject } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, qualified } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { Review } from "./registry.ts";
import {
  type NonResourceAttributes,
  type ResourceAttributes,
  rulesReviewProblem,
  type SelfSubjectRulesReview,
  type SubjectAccessReviewStatus,
} from "../apis/access-review.ts";
import {
  accessExplanations,
  selfAccessExplanations,
  type AccessExplanationStatus,
} from "../apis/access-explanation.ts";
import { reviewResources } from "../apis/builtin.ts";
import { tokenReviewProblem } from "../apis/token-review.ts";
import { isMistyped, likelyMeant } from "../authorization/did-you-mean.ts";
import { nearestOwnRights, unboundRoles } from "../authorization/suggest-bindings.ts";
import type { RbacIndex } from "../authorization/rbac-index.ts";
import { smallestAbacPolicy, smallestRight } from "../authorization/minimal-rule.ts";
import type { Resource } from "../apis/resource.ts";
import { truncate } from "../apimachinery/truncate.ts";

export interface ReviewOptions {
  readonly chain: AuthorizerChain;
  readonly rules: RulesLister;
  /** The authenticator without anonymous. */
  readonly authenticate: Authenticator;
  readonly explaining: ExplainingParts;
}

/** The spec of any access review; validation has run. */
interface AccessSpec {
  readonly user?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: ResourceAttributes;
  readonly nonResourceAttributes?: NonResourceAttributes;
}

/** The evaluators of the virtual kinds, by `plural.group`. Source: kubernetes pkg/registry/{authorization,authentication}. */
export function reviews(options: ReviewOptions): Readonly<Record<string, Review>> {
  const access: Review = async (object) => {
    return accessAnswer(options.chain, object, reviewedUser(specOf(object)));
  };
  const explain = explanation({ chain: options.chain, ...options.explaining });
  const answers: Readonly<Record<string, Review>> = {
    "subjectaccessreviews.authorization.k8s.io": access,
    "localsubjectaccessreviews.authorization.k8s.io": async (object, request) => {
      const { namespace = "" } = specOf(object).resourceAttributes ?? {};
      if (namespace !== request.namespace) {
        throw badRequest(
          `spec.resourceAttributes.namespace is ${JSON.stringify(namespace)} and must be the namespace of the path, ${JSON.stringify(request.namespace)}`,
        );
      }
      return access(object, request);
    },
    "selfsubjectaccessreviews.authorization.k8s.io": async (object, { context }) =>
      accessAnswer(options.chain, object, context.user),
    "selfsubjectrulesreviews.authorization.k8s.io": async (object, { context }) => {
      const review = object as SelfSubjectRulesReview;
      const problem = rulesReviewProblem(review);
      if (problem !== undefined) throw problem;
      const namespace = review.spec?.namespace ?? "";
      await options.explaining.turn(context.user.username);
      return { ...object, status: { ...options.rules(context.user, namespace) } };
    },
    [qualified(accessExplanations)]: async (object, { context }) => {
      const spec = specOf(object);
      const asked = reviewedAttributes(spec, reviewedUser(spec));
      return { ...object, status: await explain(asked, "everybody's rights", context.user.username) };
    },
    [qualified(selfAccessExplanations)]: async (object, { context }) => {
      const asked = reviewedAttributes(specOf(object), context.user);
      return { ...object, status: await explain(asked, "own rights", context.user.username) };
    },
    "selfsubjectreviews.authentication.k8s.io": async (object, { context }) => ({
      ...object,
      status: { userInfo: userInfo(context.user) },
    }),
    "tokenreviews.authentication.k8s.io": async (object) => tokenAnswer(options, object),
  };
  return Object.fromEntries(Object.entries(answers).map(([name, answer]) => [name, validated(name, answer)]));
}

/** Runs the kind's own validation first. */
function validated(name: string, answer: Review): Review {
  const resource = reviewResources.find((one) => qualified(one) === name);
  return async (object, request) => {
    const errors = resource?.validate?.(object) ?? [];
    // Kubernetes names neither the kind nor the object here.
    if (resource !== undefined && errors.length > 0) throw invalidObject({ ...resource, kind: "" }, "", errors);
    return answer(object, request);
  };
}

function specOf(object: ApiObject): AccessSpec {
  return object["spec"] ?? {};
}

async function accessAnswer(chain: AuthorizerChain, object: ApiObject, user: UserInfo): Promise<ApiObject> {
  const { attributes, problems } = reviewedAttributes(specOf(object), user);
  return { ...object, status: decisionStatus(await chain.decide(attributes), problems) };
}

/** The subject of a review. */
function reviewedUser(spec: AccessSpec): UserInfo {
  return {
    username: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid === undefined ? {} : { uid: spec.uid }),
    ...(spec.extra === undefined ? {} : { extra: spec.extra }),
  };
}

/** The attributes of a review; `problems` are the parts of its selectors that cannot be read and are left out. */
function reviewedAttributes(spec: AccessSpec, user: UserInfo): Asked {
  const field = reviewedFieldSelector(spec.resourceAttributes?.fieldSelector);
  const label = reviewedLabelSelector(spec.resourceAttributes?.labelSelector);
  const attributes = attributesFor(spec, user);
  const isSelective = field.requirements.length > 0 || label.requirements.length > 0;
  const selectors = {
    ...(field.requirements.length === 0 ? {} : { fieldSelector: field.requirements }),
    ...(label.requirements.length === 0 ? {} : { labelSelector: label.requirements }),
  };
  const problems = [partialSelectorText("fieldSelector", field), partialSelectorText("labelSelector", label)].filter(
    (text) => text !== undefined,
  );
  return { attributes: isSelective ? { ...attributes, ...selectors } : attributes, problems };
}

function attributesFor({ resourceAttributes, nonResourceAttributes }: AccessSpec, user: UserInfo): Attributes {
  if (resourceAttributes !== undefined) return resourceAttributesFor(resourceAttributes, user);
  const { verb = "", path = "" } = nonResourceAttributes ?? {};
  return { user, verb, group: "", version: "", resource: "", subresource: "", namespace: "", name: "", path };
}

/** Field by field, because this is the most frequent request. */
function resourceAttributesFor(asked: ResourceAttributes, user: UserInfo): Attributes {
  const { namespace = "", verb = "", group = "", version = "", resource = "", subresource = "", name = "" } = asked;
  return { user, verb, group, version: version || "*", resource, subresource, namespace, name, path: undefined };
}

async function tokenAnswer(options: ReviewOptions, object: ApiObject): Promise<ApiObject> {
  const problem = tokenReviewProblem(object);
  if (problem !== undefined) throw problem;
  const { token, audiences = [] } = (object["spec"] ?? {}) as {
    readonly token?: string;
    readonly audiences?: readonly string[];
  };
  // Only the authenticator sees the token: the answer repeats the spec without it.
  const asked = { ...object, spec: audiences.length === 0 ? {} : { audiences } };
  const facts = { authorization: `Bearer ${token}`, peerCertificates: [] };
  const result = await options.authenticate(audiences.length === 0 ? facts : { ...facts, audiences });
  if (result.kind !== "authenticated") return { ...asked, status: { user: {}, error: tokenProblem(result) } };
  const meantFor = result.audiences === undefined ? {} : { audiences: result.audiences };
  return { ...asked, status: { authenticated: true, user: userInfo(result.user), ...meantFor } };
}

/** Why a token is invalid, as far as a requester who may review tokens is allowed to know. */
function tokenProblem(result: Exclude<Authentication, { kind: "authenticated" }>): string {
  const reason = result.kind === "rejected" ? result.reason : invalidBearerToken;
  return reason === invalidBearerToken ? reason : `[${invalidBearerToken}, ${reason}]`;
}

function userInfo({ username, uid, groups, extra }: UserInfo): object {
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}

/** What explanations read besides the chain. */
export interface ExplainingParts {
  readonly index: RbacIndex;
  /** Whether an authorizer of that mode is in the chain now. */
  readonly uses: (mode: string) => boolean;
  /** The resources served now. */
  readonly resources: () => readonly Resource[];
  /** Resolves when the next part of large work of this user may run. */
  readonly turn: (username: string) => Promise<void>;
}

/** The attributes, and the parts of the spec that could not be read. */
export interface Asked {
  readonly attributes: Attributes;
  readonly problems: readonly string[];
}

/** The scope of an explanation: the subject's own rights only, or all roles and bindings. */
export type Extent = "own rights" | "everybody's rights";

/** The longest reason or error of one authorizer in an answer, in characters. */
const maxTextCharacters = 2048;

/**
 * Explains decisions of the chain from the chain's own trace. With `own rights` the answer contains only what the subject could find out
 * from reviews of itself: neither how webhooks are called nor how fast they are, and no role that is not bound to it.
 */
export function explanation(
  parts: ExplainingParts & { readonly chain: AuthorizerChain },
): (asked: Asked, extent: Extent, asker: string) => Promise<AccessExplanationStatus> {
  return async ({ attributes, problems }, extent, asker) => {
    const decision = await parts.chain.decide(attributes, { trace: true });
    const trace = decision.trace ?? [];
    const grant = trace.find((step) => step.grant !== undefined)?.grant;
    const common = {
      ...decisionStatus(decision, problems),
      authorizers: trace.map((step) => stepOf(step, extent)),
      ...(grant === undefined ? {} : { grant }),
    };
    if (decision.verdict === "allow") return common;
    const nearest = await nearestOf(parts, { attributes, extent, asker });
    const { commands, notes } = remedy(parts, attributes, decision);
    // kubectl refuses to create a role for an unknown resource, and a role for a typing error is useless.
    if (nearest.some(isMistyped)) return { ...common, nearest, toAllow: [] };
    return {
      ...common,
      nearest,
      toAllow: commands,
      ...(notes.length === 0 ? {} : { notes }),
    };
  };
}

/** The status fields that Kubernetes' reviews have. */
function decisionStatus(decision: ChainDecision, problems: readonly string[]): SubjectAccessReviewStatus {
  const errors = [...(decision.error === undefined ? [] : [decision.error]), ...problems];
  return {
    allowed: decision.verdict === "allow",
    ...(decision.verdict === "deny" ? { denied: true } : {}),
    ...(decision.reason === "" ? {} : { reason: decision.reason }),
    ...(errors.length === 0 ? {} : { evaluationError: errors.join("; ") }),
  };
}

type Step = NonNullable<AccessExplanationStatus["authorizers"]>[number];

function stepOf({ name, type = name, verdict, reason, error, note, ms }: TraceStep, extent: Extent): Step {
  const reported = {
    type,
    verdict,
    ...(reason === "" ? {} : { reason: truncate(reason, maxTextCharacters) }),
    ...(error === undefined ? {} : { error: truncate(error, maxTextCharacters) }),
  };
  if (extent === "own rights") return { name: type, ...reported };
  return {
    name,
    ...reported,
    ...(note === undefined ? {} : { note }),
    ...(ms === undefined ? {} : { ms: Math.round(ms * 1000) / 1000 }),
  };
}

/** Each search of roles and bindings is a part of its own. */
async function nearestOf(
  { index, uses, resources, turn }: ExplainingParts,
  asked: { readonly attributes: Attributes; readonly extent: Extent; readonly asker: string },
): Promise<NonNullable<AccessExplanationStatus["nearest"]>> {
  const { attributes, extent, asker } = asked;
  await turn(asker);
  const own = uses("RBAC") ? nearestOwnRights(index, attributes) : [];
  if (extent === "own rights") return own;
  const kinds = resources().map((resource) => ({ ...resource, subresources: Object.keys(resource.subresources) }));
  await turn(asker);
  return [...likelyMeant(attributes, kinds), ...own, ...(uses("RBAC") ? unboundRoles(index, attributes) : [])];
}

/** The missing bindings or rules, where adding some can help. */
function remedy(
  { uses }: ExplainingParts,
  attributes: Attributes,
  { verdict, trace = [] }: ChainDecision,
): { readonly commands: readonly string[]; readonly notes: readonly string[] } {
  if (verdict === "deny" && !trace.slice(0, -1).some(({ type }) => type === "RBAC" || type === "ABAC")) {
    return { commands: [], notes: ["An authorizer forbids it before RBAC is asked: no role can allow it."] };
  }
  if (uses("RBAC")) return smallestRight(attributes);
  if (uses("ABAC")) return smallestAbacPolicy(attributes);
  return { commands: [], notes: ["No mode is on in which rights could be added here: RBAC or ABAC."] };
}
