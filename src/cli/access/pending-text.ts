import { humanDuration } from "../../apimachinery/duration.ts";
import { coloursFor } from "../progress.ts";
import type { Io } from "../io.ts";
import { printable } from "../printable.ts";
import { textTable, cut } from "../output.ts";
import type { PendingCluster } from "./pending-clusters.ts";
import type { AccessReview } from "./access-review.ts";
import type { CsrReview } from "./csr-review.ts";
import { pendingData, type PendingEntry, type PendingKind, type PendingRequests } from "./pending-list.ts";

/** The layout of tables. */
export interface PendingForm {
  readonly io: Io;
  /** With a column for the marks of names. */
  readonly isWide: boolean;
  /** Whether the table of a kind has its headings; default always. */
  readonly hasHeadings?: (kind: PendingKind) => boolean;
}

/** The requests as tables, with their warnings below. */
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
  const tables = allKinds.flatMap((kind) => {
    const own = entries.filter((entry) => entry.kind === kind);
    if (own.length === 0) return [];
    const marks = (entry: PendingEntry): readonly string[] =>
      isWide ? [[...new Set(entry.nameMarks.map(({ reason }) => reason))].join(",") || "<none>"] : [];
    const rows = own.map((entry) => [...rowOf(entry, now), ...marks(entry)]);
    const all = [...kinds[kind].headings, ...(isWide ? ["NAME MARKS"] : [])];
    const [head = "", ...lines] = textTable({ headings: all, rows }).split("\n").slice(0, -1);
    const coloured = lines.map((line, at) => (rows[at]?.[0] === "" ? line : red(line)));
    return [[...(hasHeadings(kind) ? [head] : []), ...coloured, ""].join("\n")];
  });
  const marked = entries.filter(({ warnings }) => warnings.length > 0);
  const below = (title: string, field: "returning" | "waitsFor"): readonly string[] => {
    const lines = entries.flatMap((entry) => {
      const text = (entry as Partial<Record<typeof field, string>>)[field];
      return text === undefined ? [] : [printable(`  ${entryName(entry)}: ${text}`)];
    });
    return lines.length === 0 ? [] : [[title, ...lines, ""].join("\n")];
  };
  return [
    ...tables,
    ...below("These come back:", "returning"),
    ...below("The hub says of these:", "waitsFor"),
    ...(marked.length === 0 ? [] : [warningText(marked, red)]),
  ].join("\n");
}

/** The name of a request for commands. */
export function entryName({ kind, name }: Pick<PendingEntry, "kind" | "name">): string {
  return `${kinds[kind].prefix}/${name}`;
}

const allKinds = [
  "CertificateSigningRequest",
  "ManagedCluster",
  "AccessRequest",
] as const satisfies readonly PendingKind[];

interface KindText {
  /** The name for commands. */
  readonly prefix: string;
  readonly plural: string;
  readonly headings: readonly string[];
}

