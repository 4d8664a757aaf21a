import { csrView, hasCondition, type CsrView } from "../../controllers/certificates/csr-view.ts";
import { isClientSigner } from "../../controllers/certificates/node-name-claims.ts";
import { issueOfCsr } from "../../controllers/credentials/credential-record.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { CsrError, parseCsr } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { nameInUseCondition } from "../../apis/csr-conditions.ts";
import { readKey, stateOf, type AccessRequest } from "../../apis/access-request.ts";

/** Why the requested name needs a second look. */
export type NameMarkReason = "NameInUse" | "NameContested" | "NameRecentlyDenied";

/** One mark, with a sentence for the approver. Texts are as requesters chose them. */
export interface NameMark {
  readonly reason: NameMarkReason;
  readonly message: string;
}

/** How long a denial counts as recent, in milliseconds. Denied requests are deleted after an hour by default. */
const recentMs = 86_400_000;

/** How many other requests a mark names. */
const maxNamed = 5;

/** The claim of one request to a name, for every kind whose names are compared. */
interface Claim {
  /** The name for approvers: `csr/NAME`. */
  readonly request: string;
  /** Compared exactly. */
  readonly name: string;
  readonly key: string;
  readonly state: "pending" | "granted" | "denied" | "over";
  /** When it was denied, in milliseconds; NaN where that cannot be read. */
  readonly at?: number;
}

/** The marks of certificate requests, by the name of the request; `now` in milliseconds. Requests without marks are left out. */
export function csrMarks(requests: readonly ApiObject[], now: number): ReadonlyMap<string, readonly NameMark[]> {
  const claims = requests.flatMap((object) => csrClaim(object, now) ?? []);
  const marks = marksOf(claims, { what: "the name", countOwnDenials: true, now });
  const found = new Map<string, readonly NameMark[]>();
  for (const object of requests) {
    const { name = "" } = object.metadata;
    const own = marks.get(`csr/${name}`) ?? [];
    const text = nameInUseOf(csrView(object));
    // The hub's mark derives from its records, and a list of requests only has those that are not deleted.
    const all = text === undefined ? own : [text, ...own.filter(({ reason }) => reason !== "NameInUse")];
    if (all.length > 0) found.set(name, all);
  }
  return found;
}

/** The mark that the hub has written on a request. */
export function nameInUseOf({ conditions }: Pick<CsrView, "conditions">): NameMark | undefined {
  const condition = findCondition(conditions, nameInUseCondition);
  return condition?.status === "True" ? { reason: "NameInUse", message: condition.message ?? "" } : undefined;
}

/** The marks of access requests, by the name of the request. They compare the host name, which the machine itself claims. */
export function accessMarks(requests: readonly AccessRequest[], now: number): ReadonlyMap<string, readonly NameMark[]> {
  const claims = requests.flatMap((request) => accessClaim(request) ?? []);
  const marks = marksOf(claims, { what: "the host name", countOwnDenials: false, now });
  return new Map([...marks].map(([request, own]) => [request.slice("accessrequest/".length), own]));
}

function csrClaim(object: ApiObject, now: number): Claim | undefined {
  const csr = csrView(object);
  const subject = isClientSigner(csr.signerName) ? subjectOf(csr) : undefined;
  if (subject === undefined || subject.name === "") return undefined;
  const about = { request: `csr/${object.metadata.name}`, ...subject };
  if (hasCondition(csr, "Denied")) return { ...about, state: "denied", at: deniedAt(csr) };
  if (hasCondition(csr, "Failed")) return { ...about, state: "over" };
  if (hasCondition(csr, "Approved")) return { ...about, state: hasExpired(object, now) ? "over" : "granted" };
  return isRenewal(csr, subject.name) ? undefined : { ...about, state: "pending" };
}

function hasExpired(csr: ApiObject, now: number): boolean {
  return Date.parse(issueOfCsr(csr)?.issue.notAfter ?? "") <= now;
}

function isRenewal({ requester }: CsrView, name: string): boolean {
  return requester.username === name || nodeReturningAs(requester) === name;
}

