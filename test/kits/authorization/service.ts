import { createHash } from "node:crypto";

type Fields = Readonly<Record<string, unknown>>;

/** What a service that knows nothing but the question says; the same question has the same answer in both versions of the review. */
export function serviceAnswer(review: unknown): object {
  const { apiVersion, spec = {} } = review as { readonly apiVersion: string; readonly spec?: Fields };
  return { apiVersion, kind: "SubjectAccessReview", status: statusFor(spec) };
}

function statusFor(spec: Fields): object {
  const digest = createHash("sha256").update(canonical(spec)).digest();
  const share = (digest[0] ?? 0) / 256;
  const reason = reasons[(digest[1] ?? 0) % reasons.length] ?? "";
  if (share < 0.35) return { allowed: true, reason };
  if (share < 0.45) return { allowed: false, denied: true, reason };
  if (share < 0.48) return { allowed: true, denied: true, reason };
  if (share < 0.52) return { allowed: false, reason, evaluationError: "no word about it" };
  return { allowed: false, reason };
}

const reasons = ["", "", "rule 7", 'says "so"', "two\nlines", "<b>&", "grün 🙂"];

/**
 * Fields in a fixed order, empty ones left out, and `group` of v1beta1 under the name of v1. Of a review that names no version the hub,
 * as release 1.36, sends `*`, and 1.20 nothing.
 */
function canonical(spec: Fields): string {
  const { group, groups, resourceAttributes, nonResourceAttributes, user, uid, extra } = spec;
  return JSON.stringify([
    user ?? "",
    uid ?? "",
    groups ?? group ?? [],
    sorted(extra),
    sorted(resourceAttributes),
    sorted(nonResourceAttributes),
  ]);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  const entries = Object.entries(value).filter(([field, one]) => one !== "" && !(field === "version" && one === "*"));
  return entries.sort(([one], [other]) => (one < other ? -1 : 1));
}
