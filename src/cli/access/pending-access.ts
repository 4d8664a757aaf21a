import type { Client } from "../../client/client.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import { notIssuedIn, stateOf, type AccessRequest } from "../../apis/access-request.ts";
import { accessReviewer, type AccessReview, type AccessReviewerOptions } from "./access-review.ts";
import { grantsText, ownWords } from "./access-text.ts";
import { cut } from "./truncate.ts";

/** The access requests that wait for a decision, and those that were approved and cannot be answered; the oldest first. @throws StatusError */
export async function pendingAccess(
  client: Client,
  requests: readonly AccessRequest[],
  options: Omit<AccessReviewerOptions, "requests">,
): Promise<readonly AccessReview[]> {
  const review = accessReviewer(client, { ...options, requests });
  const waiting = requests.filter((item) => stateOf(item) === "Pending" || isBlocked(item));
  const reviews: AccessReview[] = [];
  for (const request of waiting) reviews.push(await review(request));
  return reviews.sort((one, other) => (one.created < other.created ? -1 : one.created > other.created ? 1 : 0));
}

function isBlocked(request: AccessRequest): boolean {
  return stateOf(request) === "Approved" && notIssuedIn(request.status ?? {}) !== undefined;
}

export const accessHeadings: readonly string[] = [
  "",
  "NAME",
  "AGE",
  "PROFILE",
  "GRANTS",
  "APPROVALS",
  "SOURCE",
  "REQUESTER",
  "KEY",
  "FINGERPRINT",
  "POSSESSION",
  "EARLIER",
  "SAYS",
];

/** The cells of a request, not yet escaped. `now` in milliseconds. */
export function accessRow(review: AccessReview, now: number): readonly string[] {
  const { approvals, grants, earlierRequests } = review;
  return [
    review.warnings.length === 0 ? "" : "!",
    `accessrequest/${review.name}`,
    humanDuration(now - Date.parse(review.created)),
    cut(review.profile ?? "<default>"),
    cut(grantsText(review)),
    `${approvals.length} of ${grants?.approvers ?? "<unknown>"}`,
    cut(review.sourceAddress ?? "<unknown>"),
    cut(review.requester ?? "<unknown>"),
    review.keyKind ?? "<unreadable>",
    review.fingerprint ?? "<unknown>",
    review.possession?.toLowerCase() ?? "unproven",
    earlierRequests === undefined ? "<unknown>" : String(earlierRequests),
    cut(ownWords(review) || "<nothing>"),
  ];
}
