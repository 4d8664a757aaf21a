import type { ApiObject } from "../apimachinery/object.ts";
import { bootstrapGroup, bootstrapUserPrefix, type UserInfo } from "../apimachinery/user.ts";
import { isBootstrapGroup, parseToken, secretsEqual, type BootstrapToken } from "./token.ts";
import { readTokenSecret, tokenIdOfName, tokenSecretType, type TokenFacts } from "./token-secret.ts";

/** Which check a token failed. For metrics and tests; a client never sees it. */
export type TokenRefusal =
  | "not-a-token"
  | "unknown"
  | "deleting"
  | "wrong-type"
  | "wrong-secret"
  | "wrong-id"
  | "expired"
  | "wrong-usage"
  | "invalid-group";

/** The verdict on a presented token. `until`, in milliseconds, is when it expires; absent for one that never does. */
export type TokenVerdict =
  | { readonly kind: "authenticated"; readonly user: UserInfo; readonly until?: number }
  | { readonly kind: "refused"; readonly why: TokenRefusal };

/**
 * Checks the token in `text` against the Secret `kube-system/bootstrap-token-<id>`, undefined when there is none.
 * The user has no uid, and its groups are sorted, without `system:authenticated`. Any invalid extra group rejects the whole token.
 * @see plugin/pkg/auth/authenticator/token/bootstrap
 */
export function authenticateToken(text: string, secret: ApiObject | undefined, now: number): TokenVerdict {
  const token = parseToken(text);
  if (token === undefined) {
    return { kind: "refused", why: "not-a-token" };
  }
  return judgeToken(token, secret === undefined ? undefined : readTokenSecret(secret), now);
}

/** As `authenticateToken`, for a parsed token and a parsed Secret. */
export function judgeToken(token: BootstrapToken, facts: TokenFacts | undefined, now: number): TokenVerdict {
  if (facts === undefined) {
    return { kind: "refused", why: "unknown" };
  }
  const checks: readonly (readonly [TokenRefusal, () => boolean])[] = [
    ["deleting", () => !facts.deleting],
    ["wrong-type", () => facts.type === tokenSecretType && facts.hasData],
    ["wrong-secret", () => secretsEqual(facts.secret, token.secret)],
    ["wrong-id", () => facts.id === token.id],
    ["expired", () => !isExpired(facts.expiration, now)],
    ["wrong-usage", () => facts.usages.includes("authentication")],
    ["invalid-group", () => facts.groups.every(isBootstrapGroup)],
  ];
  const failed = checks.find(([, holds]) => !holds());
  if (failed !== undefined) {
    return { kind: "refused", why: failed[0] };
  }
  const until = parseRfc3339(facts.expiration);
  return {
    kind: "authenticated",
    user: {
      username: `${bootstrapUserPrefix}${token.id}`,
      groups: [...new Set([bootstrapGroup, ...facts.groups])].sort(),
    },
    ...(until === undefined ? {} : { until }),
  };
}

/**
 * The token with which a Secret signs cluster-info, or undefined when it may not: its name, type and id must agree, its
 * secret must not be empty, it must not be expired and must have the usage signing. The shape of the secret is not checked.
 * @see pkg/controller/bootstrap
 */
export function validForSigning(secret: ApiObject, now: number): BootstrapToken | undefined {
  const facts = readTokenSecret(secret);
  const valid =
    facts.type === tokenSecretType &&
    facts.id !== "" &&
    tokenIdOfName(facts.name) === facts.id &&
    facts.secret !== "" &&
    !isExpired(facts.expiration, now) &&
    facts.usages.includes("signing");
  return valid ? { id: facts.id, secret: facts.secret } : undefined;
}

/** Whether an `expiration` has been reached at `now`, in milliseconds: empty means never, one that cannot be parsed means already. */
export function isExpired(expiration: string, now: number): boolean {
  return lifetime(expiration, now).kind === "expired";
}

/** The remaining lifetime of an object with an `expiration`. */
export type Lifetime =
  | { readonly kind: "forever" }
  | { readonly kind: "expired" }
  /** `afterMs` is above 0. */
  | { readonly kind: "expires"; readonly afterMs: number };

/** The remaining lifetime of the token in a Secret; usages do not matter. The token cleaner deletes on `expired`. */
export function tokenLifetime(secret: ApiObject, now: number): Lifetime {
  return lifetime(readTokenSecret(secret).expiration, now);
}

function lifetime(expiration: string, now: number): Lifetime {
  if (expiration === "") {
    return { kind: "forever" };
  }
  const end = parseRfc3339(expiration);
  return end === undefined || !(end > now) ? { kind: "expired" } : { kind: "expires", afterMs: end - now };
}

const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** The least and the greatest of month, day, hour, minute and second, and of hour and minute of the zone, by their groups. */
const ranges: readonly (readonly [group: number, min: number, max: number])[] = [
  [2, 1, 12],
  [3, 1, 31],
  [4, 0, 23],
  [5, 0, 59],
  [6, 0, 59],
  [9, 0, 24],
  [10, 0, 60],
];

/**
 * The moment that `text` names, in milliseconds since the epoch, or undefined when Go's `time.Parse(time.RFC3339, text)`
 * would reject it: `T` and `Z` in upper case, no blanks, real days only, no leap second, an hour of one or two digits.
 * Fractions are cut to milliseconds. @see RFC 3339; Go package time
 */
export function parseRfc3339(text: string): number | undefined {
  const match = text.length > 64 ? null : pattern.exec(text);
  if (match === null) return undefined;
  const part = (index: number): number => Number(match[index] ?? "0");
  const [year, month, day] = [part(1), part(2), part(3)];
  const [hour, minute, second] = [part(4), part(5), part(6)];
  if (ranges.some(([index, min, max]) => part(index) < min || part(index) > max)) return undefined;
  // Date.UTC would read the years 0 to 99 as 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) return undefined;
  const millis = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  date.setUTCHours(hour, minute, second, millis);
  const zone = (part(9) * 60 + part(10)) * 60_000;
  return date.getTime() - (match[8] === "-" ? -zone : zone);
}
