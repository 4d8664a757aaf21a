import type { ApiObject } from "../apimachinery/object.ts";
import { bootstrapUserPrefix, type UserInfo } from "../apimachinery/user.ts";
import { revokedText, type CredentialRevocationSpec } from "./credential-revocation.ts";
import { stringAt } from "./json-fields.ts";

/** The credential of a request, as far as it can be revoked. */
export interface Credential {
  /** The authenticated user; never an impersonated one. */
  readonly username: string;
  /** As in user extra: `X509SHA256=<hex>`, `JTI=<id>`. */
  readonly ids: readonly string[];
  /** Of a certificate: its id with the signature in the other encoding. A revocation of one revokes both. */
  readonly malleated?: string;
  /** Of a certificate; lower-case hexadecimal. */
  readonly serialNumber?: string;
  /** The SHA-256 of the DER of the issuer's name, in lower-case hexadecimal. */
  readonly issuer?: string;
  /** `<namespace>/<name>` of the Secret that a token is stored in. */
  readonly secret?: string;
  /** The resourceVersion of this Secret when the token was verified. */
  readonly secretVersion?: string;
  /** Its expiry, in milliseconds since the epoch; absent where it has none, or an unknown one. */
  readonly until?: number;
}

/** The key in user extra that identifies credentials. Source: apiserver pkg/authentication/user. */
export const credentialIdKey = "authentication.kubernetes.io/credential-id";

/** On a revocation of the credential that creates it; the only value is `accepted`. */
export const lockOutAnnotation = "access.pratique.dev/lock-out";

const none: readonly string[] = [];

/** The credential of a user of whom nothing else is known. */
export function credentialOf({ username, extra }: UserInfo): Credential {
  return { username, ids: extra?.[credentialIdKey] ?? none };
}

/** One active revocation. */
export interface FoundRevocation {
  /** The name of the CredentialRevocation. */
  readonly name: string;
  readonly what: string;
}

/** Revocations by their targets; a look-up takes constant time. */
export interface RevocationIndex {
  /** Adds a revocation, and replaces the one of its name. */
  put(object: ApiObject): void;
  remove(name: string): void;
  /** The number of revocations. */
  size(): number;
  /** A revocation of this credential that is active at `now`, in milliseconds since the epoch. */
  find(credential: Credential, now: number): FoundRevocation | undefined;
}

interface Entry extends FoundRevocation {
  readonly keys: readonly string[];
  /** In milliseconds since the epoch. */
  readonly until: number;
  /** The issuer of the certificates; undefined: any. */
  readonly issuer: string | undefined;
}

/** An empty index. */
export function revocationIndex(): RevocationIndex {
  const byName = new Map<string, Entry>();
  const byKey = new Map<string, Entry[]>();

  function remove(name: string): void {
    const entry = byName.get(name);
    if (entry === undefined) return;
    byName.delete(name);
    for (const key of entry.keys) {
      const left = (byKey.get(key) ?? []).filter((one) => one !== entry);
      if (left.length === 0) byKey.delete(key);
      else byKey.set(key, left);
    }
  }

  function at(key: string, now: number, issuer?: string): Entry | undefined {
    const entries = byKey.get(key);
    return entries?.find((one) => now < one.until && (one.issuer === undefined || one.issuer === issuer));
  }

  return {
    put: (object) => {
      const entry = entryOf(object);
      remove(entry.name);
      byName.set(entry.name, entry);
      for (const key of entry.keys) byKey.set(key, [...(byKey.get(key) ?? []), entry]);
    },
    remove,
    size: () => byName.size,
    find: ({ username, ids, malleated, serialNumber, issuer, secret }, now) => {
      if (byName.size === 0) return undefined;
      let found = at(`user ${username}`, now);
      for (const id of ids) found ??= at(`id ${id}`, now);
      if (malleated !== undefined) found ??= at(`id ${malleated}`, now);
      if (serialNumber !== undefined) found ??= at(`serial ${serialNumber}`, now, issuer);
      if (secret !== undefined) found ??= at(`secret ${secret}`, now);
      return found;
    },
  };
}

function entryOf(object: ApiObject): Entry {
  const spec = (object["spec"] ?? {}) as CredentialRevocationSpec;
  const until = Date.parse(stringAt(spec, "expiresAt"));
  return {
    name: object.metadata.name ?? "",
    what: revokedText(object),
    keys: keysOf(spec),
    // A revocation with an absent or unreadable end does not end.
    until: Number.isNaN(until) ? Number.POSITIVE_INFINITY : until,
    issuer: stringAt(spec, "certificate", "issuer") || undefined,
  };
}

/** One on the hub; where no server enforces that there is only one, each counts. */
function keysOf(spec: CredentialRevocationSpec): readonly string[] {
  const { user, fingerprint, credentialID, bootstrapTokenID, certificate, secret } = spec;
  const texts = [
    ["user ", user],
    ["id X509SHA256=", fingerprint],
    ["id ", credentialID],
    [`user ${bootstrapUserPrefix}`, bootstrapTokenID],
  ] as const;
  return [
    ...texts.flatMap(([prefix, text = ""]) => (text === "" ? [] : [prefix + text])),
    ...(certificate === undefined ? [] : [`serial ${certificate.serialNumber}`]),
    ...(secret === undefined ? [] : [`secret ${secret.namespace}/${secret.name}`]),
  ];
}
