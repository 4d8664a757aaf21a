import type { Attributes } from "../authorization/authorizer.ts";
import type { AuthorizerChain } from "../authorization/chain.ts";
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
} from "../apis/access-review.ts";
import { accessExplanations, selfAccessExplanations } from "../apis/access-explanation.ts";
import { reviewResources } from "../apis/builtin.ts";
import { tokenReviewProblem } from "../apis/token-review.ts";
import { decisionStatus, explanation, type Asked, type ExplainingParts } from "./explanations.ts";

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

/** What the virtual kinds answer, by `plural.group`. Source: kubernetes pkg/registry/{authorization,authentication}. */
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

/** Whom a review is about. */
function reviewedUser(spec: AccessSpec): UserInfo {
  return {
    username: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid === undefined ? {} : { uid: spec.uid }),
    ...(spec.extra === undefined ? {} : { extra: spec.extra }),
  };
}

/** What a review asks; `problems` tells what of its selectors cannot be read and is left out. */
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

const nothing = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" };

function attributesFor(spec: AccessSpec, user: UserInfo): Attributes {
  const { resourceAttributes: asked, nonResourceAttributes: path } = spec;
  if (asked !== undefined) {
    // Field by field, for this is asked more often than anything else.
    const { namespace = "", verb = "", group = "", version = "", resource = "", subresource = "", name = "" } = asked;
    return { user, verb, group, version: version || "*", resource, subresource, namespace, name, path: undefined };
  }
  return { ...nothing, user, verb: path?.verb ?? "", path: path?.path ?? "" };
}

async function tokenAnswer(options: ReviewOptions, object: ApiObject): Promise<ApiObject> {
  const problem = tokenReviewProblem(object);
  if (problem !== undefined) throw problem;
  const { token, audiences = [] } = (object["spec"] ?? {}) as {
    readonly token?: string;
    readonly audiences?: readonly string[];
  };
  // The token goes no further than the authenticator: the answer repeats the question without it.
  const asked = { ...object, spec: audiences.length === 0 ? {} : { audiences } };
  const facts = { authorization: `Bearer ${token}`, peerCertificates: [] };
  const result = await options.authenticate(audiences.length === 0 ? facts : { ...facts, audiences });
  if (result.kind !== "authenticated") return { ...asked, status: { user: {}, error: tokenProblem(result) } };
  const meantFor = result.audiences === undefined ? {} : { audiences: result.audiences };
  return { ...asked, status: { authenticated: true, user: userInfo(result.user), ...meantFor } };
}

/** Why a token is worth nothing, as far as whoever may review tokens is told. */
function tokenProblem(result: Exclude<Authentication, { kind: "authenticated" }>): string {
  const reason = result.kind === "rejected" ? result.reason : invalidBearerToken;
  return reason === invalidBearerToken ? reason : `[${invalidBearerToken}, ${reason}]`;
}

function userInfo({ username, uid, groups, extra }: UserInfo): object {
  return { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) };
}