const kinds: Readonly<Record<PendingKind, KindText>> = {
  CertificateSigningRequest: {
    prefix: "csr",
    plural: "certificate requests",
    headings: ["", "NAME", "AGE", "REQUESTOR", "SIGNER", "SUBJECT", "SANS", "KEY", "FINGERPRINT", "DURATION"],
  },
  ManagedCluster: {
    prefix: "managedcluster",
    plural: "clusters",
    headings: ["", "NAME", "AGE", "AGENT ID", "CERTIFICATE", "ADMISSION", "REQUESTOR", "STALE", "FINGERPRINT"],
  },
  AccessRequest: {
    prefix: "accessrequest",
    plural: "access requests",
    headings: [
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
    ],
  },
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

/** Reports that nothing is pending, and which kinds could not be read. */
function nothingText({ unseen, versions }: PendingRequests): string {
  if (unseen.length === 0) return "No request waits for a decision.";
  // Clusters are named last.
  const all = ["CertificateSigningRequest", "AccessRequest", "ManagedCluster"] as const;
  const seen = all.filter((kind) => versions.some(({ resource }) => resource.kind === kind));
  const hidden = all.filter((kind) => unseen.some((one) => one.kind === kind));
  const nothing = seen.map((kind) => `no pending ${kinds[kind].plural}`).join(" and ");
  return `${nothing}; ${hidden.map((kind) => kinds[kind].plural).join(" and ")} are not visible with this credential`;
}

/** The kinds that could not be read, as lines for standard error; each names the missing right, and what is left out. */
export function unseenLines({ unseen, leftOut }: PendingRequests): readonly string[] {
  return [
    ...unseen.map(({ kind, why }) => `note: ${kinds[kind].plural} are not visible with this credential: ${why}`),
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
    ...(subject.commonName === "" ? [] : [`CN=${plainOrQuoted(subject.commonName)}`]),
    ...subject.organizations.map((organization) => `O=${plainOrQuoted(organization)}`),
  ];
  return parts.join(",") || "<none>";
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

/** The cells of a request, not yet escaped. `now` in milliseconds. */
function accessRow(review: AccessReview, now: number): readonly string[] {
  const { approvals, grants, earlierRequests } = review;
  return [
    review.warnings.length === 0 ? "" : "!",
    `accessrequest/${review.name}`,
    humanDuration(now - Date.parse(review.created)),
    cut(review.profile ?? "<default>"),
    cut(grantsText(review)),
    `${approvals.length} of ${orUnknown(grants?.approvers)}`,
    cut(orUnknown(review.sourceAddress)),
    cut(orUnknown(review.requester)),
    review.keyKind ?? "<unreadable>",
    orUnknown(review.fingerprint),
    review.possession?.toLowerCase() ?? "unproven",
    orUnknown(earlierRequests),
    cut(ownWords(review) || "<nothing>"),
  ];
}

function orUnknown(value: string | number | undefined): string {
  return String(value ?? "<unknown>");
}

const words: Readonly<Record<PendingCluster["certificate"] | PendingCluster["admission"], string>> = {
  Pending: "pending",
  Approved: "approved",
  Issued: "issued",
  Denied: "denied",
  Failed: "failed",
  NotAsked: "not asked for",
  Unknown: "<unknown>",
  Accepted: "accepted",
  NotRegistered: "not registered",
};

/** The cells of a cluster, not yet escaped. `now` in milliseconds. */
function clusterRow(cluster: PendingCluster, now: number): readonly string[] {
  const { warnings, name, created, agents, certificate, admission, requester, staleRequests, fingerprint } = cluster;
  return [
    warnings.length === 0 ? "" : "!",
    `managedcluster/${name}`,
    humanDuration(now - Date.parse(created)),
    cut(agents.join(",") || "<unknown>"),
    words[certificate],
    words[admission],
    cut(requester ?? "<unknown>"),
    String(staleRequests),
    fingerprint ?? "<unknown>",
  ];
}

/** What an approval grants, in short, not yet escaped. */
export function grantsText({ grants }: AccessReview): string {
  if (grants === undefined) return "<unknown>";
  const roles = grants.roles.join(", ") || "nothing";
  return `${grants.namespace}: ${roles}${grants.bootstrapToken ? ", a bootstrap token" : ""}`;
}

/** The machine's own claims, quoted where they could be read as several; not yet escaped. */
export function ownWords({ hostname, claims = {} }: AccessReview): string {
  return [
    ...(hostname === undefined ? [] : [`hostname=${plainOrQuoted(hostname)}`]),
    ...Object.entries(claims).map(([key, value]) => `${plainOrQuoted(key)}=${plainOrQuoted(value)}`),
  ].join(",");
}

/** Quoted where it could be read as several parts. */
function plainOrQuoted(text: string): string {
  return /^[^\s,="\\]+$/.test(text) ? text : JSON.stringify(text);
}
