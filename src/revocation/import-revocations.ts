import { ignoreReasons } from "../client/api-errors.ts";
import { createHash } from "node:crypto";
import type { ListedRevocation, SignedRevocations } from "../authentication/revocation-lists.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { StatusError } from "../apimachinery/status.ts";
import { credentialRevocations, revocationTargets, type CredentialRevocation } from "../apis/credential-revocation.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { credentialOfIssue } from "../apis/credential-state.ts";
import { issuedCredentials, type IssuedCredential } from "../apis/issued-credential.ts";
import { revocationIndex, type Credential } from "../apis/revocation-index.ts";

/** The result of importing a list. */
export interface ImportedRevocations {
  /** The added revocations, or with a dry run those to add; `reason` is the reason on the hub. */
  readonly added: readonly ListedRevocation[];
  /** How many were in force already, for at least as long. */
  readonly present: number;
  /** How many have ended. */
  readonly ended: number;
  /** The revocations that the API rejected, with its reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

type Outcome =
  | "present"
  | "ended"
  | { readonly added: ListedRevocation }
  | { readonly name: string; readonly reason: string };

/** The number of concurrent writes. */
const maxInFlight = 50;

/** Adds the revocations of a list to those in force; removes or shortens none. @throws errors of the client except rejections */
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
    // The name has been used for another one since.
    return (await created({ name: nameFor(spec), spec }, importing)) ? "added" : "present";
  }
  if (revocationEnd(spec) <= revocationEnd(before.spec)) return "present";
  const patch = { spec: { expiresAt: spec.expiresAt ?? null } };
  await client.patch(credentialRevocations, { name }, patch, { dryRun });
  return "added";
}

/** False where the name exists already. */
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

/** Which certificates are revoked before an import, whether a revocation names them by fingerprint or by serial number. */
interface KnownCertificates {
  /** Whether the certificate of a listed revocation is revoked already, for at least as long. */
  readonly isRevoked: (spec: ListedRevocation["spec"]) => boolean;
}

const fingerprintPrefix = "X509SHA256=";

/**
 * Reads the revocations, and the IssuedCredentials, which show which fingerprint and serial number belong to one certificate. What the
 * user may not list counts as absent: one certificate may then be revoked twice, which is harmless. @throws StatusError of other codes
 */
export async function knownCertificates(
  listed: readonly ListedRevocation[],
  client: Client,
): Promise<KnownCertificates> {
  if (!listed.some(({ spec }) => namesCertificate(spec))) return { isRevoked: () => false };
  const revoked = revocationIndex();
  for (const one of await listAllowed<CredentialRevocation>(client, credentialRevocations)) {
    // A revoked user may get new certificates: only revocations that name a certificate count.
    if (namesCertificate(one.spec)) revoked.put(one);
  }
  const issued = credentialsByKey(await listAllowed<IssuedCredential>(client, issuedCredentials));
  return {
    isRevoked: (spec) => {
      if (!namesCertificate(spec)) return false;
      const { certificate, fingerprint = "" } = spec;
      // A serial number without an issuer may match more than one certificate.
      if (certificate !== undefined && certificate.issuer === undefined) return false;
      const key =
        certificate === undefined
          ? (spec.credentialID ?? `${fingerprintPrefix}${fingerprint}`)
          : serialKey(certificate.serialNumber, certificate.issuer ?? "");
      const named = issued.get(key) ?? { ids: [], ...certificate };
      // At the last moment at which the listed revocation is in force.
      const last = Math.min(revocationEnd(spec), Number.MAX_SAFE_INTEGER) - 1;
      return revoked.find({ ...named, username: "" }, last) !== undefined;
    },
  };
}

/** Issued credentials by their ids, and by serial number with issuer. */
function credentialsByKey(records: readonly IssuedCredential[]): ReadonlyMap<string, Credential> {
  const byKey = new Map<string, Credential>();
  for (const { spec, status } of records) {
    for (const issue of status?.issued ?? []) {
      const credential = credentialOfIssue(spec.identity, issue);
      for (const id of credential.ids) byKey.set(id, credential);
      const { serialNumber, issuer } = credential;
      if (serialNumber !== undefined && issuer !== undefined) byKey.set(serialKey(serialNumber, issuer), credential);
    }
  }
  return byKey;
}

/** When a revocation ends, in milliseconds since the epoch; infinite where it has no end. */
export function revocationEnd({ expiresAt }: ListedRevocation["spec"]): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

function namesCertificate(spec: ListedRevocation["spec"] | undefined): boolean {
  const { certificate, fingerprint, credentialID } = spec ?? {};
  return certificate !== undefined || fingerprint !== undefined || credentialID?.startsWith(fingerprintPrefix) === true;
}

function serialKey(serialNumber: string, issuer: string): string {
  return `${issuer} ${serialNumber}`;
}

async function listAllowed<T extends ApiObject>(client: Client, resource: ResourceRef): Promise<readonly T[]> {
  return (await ignoreReasons(client.list<T>(resource), "Forbidden", "NotFound"))?.items ?? [];
}
