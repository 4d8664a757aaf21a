import type { ApiObject } from "../apimachinery/object.ts";
import { accessGroup } from "./access-request.ts";
import {
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateNoMetadata,
  validateReviewedAction,
  validateReviewedSubject,
} from "./access-review.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { accessExplanationSchema, selfAccessExplanationSchema } from "./schemas/access-explanation.ts";

/** The question why somebody may do something, or may not, and the answer. */
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

/** The decision of the chain, and how it came to it. */
export interface AccessExplanationStatus extends SubjectAccessReviewStatus {
  /** Who was asked, in order. */
  readonly authorizers?: readonly {
    readonly name: string;
    readonly type?: string;
    readonly verdict: string;
    readonly reason?: string;
    readonly error?: string;
    readonly note?: string;
    readonly ms?: number;
  }[];
  /** By what RBAC allows it. */
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

type Shared = Omit<Resource, "kind" | "plural" | "singular" | "schema" | "validate">;

const shared: Shared = {
  ...reviewKind,
  group: accessGroup,
  version: "v1alpha1",
  scope: "Cluster",
};

export const accessExplanations: Resource = {
  ...shared,
  kind: "AccessExplanation",
  plural: "accessexplanations",
  singular: "accessexplanation",
  schema: accessExplanationSchema,
  validate: (object) => [
    ...validateReviewedAction(object),
    ...validateReviewedSubject(object),
    ...validateNoMetadata(object),
  ],
};

export const selfAccessExplanations: Resource = {
  ...shared,
  kind: "SelfAccessExplanation",
  plural: "selfaccessexplanations",
  singular: "selfaccessexplanation",
  schema: selfAccessExplanationSchema,
  validate: (object) => [...validateReviewedAction(object), ...validateNoMetadata(object)],
};
