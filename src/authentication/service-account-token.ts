import { compactVerify } from "jose/jws/compact/verify";
import type { ApiObject } from "../apimachinery/object.ts";
import { serviceAccountsGroup, type UserInfo } from "../apimachinery/user.ts";
import { stringAt, type Fields, numberAt } from "../apis/json-fields.ts";
import { credentialOf, type Credential } from "../apis/revocation-index.ts";
import { jsonPart, tokenParts, type TokenAuthentication, type TokenAuthenticator } from "./bearer.ts";
import {
  leewayMs,
  legacyIssuer,
  parseBoundClaims,
  parseLegacyClaims,
  type BoundClaims,
  type NamedObject,
} from "./service-account-claims.ts";
import type { TokenKey } from "./service-account-keys.ts";
import { cachedTokens } from "./token-cache.ts";

/** The kinds that a token can name; a Node has no namespace. */
export type TokenKind = "ServiceAccount" | "Pod" | "Secret" | "Node";

/** The present object of that name, or undefined. It must see every acknowledged write, and throws when it cannot decide. */
export type ObjectLookup = (kind: TokenKind, namespace: string, name: string) => ApiObject | undefined;

export interface ServiceAccountTokenOptions {
  /** The issuers of bound tokens; those from Secrets have an issuer of their own. */
  readonly issuers: readonly string[];
  readonly keys: readonly TokenKey[];
  readonly lookup: ObjectLookup;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A label on a Secret whose token was invalidated. Source: kubernetes LegacyServiceAccountTokenCleanUp. */
const invalidSinceLabel = "kubernetes.io/legacy-token-invalid-since";

/**
 * Authenticates ServiceAccounts by their tokens. Only the signature check is cached, for ten seconds at most: the time, the account and
 * the bound object are checked with every request, so that a deletion takes effect at once. The check of the audiences
 * is left to the caller, which receives them.
 * @see kubernetes pkg/serviceaccount
 */
export function serviceAccountTokens(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { lookup, now, keys } = options;
  const verify = cachedTokens(signedClaims({ issuers: [...options.issuers, legacyIssuer], keys }), { now });
  return async function serviceAccountToken(token) {
    const signed = await verify(token);
    if (signed.kind !== "authenticated") return signed;
    const { claims } = signed;
    return stringAt(claims, "iss") === legacyIssuer && !options.issuers.includes(legacyIssuer)
      ? legacyVerdict(claims, token, lookup)
      : boundVerdict(claims, lookup, now());
  };
}

function boundVerdict(claims: Fields, lookup: ObjectLookup, now: number): TokenAuthentication {
  const bound = parseBoundClaims(claims);
  if (bound === undefined) return rejected("the claims of the service account token are not complete");
  const why = wrongTime(bound, now) ?? wrongAccount(bound, lookup, now) ?? wrongBinding(bound, lookup, now);
  if (why !== undefined) return rejected(why);
  const { namespace, serviceAccount, audiences } = bound;
  const user = { ...accountUser(namespace, serviceAccount), extra: extraOf(bound) };
  const until = bound.expiresAt * 1000 + leewayMs;
  if (bound.secret === undefined) return { kind: "authenticated", user, audiences, until };
  const secret = lookup("Secret", namespace, bound.secret.name);
  const credential = { ...credentialOf(user), ...secretOf(`${namespace}/${bound.secret.name}`, secret) };
  return { kind: "authenticated", user, audiences, until, credential };
}

/** The Secret of a token, and the resourceVersion that was checked. */
function secretOf(secret: string, object: ApiObject | undefined): Pick<Credential, "secret" | "secretVersion"> {
  const secretVersion = object?.metadata.resourceVersion;
  return secretVersion === undefined ? { secret } : { secret, secretVersion };
}

function wrongTime({ expiresAt, notBefore, issuedAt }: BoundClaims, now: number): string | undefined {
  if (now + leewayMs < notBefore * 1000) return "service account token is not valid yet";
  if (now - leewayMs > expiresAt * 1000) return "service account token has expired";
  if (now + leewayMs < issuedAt * 1000) return "service account token is issued in the future";
  return undefined;
}

function wrongAccount(
  { namespace, serviceAccount: { name, uid } }: BoundClaims,
  lookup: ObjectLookup,
  now: number,
): string | undefined {
  const account = lookup("ServiceAccount", namespace, name);
  if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
  const found = account.metadata.uid ?? "";
  if (found !== uid) return `service account UID (${found}) does not match claim (${uid})`;
  return isGone(account, now) ? "service account has been deleted" : undefined;
}

const invalidated = "service account token has been invalidated";

/** A pod's node is not checked: it describes the pod, and the token is bound to the pod. */
function wrongBinding(bound: BoundClaims, lookup: ObjectLookup, now: number): string | undefined {
  const { namespace, secret, pod, node } = bound;
  const checks: readonly (readonly [TokenKind, string, NamedObject | undefined])[] = [
    ["Secret", namespace, secret],
    ["Pod", namespace, pod],
    ["Node", "", pod === undefined ? node : undefined],
  ];
  for (const [kind, within, ref] of checks) {
    if (ref === undefined) continue;
    const object = lookup(kind, within, ref.name);
    if (object === undefined || isGone(object, now)) return invalidated;
    const uid = object.metadata.uid ?? "";
    if (ref.uid === "" || ref.uid !== uid) {
      const word = kind.toLowerCase();
      return `${word} UID (${uid}) does not match service account ${word} ref claim (${ref.uid})`;
    }
  }
  return undefined;
}

/** Whether the deletionTimestamp is older than the clock skew; one that cannot be parsed counts as old. */
function isGone({ metadata: { deletionTimestamp } }: ApiObject, now: number): boolean {
  return deletionTimestamp !== undefined && !(Date.parse(deletionTimestamp) >= now - leewayMs);
}

function extraOf({ pod, node, id }: BoundClaims): NonNullable<UserInfo["extra"]> {
  const words = [
    ["credential-id", id === "" ? "" : `JTI=${id}`],
    ["pod-name", pod?.name ?? ""],
    ["pod-uid", pod?.uid ?? ""],
    ["node-name", node?.name ?? ""],
    ["node-uid", node?.uid ?? ""],
  ] as const;
  return Object.fromEntries(
    words.flatMap(([word, value]) => (value === "" ? [] : [[`authentication.kubernetes.io/${word}`, [value]]])),
  );
}

function legacyVerdict(claims: Fields, token: string, lookup: ObjectLookup): TokenAuthentication {
  const legacy = parseLegacyClaims(claims);
  if (legacy === undefined) return rejected("the claims of the service account token are not complete");
  const { namespace, serviceAccount } = legacy;
  const secret = lookup("Secret", namespace, legacy.secret);
  const why =
    wrongSecret(secret, token) ??
    wrongLegacyAccount(lookup("ServiceAccount", namespace, serviceAccount.name), serviceAccount);
  if (why !== undefined) return rejected(why);
  const user = accountUser(namespace, serviceAccount);
  const credential = { ...credentialOf(user), ...secretOf(`${namespace}/${legacy.secret}`, secret) };
  return { kind: "authenticated", user, credential };
}

function wrongSecret(secret: ApiObject | undefined, token: string): string | undefined {
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return invalidated;
  // The signature is valid, so the token is no secret to its sender and may be compared as text.
  if (Buffer.from(stringAt(secret, "data", "token"), "base64").toString("latin1") !== token)
    return "token does not match the server's copy";
  return (secret.metadata.labels?.[invalidSinceLabel] ?? "") === "" ? undefined : invalidated;
}

function wrongLegacyAccount(account: ApiObject | undefined, { name, uid }: NamedObject): string | undefined {
  if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
  if (account.metadata.deletionTimestamp !== undefined) return "service account has been deleted";
  const found = account.metadata.uid ?? "";
  return found === uid ? undefined : `service account UID (${found}) does not match claim (${uid})`;
}

/** `system:authenticated` is added later, for all credentials. */
function accountUser(namespace: string, { name, uid }: NamedObject): UserInfo {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`],
  };
}

function rejected(reason: string): TokenAuthentication {
  return { kind: "rejected", reason };
}

/** The claims of a token with a valid signature. No claim is checked, not even the expiry. */
type SignedClaims =
  | { readonly kind: "authenticated"; readonly claims: Fields; readonly until?: number }
  | { readonly kind: "absent" }
  | { readonly kind: "rejected"; readonly reason: string };

interface SignatureOptions {
  /** Tokens that name another issuer are absent. */
  readonly issuers: readonly string[];
  readonly keys: readonly TokenKey[];
}

/**
 * Verifies who signed a compact JWS. The token's `kid` chooses among the keys, and the key alone chooses the algorithm; without a
 * `kid` every key is tried. Anything else, or a token of another issuer, is `absent`.
 * @see RFC 7515; RFC 8725; kubernetes pkg/serviceaccount/jwt.go
 */
export function signedClaims({ issuers, keys }: SignatureOptions): (token: string) => Promise<SignedClaims> {
  return async function verifySignature(token) {
    const parts = tokenParts(token) ?? [];
    const [header, claims] = parts.slice(0, 2).map(jsonPart);
    if (header === undefined || claims === undefined) return { kind: "absent" };
    if (!issuers.includes(stringAt(claims, "iss"))) return { kind: "absent" };
    // One encoding for each token: another text that decodes to the same bytes is rejected.
    if (!parts.every(isCanonical)) return { kind: "rejected", reason: "the token is not encoded as it should be" };
    const candidates = keysFor(header, keys);
    if (candidates.length === 0) return { kind: "rejected", reason: "invalid signature, no keys found" };
    for (const key of candidates) {
      if (await isSignedBy(token, key)) return { kind: "authenticated", claims, ...untilOf(claims) };
    }
    return { kind: "rejected", reason: "the signature of the token is not valid" };
  };
}

/** The keys that match the header; none where the header names another algorithm than the key's own. */
function keysFor(header: Fields, keys: readonly TokenKey[]): readonly TokenKey[] {
  const named = Object.hasOwn(header, "kid") ? keys.filter(({ kid }) => kid === header["kid"]) : keys;
  return named.filter(({ alg }) => alg === header["alg"]);
}

async function isSignedBy(token: string, { key, alg }: TokenKey): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [alg] });
    return true;
  } catch {
    // Any error means that this key has not signed the token.
    return false;
  }
}

function untilOf(claims: Fields): { readonly until?: number } {
  const exp = numberAt(claims, "exp");
  return exp === undefined ? {} : { until: exp * 1000 + leewayMs };
}

function isCanonical(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}
