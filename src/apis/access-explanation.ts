import type { ApiObject } from "../apimachinery/object.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { accessGroup } from "./access-request.ts";
import {
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateSelfAccessReview,
  validateSubjectAccessReview,
} from "./access-review.ts";
import { builtinKind, reviewKind } from "./builtin-kind.ts";
import type { Resource } from "./resource.ts";
import {
  about,
  atomic,
  bool,
  embedded,
  list,
  object,
  required,
  str,
  strings,
  accessPart,
  accessKindSchema,
} from "./schemas/shorthand.ts";

/** The question why a user may or may not perform a request, and the answer. */
export interface AccessExplanation extends ApiObject {
  readonly spec: SubjectAccessReviewSpec;
  readonly status?: AccessExplanationStatus;
}

/** An object of the RBAC group or a subject, by name. */
export interface ExplainedObject {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

/** The decision of the authorizer chain, and the reason for it. */
export interface AccessExplanationStatus extends SubjectAccessReviewStatus {
  /** The authorizers that were called, in order. */
  readonly authorizers?: readonly {
    readonly name: string;
    readonly type?: string;
    readonly verdict: string;
    readonly reason?: string;
    readonly error?: string;
    readonly note?: string;
    readonly ms?: number;
  }[];
  /** The RBAC binding, role and rule that allow it. */
  readonly grant?: {
    readonly binding: ExplainedObject;
    readonly subject: ExplainedObject;
    readonly role: ExplainedObject;
    readonly rule?: string;
  };
  readonly nearest?: readonly {
    readonly lacks: string;
    readonly text: string;
    readonly binding?: ExplainedObject;
    readonly role?: ExplainedObject;
    readonly rule?: string;
  }[];
  readonly toAllow?: readonly string[];
  readonly notes?: readonly string[];
}

// Reviews that explain why a user may or may not perform a request.

const authorization = "io.k8s.api.authorization.v1";

const policyObject = accessPart("PolicyObject", "An object of the RBAC group, or a subject.", {
  kind: about("Its kind.", required(str(1))),
  namespace: about("Its namespace; absent where it is cluster-wide.", str(2)),
  name: about("Its name.", required(str(3))),
});

const explainedGrant = accessPart("ExplainedGrant", "What RBAC allows a request by.", {
  binding: about("The binding.", required(object(1, policyObject))),
  subject: about("The subject of the binding that applies.", required(object(2, policyObject))),
  role: about("The role that it refers to.", required(object(3, policyObject))),
  rule: about("The rule of the role, as text.", str(4)),
});

const authorizerStep = accessPart("AuthorizerStep", "What one authorizer of the chain answered.", {
  name: about("Its name in the chain.", required(str(1))),
  type: about("Its mode, such as RBAC or Webhook.", str(2)),
  verdict: about("allow, deny or noOpinion.", required(str(3))),
  reason: about("Its own words.", str(4)),
  error: about("What went wrong.", str(5)),
  note: about("The basis of the decision, as a sentence.", str(6)),
  ms: about("How long it took, in milliseconds.", { number: 7, schema: { type: "number" } }),
});

const nearMiss = accessPart("NearMiss", "A right that would almost have allowed the request.", {
  lacks: about(
    "The one thing that is missing: verb, name, subresource, group, namespace, binding, or resource where there is no such kind.",
    required(str(1)),
  ),
  text: about("A sentence for people.", required(str(2))),
  binding: about("The binding, where there is one.", object(3, policyObject)),
  role: about("The role.", object(4, policyObject)),
  rule: about("The rule of the role, as text.", str(5)),
});

const accessExplanationStatus = accessPart(
  "AccessExplanationStatus",
  "The decision of the authorization chain, and how it came to it.",
  {
    allowed: about("True when the action is allowed.", required(bool(1))),
    denied: about(
      "True when an authorizer forbids it; false with allowed false means that no authorizer allowed it.",
      bool(2),
    ),
    reason: about("Why, in the words of the authorizers.", str(3)),
    evaluationError: about("What went wrong on the way.", str(4)),
    authorizers: about("Who was asked, in order.", list(5, authorizerStep, atomic)),
    grant: about("By what RBAC allows it.", object(6, explainedGrant)),
    nearest: about("For a refusal: what comes nearest.", list(7, nearMiss, atomic)),
    toAllow: about("For a refusal: the lines that would add exactly this right.", strings(8, atomic)),
    notes: about("What else to know.", strings(9, atomic)),
  },
);

/** `AccessExplanation`. */
const accessExplanationSchema: ObjectSchema = accessKindSchema(
  "AccessExplanation",
  "Says why a user or group may do something, or may not.",
  {
    spec: embedded(2, `${authorization}.SubjectAccessReviewSpec`, {
      description: "The question, as in a SubjectAccessReview.",
      required: true,
    }),
    status: about("The answer, filled in by the server.", object(3, accessExplanationStatus)),
  },
);

/** `SelfAccessExplanation`. */
const selfAccessExplanationSchema: ObjectSchema = accessKindSchema(
  "SelfAccessExplanation",
  "Says why the caller may do something, or may not.",
  {
    spec: embedded(2, `${authorization}.SelfSubjectAccessReviewSpec`, {
      description: "The question, as in a SelfSubjectAccessReview.",
      required: true,
    }),
    status: about("The answer, filled in by the server.", object(3, accessExplanationStatus)),
  },
);

const shared = { ...reviewKind, group: accessGroup, version: "v1alpha1", scope: "Cluster" } as const;

export const accessExplanations: Resource = builtinKind({
  ...shared,
  kind: "AccessExplanation",
  schema: accessExplanationSchema,
  validate: validateSubjectAccessReview,
});

export const selfAccessExplanations: Resource = builtinKind({
  ...shared,
  kind: "SelfAccessExplanation",
  schema: selfAccessExplanationSchema,
  validate: validateSelfAccessReview,
});
