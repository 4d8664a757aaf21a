import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, type StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { stringAt } from "./json-fields.ts";
import type { Resource } from "./resource.ts";
import { reviewKind } from "./review-kind.ts";
import { published } from "./schemas/published.ts";

/** The question who a bearer token belongs to. Source: api/authentication/v1. */
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

export const tokenReviews: Resource = {
  ...reviewKind,
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  singular: "tokenreview",
  scope: "Cluster",
  get schema() {
    return published("io.k8s.api.authentication.v1.TokenReview");
  },
};

/** The 400 for a review without a token, or undefined: Kubernetes has no field error for this. Source: pkg/registry/authentication/tokenreview. */
export function tokenReviewProblem(review: ApiObject): StatusError | undefined {
  return stringAt(review, "spec", "token") === ""
    ? badRequest("token is required for TokenReview in authentication")
    : undefined;
}