function subjectOf(csr: CsrView): { readonly name: string; readonly key: string } | undefined {
  try {
    const { subject, spki } = parseCsr(csr.request);
    return { name: subject.commonName, key: keyFingerprint(spki) };
  } catch (error) {
    if (error instanceof CsrError) return undefined;
    throw error;
  }
}

/** When a request was denied, in milliseconds; NaN where it was not, or its time cannot be read. */
function deniedAt({ conditions }: Pick<CsrView, "conditions">): number {
  return Date.parse(findCondition(conditions, "Denied")?.lastTransitionTime ?? "");
}

/** Whether a request was denied so recently that an approver of the same name should know; `now` in milliseconds. */
export function isRecentlyDenied(csr: Pick<CsrView, "conditions">, now: number): boolean {
  return now - deniedAt(csr) < recentMs;
}

function accessClaim(request: AccessRequest): Claim | undefined {
  const { metadata, spec } = request;
  const key = readKey(request)?.fingerprint;
  if (key === undefined || !spec.hostname) return undefined;
  const about = { request: `accessrequest/${metadata.name}`, name: spec.hostname, key };
  const state = stateOf(request);
  if (state === "Pending") return { ...about, state: "pending" };
  if (state === "Denied") return { ...about, state: "denied", at: decidedAt(request) };
  return { ...about, state: state.startsWith("Approved") ? "granted" : "over" };
}

function decidedAt({ metadata, status }: AccessRequest): number {
  return Date.parse(status?.decisions?.at(-1)?.time ?? metadata.creationTimestamp ?? "");
}

interface Comparing {
  /** What is compared, for people. */
  readonly what: string;
  /** Whether a denial of the same key counts as well; it does not where another warning reports it. */
  readonly countOwnDenials: boolean;
  readonly now: number;
}

function marksOf(claims: readonly Claim[], comparing: Comparing): ReadonlyMap<string, readonly NameMark[]> {
  const byName = groupedBy(claims, ({ name }) => name);
  const found = new Map<string, readonly NameMark[]>();
  for (const claim of claims) {
    const marks = claim.state === "pending" ? marksAmong(claim, byName.get(claim.name) ?? [], comparing) : [];
    if (marks.length > 0) found.set(claim.request, marks);
  }
  return found;
}

function marksAmong(
  claim: Claim,
  same: readonly Claim[],
  { what, countOwnDenials, now }: Comparing,
): readonly NameMark[] {
  const about = `${what} ${JSON.stringify(claim.name)}`;
  const others = same.filter(({ key }) => key !== claim.key);
  // A key that already has the name requests nothing new.
  const isKnown = same.some(({ key, state }) => key === claim.key && state === "granted");
  const granted = isKnown ? [] : others.filter(({ state }) => state === "granted");
  const rivals = others.filter(({ state }) => state === "pending");
  const denied = (countOwnDenials ? same : others).filter(
    ({ state, at = Number.NaN }) => state === "denied" && now - at < recentMs,
  );
  return [
    ...markIf(granted, "NameInUse", `${about} is in use by another key`),
    ...markIf(rivals, "NameContested", `${about} is asked for with another key at the same time`),
    ...markIf(denied, "NameRecentlyDenied", `a request for ${about} was denied in the last 24 hours`),
  ];
}

function markIf(others: readonly Claim[], reason: NameMarkReason, message: string): readonly NameMark[] {
  return others.length === 0
    ? []
    : [{ reason, message: `${message}: ${listed(others.map(({ request }) => request))}` }];
}

/** Items by a key, in their order; those without one are left out. */
export function groupedBy<T>(
  items: readonly T[],
  keyOf: (item: T) => string | undefined,
): ReadonlyMap<string, readonly T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key === undefined) continue;
    const same = found.get(key);
    if (same === undefined) found.set(key, [item]);
    else same.push(item);
  }
  return found;
}

/** The oldest first. */
export function byAge(one: { readonly created: string }, other: { readonly created: string }): number {
  return one.created < other.created ? -1 : one.created > other.created ? 1 : 0;
}

/** The first few of them. */
export function listed(requests: readonly string[]): string {
  const more = requests.length - maxNamed;
  return `${requests.slice(0, maxNamed).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}
