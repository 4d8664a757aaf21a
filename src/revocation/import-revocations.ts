import { ignoreReasons } from "../client/api-errors.ts";
import { createHash } from "node:crypto";
import type { ListedRevocation, SignedRevocations } from "../authentication/revocation-lists.ts";
import type { Client } from "../client/client.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { StatusError } from "../apimachinery/status.ts";
import { knownCertificates, revocationEnd as endOf, type KnownCertificates } from "./known-certificates.ts";
import { credentialRevocations, revocationTargets, type CredentialRevocation } from "../apis/credential-revocation.ts";

/** What became of the revocations of a list. */
export interface ImportedRevocations {
  /** Those that were added, or would be; `reason` is the one that they have on the hub. */
  readonly added: readonly ListedRevocation[];
  /** How many were in force already, for as long at the least. */
  readonly present: number;
  /** How many are over by now. */
  readonly ended: number;
  /** Those that the API did not take, with its reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

type Outcome =
  | "present"
  | "ended"
  | { readonly added: ListedRevocation }
  | { readonly name: string; readonly reason: string };

/** How many are written at once. */
const maxInFlight = 50;

/** Adds the revocations of a list to those that are in force; none is taken away or made shorter. @throws what the client does, but for refusals */
export async function importRevocations(
  { issuedAt, revocations }: SignedRevocations,
  to: { readonly client: Client; readonly now: number; readonly dryRun: boolean },
): Promise<ImportedRevocations> {
  const reason = `imported from the list of ${rfc3339(issuedAt)}`;
  const known = await knownCertificates(revocations, to.client);
  const outcomes: Outcome[] = [];
  for (let at = 0; at < revocations.length; at += maxInFlight) {
    const some = revocations.slice(at, at + maxInFlight);
    outcomes.push(...(await Promise.all(some.map((one) => importOne(one, { ...to, reason, known })))));
  }
  const count = (kind: string): number => outcomes.filter((outcome) => outcome === kind).length;
  return {
    added: outcomes.flatMap((outcome) => (typeof outcome === "object" && "added" in outcome ? [outcome.added] : [])),
    present: count("present"),
    ended: count("ended"),
    refused: outcomes.filter((outcome) => typeof outcome === "object" && "reason" in outcome),
  };
}

interface Importing {
  readonly known: KnownCertificates;
  readonly client: Client;
  readonly now: number;
  readonly dryRun: boolean;
  readonly reason: string;
}

async function importOne(one: ListedRevocation, importing: Importing): Promise<Outcome> {
  if (Date.parse(one.spec.expiresAt ?? "") <= importing.now) return "ended";
  if (importing.known.isRevoked(one.spec)) return "present";
  try {
    const outcome = await written(one, importing);
    return outcome === "added" ? { added: { ...one, spec: { ...one.spec, reason: importing.reason } } } : outcome;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { name: one.name, reason: error.message };
  }
}

async function written({ name, spec }: ListedRevocation, importing: Importing): Promise<"added" | "present"> {
  if (await created({ name, spec }, importing)) return "added";
  const { client, dryRun } = importing;
  const before = await client.get<CredentialRevocation>(credentialRevocations, { name });
  if (!jsonEqual(targetOf(before.spec), targetOf(spec))) {
    // The name was given to another one since.
    return (await created({ name: nameFor(spec), spec }, importing)) ? "added" : "present";
  }
  if (endOf(spec) <= endOf(before.spec)) return "present";
  const patch = { spec: { expiresAt: spec.expiresAt ?? null } };
  await client.patch(credentialRevocations, { name }, patch, { dryRun });
  return "added";
}

/** False where there is one of this name. */
async function created({ name, spec }: ListedRevocation, { client, dryRun, reason }: Importing): Promise<boolean> {
  const { group, version, kind } = credentialRevocations;
  const object = { apiVersion: `${group}/${version}`, kind, metadata: { name }, spec: { ...spec, reason } };
  return (await ignoreReasons(client.create(credentialRevocations, object, { dryRun }), "AlreadyExists")) !== undefined;
}

function targetOf(spec: ListedRevocation["spec"]): object {
  return Object.fromEntries(revocationTargets.map((field) => [field, spec[field] ?? null]));
}

function nameFor(spec: ListedRevocation["spec"]): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(targetOf(spec)))
    .digest("hex");
  return `imported-${digest.slice(0, 32)}`;
}
