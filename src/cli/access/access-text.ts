import { printable } from "../printable.ts";
import type { AccessReview } from "./access-review.ts";

/** What approving grants, in a few words, not yet escaped. */
export function grantsText({ grants }: AccessReview): string {
  if (grants === undefined) return "<unknown>";
  const roles = grants.roles.join(", ") || "nothing";
  return `${grants.namespace}: ${roles}${grants.bootstrapToken ? ", a bootstrap token" : ""}`;
}

/** The machine's own words, quoted wherever they could be taken for several; not yet escaped. */
export function ownWords({ hostname, claims = {} }: AccessReview): string {
  return [
    ...(hostname === undefined ? [] : [`hostname=${plainOrQuoted(hostname)}`]),
    ...Object.entries(claims).map(([key, value]) => `${plainOrQuoted(key)}=${plainOrQuoted(value)}`),
  ].join(",");
}

/** One request as one escaped line below its decision. */
export function accessSentence(review: AccessReview): string {
  const parts = [
    `profile ${review.profile ?? "<default>"}`,
    `grants ${grantsText(review)}`,
    `key ${review.fingerprint ?? "<unreadable>"}`,
    `from ${review.sourceAddress ?? "<unknown>"}`,
    `says ${ownWords(review) || "nothing"}`,
  ];
  return printable(`  ${review.name}: ${parts.join("; ")}`);
}

function plainOrQuoted(text: string): string {
  return /^[^\s,="\\]+$/.test(text) ? text : JSON.stringify(text);
}
