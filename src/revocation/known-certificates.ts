import { ignoreReasons } from "../client/api-errors.ts";
import type { ListedRevocation } from "../authentication/revocation-lists.ts";
import type { Client, ResourceRef } from "../client/client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { credentialRevocations, type CredentialRevocation } from "../apis/credential-revocation.ts";
import { credentialOfIssue } from "../apis/credential-state.ts";
import { issuedCredentials, type IssuedCredential } from "../apis/issued-credential.ts";
import { revocationIndex, type Credential } from "../apis/revocation-index.ts";

/** Which certificates are revoked before an import, whether a revocation names them by fingerprint or by serial number. */
export interface KnownCertificates {
  /** Whether the certificate that a listed revocation names is revoked already, for as long at the least. */
  readonly isRevoked: (spec: ListedRevocation["spec"]) => boolean;
}

const fingerprintPrefix = "X509SHA256=";

/**
 * Looks at what is revoked, and at the records of what was issued, which say which fingerprint and serial number are of one certificate.
 * What may not be listed is taken for absent: one certificate is then revoked twice, which is no harm. @throws StatusError of other codes
 */
export async function knownCertificates(
  listed: readonly ListedRevocation[],
  client: Client,
): Promise<KnownCertificates> {
  if (!listed.some(({ spec }) => namesCertificate(spec))) return { isRevoked: () => false };
  const revoked = revocationIndex();
  for (const one of await listAllowed<CredentialRevocation>(client, credentialRevocations)) {
    // A revoked user may be given new certificates: only what names a certificate counts.
    if (namesCertificate(one.spec)) revoked.put(one);
  }
  const issued = new Map<string, Credential>();
  for (const { spec, status } of await listAllowed<IssuedCredential>(client, issuedCredentials)) {
    for (const issue of status?.issued ?? []) {
      const credential = credentialOfIssue(spec.identity, issue);
      for (const id of credential.ids) issued.set(id, credential);
      if (credential.serialNumber !== undefined && credential.issuer !== undefined)
        issued.set(serialKey(credential.serialNumber, credential.issuer), credential);
    }
  }
  return {
    isRevoked: (spec) => {
      if (!namesCertificate(spec)) return false;
      const { certificate, fingerprint = "" } = spec;
      // By its serial number with any CA, it may be more than one certificate.
      if (certificate !== undefined && certificate.issuer === undefined) return false;
      const key =
        certificate === undefined
          ? (spec.credentialID ?? `${fingerprintPrefix}${fingerprint}`)
          : serialKey(certificate.serialNumber, certificate.issuer ?? "");
      const named = issued.get(key) ?? { ids: [], ...certificate };
      // At the last moment at which the listed one is in force.
      const last = Math.min(revocationEnd(spec), Number.MAX_SAFE_INTEGER) - 1;
      return revoked.find({ ...named, username: "" }, last) !== undefined;
    },
  };
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
