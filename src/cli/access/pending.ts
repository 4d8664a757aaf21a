import type { Client } from "../../client/client.ts";
import { servesClusters } from "../cluster/cluster-access.ts";
import { certificateSigningRequests, secrets } from "../../controllers/kinds.ts";
import { humanDuration } from "../../core/duration.ts";
import type { ApiObject } from "../../core/object.ts";
import { StatusError } from "../../core/status.ts";
import { isTokenId } from "../../trust/token.ts";
import { readTokenSecret, tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import { clusterHeadings, clusterRow, pendingClusters, type PendingCluster } from "./pending-clusters.ts";
import { accessHeadings, accessRow, pendingAccess } from "./pending-access.ts";
import type { AccessReview } from "./access-review.ts";
import { coloursFor } from "../colours.ts";
import type { Args } from "../command.ts";
import { type CsrReview, isUndecided, reviewCsr } from "./csr-review.ts";
import type { ExitName } from "../exit-code.ts";
import { cut } from "./cut.ts";
import type { Io } from "../io.ts";
import { writeResult } from "../output.ts";
import { printable } from "../printable.ts";
import { withServer } from "../server-access.ts";
import { textTable } from "../text-table.ts";

/** Prints the requests that wait for a decision, the oldest of each kind first. A kind that may not be listed is passed over, and said so. */
export async function pending(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async ({ client }) => {
    const refused: StatusError[] = [];
    let kinds = 0;
    async function unlessRefused<T>(read: () => Promise<T>): Promise<T | undefined> {
      try {
        const found = await read();
        kinds += 1;
        return found;
      } catch (error) {
        // Not found: a cluster that does not have the kind.
        if (!(error instanceof StatusError) || (error.code !== 403 && error.code !== 404)) throw error;
        if (error.code === 403) refused.push(error);
        return undefined;
      }
    }
    const requests = await unlessRefused(async () => (await client.list(certificateSigningRequests)).items);
    const now = io.clock.now();
    const found = (await servesClusters(client))
      ? await unlessRefused(() => pendingClusters(client, requests, now))
      : undefined;
    const others = (requests ?? []).filter(({ metadata }) => found?.told.has(metadata.name ?? "") !== true);
    const certificates = await pendingCertificates(client, others);
    const access = (await unlessRefused(() => pendingAccess(client))) ?? [];
    const clusters = found?.clusters ?? [];
    if (kinds === 0 && refused[0] !== undefined) throw refused[0];
    for (const { message } of refused) io.stderr.write(`${printable(`note: not shown, since ${message}`)}\n`);
    await writeResult(args, io, {
      data: [
        ...certificates.map((review) => ({ kind: "CertificateSigningRequest", ...review })),
        ...clusters,
        ...access,
      ],
      table: () => pendingText({ certificates, clusters, access }, io),
    });
    return "ok";
  });
}

async function pendingCertificates(client: Client, requests: readonly ApiObject[]): Promise<readonly CsrReview[]> {
  return withTokenDescriptions(client, requests.filter(isUndecided).map(reviewCsr).sort(byAge));
}

function byAge(one: { readonly created: string }, other: { readonly created: string }): number {
  return one.created < other.created ? -1 : one.created > other.created ? 1 : 0;
}

async function withTokenDescriptions(client: Client, reviews: readonly CsrReview[]): Promise<readonly CsrReview[]> {
  const ids = new Set(reviews.flatMap(({ tokenId }) => (tokenId !== undefined && isTokenId(tokenId) ? [tokenId] : [])));
  const descriptions = new Map<string, string>();
  for (const id of ids) {
    const text = await tokenDescription(client, id);
    if (text === undefined) break;
    if (text !== "") descriptions.set(id, text);
  }
  return reviews.map((review) => {
    const tokenDescription = descriptions.get(review.tokenId ?? "");
    return tokenDescription === undefined ? review : { ...review, tokenDescription };
  });
}

/** Empty when the token says nothing or is gone; undefined when it may not be read, as an approver often may not. */
async function tokenDescription(client: Client, id: string): Promise<string | undefined> {
  try {
    const key = { namespace: tokenSecretNamespace, name: tokenSecretName(id) };
    return readTokenSecret(await client.get(secrets, key)).description;
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return "";
    if (error instanceof StatusError && error.code === 403) return undefined;
    throw error;
  }
}

const headings = ["", "NAME", "AGE", "REQUESTOR", "SIGNER", "SUBJECT", "SANS", "KEY", "FINGERPRINT", "DURATION"];

interface Pending {
  readonly certificates: readonly CsrReview[];
  readonly clusters: readonly PendingCluster[];
  readonly access: readonly AccessReview[];
}

function pendingText({ certificates, clusters, access }: Pending, io: Io): string {
  if (certificates.length + clusters.length + access.length === 0) return "No request waits for a decision.\n";
  const { red } = coloursFor(io.stdout, io);
  const now = io.clock.now();
  const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string => {
    const [head = "", ...lines] = textTable({ headings: heads, rows }).split("\n").slice(0, -1);
    return [head, ...lines.map((line, at) => (rows[at]?.[0] === "" ? line : red(line))), ""].join("\n");
  };
  const kinds = [
    { heads: headings, rows: certificates.map((review) => pendingRow(review, now)) },
    { heads: clusterHeadings, rows: clusters.map((cluster) => clusterRow(cluster, now)) },
    { heads: accessHeadings, rows: access.map((review) => accessRow(review, now)) },
  ];
  const tables = kinds.flatMap(({ heads, rows }) => (rows.length === 0 ? [] : [table(heads, rows)]));
  const marked = [
    ...certificates.map(({ name, warnings }) => ({ name: `csr/${name}`, warnings })),
    ...clusters.map(({ name, warnings }) => ({ name: `managedcluster/${name}`, warnings })),
    ...access.map(({ name, warnings }) => ({ name: `accessrequest/${name}`, warnings })),
  ].filter(({ warnings }) => warnings.length > 0);
  const back = [
    ...certificates.map(({ name, returning }) => ({ name: `csr/${name}`, returning })),
    ...access.map(({ name, returning }) => ({ name: `accessrequest/${name}`, returning })),
  ].flatMap(({ name, returning }) => (returning === undefined ? [] : [`  ${name}: ${returning}`]));
  const known = back.length === 0 ? [] : [["These come back:", ...back.map((line) => printable(line)), ""].join("\n")];
  return [...tables, ...known, ...(marked.length === 0 ? [] : [warningText(marked, red)])].join("\n");
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

function warningText(
  marked: readonly { readonly name: string; readonly warnings: readonly string[] }[],
  red: (text: string) => string,
): string {
  return [
    "! These need care before anybody approves them:",
    ...marked.flatMap(({ name, warnings }) => [
      `  ${red(printable(name))}`,
      ...warnings.map((warning) => `    ${printable(warning)}`),
    ]),
    "",
  ].join("\n");
}
