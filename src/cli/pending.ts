import type { Client } from "../client/client.ts";
import { certificateSigningRequests, secrets } from "../controllers/kinds.ts";
import { humanDuration } from "../core/duration.ts";
import { StatusError } from "../core/status.ts";
import { isTokenId } from "../trust/token.ts";
import { readTokenSecret, tokenSecretName, tokenSecretNamespace } from "../trust/token-secret.ts";
import { coloursFor } from "./colours.ts";
import type { Args } from "./command.ts";
import { type CsrReview, isUndecided, reviewCsr } from "./csr-review.ts";
import type { ExitName } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { writeResult } from "./output.ts";
import { printable } from "./printable.ts";
import { withServer } from "./server-access.ts";
import { textTable } from "./text-table.ts";

/** Prints the undecided requests, the oldest first. */
export async function pending(args: Args, io: Io): Promise<ExitName> {
  return withServer<ExitName>(args, io, async ({ client }) => {
    const { items } = await client.list(certificateSigningRequests);
    const reviews = items
      .filter(isUndecided)
      .map(reviewCsr)
      .sort((one, other) => (one.created < other.created ? -1 : one.created > other.created ? 1 : 0));
    const described = await withTokenDescriptions(client, reviews);
    await writeResult(args, io, { data: described, table: () => pendingText(described, io) });
    return "ok";
  });
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

function pendingText(reviews: readonly CsrReview[], io: Io): string {
  if (reviews.length === 0) return "No certificate request waits for a decision.\n";
  const { red } = coloursFor(io.stdout, io);
  const [head = "", ...lines] = textTable({
    headings,
    rows: reviews.map((review) => pendingRow(review, io.clock.now())),
  })
    .split("\n")
    .slice(0, -1);
  const body = lines.map((line, at) => (reviews[at]?.warnings.length === 0 ? line : red(line)));
  return [head, ...body, ...warningLines(reviews, red), ""].join("\n");
}

/** The cells of a request, not yet escaped. `now` in milliseconds. */
export function pendingRow(review: CsrReview, now: number): readonly string[] {
  const { tokenDescription, durationSeconds } = review;
  const age = humanDuration(now - Date.parse(review.created));
  return [
    review.warnings.length === 0 ? "" : "!",
    `csr/${review.name}`,
    age,
    cut(`${review.requestor}${tokenDescription === undefined ? "" : ` (${tokenDescription})`}`),
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

const longestCell = 72;

function cut(text: string): string {
  return text.length > longestCell ? `${text.slice(0, longestCell)}…` : text;
}

function warningLines(reviews: readonly CsrReview[], red: (text: string) => string): readonly string[] {
  const marked = reviews.filter(({ warnings }) => warnings.length > 0);
  if (marked.length === 0) return [];
  return [
    "",
    "! These need care before anybody approves them:",
    ...marked.flatMap(({ name, warnings }) => [
      `  ${red(`csr/${printable(name)}`)}`,
      ...warnings.map((warning) => `    ${printable(warning)}`),
    ]),
  ];
}
