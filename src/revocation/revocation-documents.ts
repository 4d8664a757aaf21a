import { createHash } from "node:crypto";
import { revocationListAudience, revocationListType } from "../authentication/revocation-lists.ts";
import { type Clock, rfc3339 } from "../apimachinery/clock.ts";
import type { Reply } from "../apiserver/http-types.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import { encodePem } from "../pki/pem.ts";
import { revocationList } from "../pki/revocation-list.ts";
import { objectOf } from "../registry/entry.ts";
import { credentialRevocations, revocationTargets, type CredentialRevocation } from "../apis/credential-revocation.ts";
import { storagePrefix } from "../apis/resource.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import type { Revocations } from "./revocations.ts";
import type { ServiceAccountIssuer } from "../ca/service-account-issuer.ts";

export interface RevocationDocumentsOptions {
  readonly cache: WatchCache;
  readonly revocations: Pick<Revocations, "certificateOf">;
  readonly authorities: () => Authorities;
  readonly issuer: Pick<ServiceAccountIssuer, "issuers" | "sign">;
  readonly clock: Pick<Clock, "now">;
}

/** How long a list is valid; verifiers fetch it far more often. */
const validMs = 86_400_000;

/**
 * The signed lists for verifiers elsewhere, by the path below `/revocations`: all revocations as a JWS with the key of ServiceAccount
 * tokens, and under `crl` the certificates with a known serial number as X.509 revocation lists, one for each trusted CA, the active one
 * first. @see RFC 7515; RFC 5280 section 5
 */
export function revocationDocuments(options: RevocationDocumentsOptions): (rest: string) => Promise<Reply | undefined> {
  const inForce = (now: number): readonly CredentialRevocation[] =>
    [...options.cache.list(storagePrefix(credentialRevocations))]
      .map((entry) => objectOf(entry) as CredentialRevocation)
      .filter(({ spec }) => !(Date.parse(spec.expiresAt ?? "") <= now));
  return async (rest) => {
    const now = options.clock.now();
    if (rest === "") return jws(options, inForce(now), now);
    return rest === "crl" ? crl(options, inForce(now), now) : undefined;
  };
}

async function jws(
  { issuer }: RevocationDocumentsOptions,
  all: readonly CredentialRevocation[],
  now: number,
): Promise<Reply> {
  const claims = {
    iss: issuer.issuers[0],
    aud: [revocationListAudience],
    iat: Math.floor(now / 1000),
    exp: Math.floor((now + validMs) / 1000),
    // Without the reasons, which only readers of the objects may see.
    revocations: all.map(({ metadata, spec }) => ({
      name: metadata.name,
      revokedAt: metadata.creationTimestamp,
      ...Object.fromEntries(
        [...revocationTargets, "expiresAt" as const].flatMap((field) =>
          spec[field] === undefined ? [] : [[field, spec[field]]],
        ),
      ),
    })),
  };
  const body = await issuer.sign(claims, revocationListType);
  return { status: 200, contentType: "application/jose", body: `${body}\n`, headers: notStored };
}

const notStored = { "cache-control": "no-store" };

function crl(options: RevocationDocumentsOptions, all: readonly CredentialRevocation[], now: number): Reply {
  const lists = options.authorities().trusted.map((issuer) => listOf(options, issuer, { all, now }));
  return { status: 200, contentType: "application/x-pem-file", body: lists.join(""), headers: notStored };
}

function listOf(
  { revocations, cache }: RevocationDocumentsOptions,
  issuer: CertificateAuthority,
  { all, now }: { readonly all: readonly CredentialRevocation[]; readonly now: number },
): string {
  const signer = createHash("sha256").update(issuer.rawSubject).digest("hex");
  const revoked = new Map<string, { readonly serialNumber: string; readonly at: number }>();
  for (const { metadata, spec } of all) {
    const { serialNumber, issuer: by = signer } = spec.certificate ?? revocations.certificateOf(spec) ?? {};
    const at = Date.parse(metadata.creationTimestamp ?? rfc3339(now));
    if (serialNumber !== undefined && by === signer) revoked.set(serialNumber, { serialNumber, at });
  }
  const times = { thisUpdate: now, nextUpdate: now + validMs };
  const list = revocationList({ issuer, ...times, number: cache.revision(), revoked: [...revoked.values()] });
  return encodePem("X509 CRL", list);
}
