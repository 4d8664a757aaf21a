import type { ApiObject } from "../apimachinery/object.ts";
import { bootstrapUserPrefix, type UserInfo } from "../apimachinery/user.ts";
import { revokedText, type CredentialRevocationSpec } from "./credential-revocation.ts";
import { stringAt } from "./json-fields.ts";

/** What a request was authenticated with, as far as that can be revoked. */
export interface Credential {
  /** The user that it makes its holder; never one that is impersonated. */
  readonly username: string;
  /** As in user extra: `X509SHA256=<hex>`, `JTI=<id>`. */
  readonly ids: readonly string[];
  /** Of a certificate: the id that it has once somebody writes its signature in the other form. What revokes one revokes both. */
  readonly malleated?: string;
  /** Of a certificate; lower-case hexadecimal. */
  readonly serialNumber?: string;
  /** The SHA-256 of the DER of the issuer's name, in lower-case hexadecimal. */
  readonly issuer?: string;
  /** `<namespace>/<name>` of the Secret that a token stands on. */
  readonly secret?: string;
  /** The resourceVersion that this Secret had when the token was judged. */
  readonly secretVersion?: string;
  /** The moment from which on it is worth nothing, in milliseconds since the epoch; absent where it has no end, or none that is known. */
  readonly until?: number;
}

/** The key in user extra under which credentials are named. Source: apiserver pkg/authentication/user. */
export const credentialIdKey = "authentication.kubernetes.io/credential-id";

/** On a revocation of the credential with which it is made; the only value is `accepted`. */
export const lockOutAnnotation = "access.pratique.dev/lock-out";

const none: readonly string[] = [];

/** The credential of a user of whom nothing else is known. */
export function credentialOf({ username, extra }: UserInfo): Credential {
  return { username, ids: extra?.[credentialIdKey] ?? none };
}

/** One revocation that is in force. */
export interface FoundRevocation {
  /** The name of the CredentialRevocation. */
  readonly name: string;
  readonly what: string;
}

/** Revocations by what they name; a look-up costs the same however many there are. */
export interface RevocationIndex {
  /** Takes a revocation in, in place of the one of its name. */
  put(object: ApiObject): void;
  remove(name: string): void;
  /** How many there are. */
  size(): number;
  /** A revocation of this credential that is in force at `now`, in milliseconds since the epoch. */
  find(credential: Credential, now: number): FoundRevocation | undefined;
}

interface Entry extends FoundRevocation {
  readonly keys: readonly string[];
  /** In milliseconds since the epoch. */
  readonly until: number;
  /** Of the certificates meant; undefined: of any issuer. */
  readonly issuer: string | undefined;
}

/** An index without revocations. */
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
    // An end that is absent or cannot be read is none: what is revoked stays so.
    until: Number.isNaN(until) ? Number.POSITIVE_INFINITY : until,
    issuer: stringAt(spec, "certificate", "issuer") || undefined,
  };
}

/** One on the hub; where no server checks that there is one only, each counts. */
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
