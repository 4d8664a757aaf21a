import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, type StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { builtinKind, reviewKind } from "./builtin-kind.ts";
import { stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";

/** The question which user a bearer token authenticates. Source: api/authentication/v1. */
export interface TokenReview extends ApiObject {
  readonly spec: { readonly token?: string; readonly audiences?: readonly string[] };
  readonly status?: TokenReviewStatus;
}

export interface TokenReviewStatus {
  readonly authenticated?: boolean;
  readonly user?: ReviewedUser;
  readonly audiences?: readonly string[];
  readonly error?: string;
}

/** A user in a reply; every part may be missing. */
export type ReviewedUser = Partial<UserInfo>;

export const tokenReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authentication.k8s.io",
  kind: "TokenReview",
  scope: "Cluster",
  schema: "io.k8s.api.authentication.v1.TokenReview",
});

/** The 400 for a review without a token, or undefined: Kubernetes has no field error for this. Source: pkg/registry/authentication/tokenreview. */
export function tokenReviewProblem(review: ApiObject): StatusError | undefined {
  return stringAt(review, "spec", "token") === ""
    ? badRequest("token is required for TokenReview in authentication")
    : undefined;
}

/** The question who the caller is (`kubectl auth whoami`). Source: api/authentication/v1. */
export interface SelfSubjectReview extends ApiObject {
  readonly status?: { readonly userInfo?: ReviewedUser };
}

export const selfSubjectReviews: Resource = builtinKind({
  ...reviewKind,
  group: "authentication.k8s.io",
  kind: "SelfSubjectReview",
  scope: "Cluster",
  schema: "io.k8s.api.authentication.v1.SelfSubjectReview",
});
