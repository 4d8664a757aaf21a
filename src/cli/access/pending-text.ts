import { humanDuration } from "../../apimachinery/duration.ts";
import { coloursFor } from "../colours.ts";
import type { Io } from "../io.ts";
import { printable } from "../printable.ts";
import { textTable } from "../text-table.ts";
import { accessHeadings, accessRow } from "./pending-access.ts";
import { clusterHeadings, clusterRow } from "./pending-clusters.ts";
import type { CsrReview } from "./csr-review.ts";
import { cut } from "./truncate.ts";
import { pendingData, type PendingEntry, type PendingKind, type PendingRequests } from "./pending-list.ts";

const headings = ["", "NAME", "AGE", "REQUESTOR", "SIGNER", "SUBJECT", "SANS", "KEY", "FINGERPRINT", "DURATION"];

/** How tables are printed. */
export interface PendingForm {
  readonly io: Io;
  /** With a column for the marks of names. */
  readonly isWide: boolean;
  /** Whether the table of a kind has its headings; default always. */
  readonly hasHeadings?: (kind: PendingKind) => boolean;
}

/** The requests as tables, with what needs care below them. */
export function pendingText(found: PendingRequests, form: PendingForm): string {
  const entries = pendingData(found);
  return entries.length === 0 ? `${nothingText(found)}\n` : entriesText(entries, form);
}

/** Some of the requests as tables. */
export function entriesText(
  entries: readonly PendingEntry[],
  { io, isWide, hasHeadings = () => true }: PendingForm,
): string {
  const { red } = coloursFor(io.stdout, io);
  const now = io.clock.now();
  const tables = kinds.flatMap((kind) => {
    const own = entries.filter((entry) => entry.kind === kind);
    if (own.length === 0) return [];
    const marks = (entry: PendingEntry): readonly string[] =>
      isWide ? [[...new Set(entry.nameMarks.map(({ reason }) => reason))].join(",") || "<none>"] : [];
    const rows = own.map((entry) => [...rowOf(entry, now), ...marks(entry)]);
    const all = [...headingsOf[kind], ...(isWide ? ["NAME MARKS"] : [])];
    const [head = "", ...lines] = textTable({ headings: all, rows }).split("\n").slice(0, -1);
    const coloured = lines.map((line, at) => (rows[at]?.[0] === "" ? line : red(line)));
    return [[...(hasHeadings(kind) ? [head] : []), ...coloured, ""].join("\n")];
  });
  const marked = entries.filter(({ warnings }) => warnings.length > 0);
  const back = entries.flatMap((entry) =>
    "returning" in entry && entry.returning !== undefined ? [`  ${entryName(entry)}: ${entry.returning}`] : [],
  );
  const known = back.length === 0 ? [] : [["These come back:", ...back.map((line) => printable(line)), ""].join("\n")];
  const left = entries.flatMap((entry) =>
    "waitsFor" in entry && entry.waitsFor !== undefined ? [`  ${entryName(entry)}: ${entry.waitsFor}`] : [],
  );
  const waiting =
    left.length === 0 ? [] : [["The hub says of these:", ...left.map((line) => printable(line)), ""].join("\n")];
  return [...tables, ...known, ...waiting, ...(marked.length === 0 ? [] : [warningText(marked, red)])].join("\n");
}

/** A request as commands take it. */
export function entryName({ kind, name }: Pick<PendingEntry, "kind" | "name">): string {
  return `${prefixes[kind]}/${name}`;
}

const kinds: readonly PendingKind[] = ["CertificateSigningRequest", "ManagedCluster", "AccessRequest"];
const prefixes: Readonly<Record<PendingKind, string>> = {
  CertificateSigningRequest: "csr",
  ManagedCluster: "managedcluster",
  AccessRequest: "accessrequest",
};
const headingsOf: Readonly<Record<PendingKind, readonly string[]>> = {
  CertificateSigningRequest: headings,
  ManagedCluster: clusterHeadings,
  AccessRequest: accessHeadings,
};

function rowOf(entry: PendingEntry, now: number): readonly string[] {
  switch (entry.kind) {
    case "CertificateSigningRequest":
      return pendingRow(entry, now);
    case "ManagedCluster":
      return clusterRow(entry, now);
    case "AccessRequest":
      return accessRow(entry, now);
  }
}

const kindWords: Readonly<Record<PendingKind, string>> = {
  CertificateSigningRequest: "certificate requests",
  AccessRequest: "access requests",
  ManagedCluster: "clusters",
};

/** That nothing is pending, and of which kinds that cannot be told. */
function nothingText({ unseen, versions }: PendingRequests): string {
  if (unseen.length === 0) return "No request waits for a decision.";
  const all = Object.keys(kindWords) as PendingKind[];
  const seen = all.filter((kind) => versions.some(({ resource }) => resource.kind === kind));
  const hidden = all.filter((kind) => unseen.some((one) => one.kind === kind));
  const nothing = seen.map((kind) => `no pending ${kindWords[kind]}`).join(" and ");
  return `${nothing}; ${hidden.map((kind) => kindWords[kind]).join(" and ")} are not visible with this credential`;
}

/** What could not be read, as lines for standard error; each says which right is missing, and what is left out for it. */
export function unseenLines({ unseen, leftOut }: PendingRequests): readonly string[] {
  return [
    ...unseen.map(({ kind, why }) => `note: ${kindWords[kind]} are not visible with this credential: ${why}`),
    ...leftOut.map(({ what, why }) => `note: ${what}: ${why}`),
  ].map((line) => printable(line));
}

/** The cells of a request, not yet escaped. `now` in milliseconds. */
export function pendingRow(review: CsrReview, now: number): readonly string[] {
  const { tokenDescription, durationSeconds } = review;
  const age = humanDuration(now - Date.parse(review.created));
  return [
    review.warnings.length === 0 ? "" : "!",
    `csr/${review.name}`,
    age,
    cut(
      `${review.returning === undefined ? review.requestor : "returning"}${tokenDescription === undefined ? "" : ` (${tokenDescription})`}`,
    ),
    // A signer without a domain does not exist, so nothing is lost.
    cut(review.signer.replace(/^kubernetes\.io\//, "")),
    cut(subjectText(review)),
    cut(review.sans.join(",") || "<none>"),
    review.key ?? "<unknown>",
    review.fingerprint ?? "<unknown>",
    durationSeconds === undefined ? "<none>" : humanDuration(durationSeconds * 1000),
  ];
}

function subjectText({ subject }: CsrReview): string {
  if (subject === undefined) return "<unreadable>";
  const parts = [
    ...(subject.commonName === "" ? [] : [`CN=${nameValue(subject.commonName)}`]),
    ...subject.organizations.map((organization) => `O=${nameValue(organization)}`),
  ];
  return parts.join(",") || "<none>";
}

/** Quoted wherever it could be taken for several parts. */
function nameValue(text: string): string {
  return /^[^\s,="\\]+$/.test(text) ? text : JSON.stringify(text);
}

function warningText(marked: readonly PendingEntry[], red: (text: string) => string): string {
  return [
    "! These need care before an approver approves them:",
    ...marked.flatMap((entry) => [
      `  ${red(printable(entryName(entry)))}`,
      ...entry.warnings.map((warning) => `    ${printable(warning)}`),
    ]),
    "",
  ].join("\n");
}
