import { accessReviewSpec } from "../../authorization/access-review-spec.ts";
import type { Attributes } from "../../authorization/authorizer.ts";
import type { UserInfo } from "../../apimachinery/user.ts";
import type { AccessExplanationStatus } from "../../apis/access-explanation.ts";
import type { DiscoveredKind } from "./served-kinds.ts";

/** Who said what of an explanation. */
export interface ExplanationSource {
  /** The kind of review that the verdict comes from. */
  readonly verdict: string;
  /** Whether the server told what comes nearest, or it was worked out here from roles and bindings. */
  readonly rights: "the server" | "worked out here" | "not known";
}

/** An explanation, whoever made it. */
export interface Explained {
  readonly status: AccessExplanationStatus;
  readonly source: ExplanationSource;
}

/** A question as the command line put it; `user` is undefined for the caller. */
export interface Question {
  readonly action: Omit<Attributes, "user">;
  readonly user: UserInfo | undefined;
  readonly kinds: readonly DiscoveredKind[] | undefined;
}

/** The spec of a review that asks for it, in the words of the API. */
export function specOf(action: Omit<Attributes, "user">, user: UserInfo | undefined): object {
  const { user: _anonymous, ...about } = accessReviewSpec({ ...action, user: { username: "", groups: [] } });
  return user === undefined ? about : accessReviewSpec({ ...action, user });
}
