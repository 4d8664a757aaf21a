import type { ApiObject } from "../apimachinery/object.ts";
import { accessGroup } from "./access-request.ts";
import {
  type SubjectAccessReviewSpec,
  type SubjectAccessReviewStatus,
  validateSelfAccessReview,
  validateSubjectAccessReview,
} from "./access-review.ts";
import type { Resource } from "./resource.ts";
import { builtinKind, reviewKind } from "./builtin-kind.ts";
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
