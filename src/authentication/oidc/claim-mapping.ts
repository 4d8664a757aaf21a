import type { UserInfo } from "../../apimachinery/user.ts";
import { stringAt, valueAt, type Fields } from "../../apis/json-fields.ts";
import type { ClaimOrExpression, ClaimRule, JwtIssuer } from "./configuration.ts";
import {
  compileExpression,
  newTokenMeter,
  type Expression,
  type ExpressionPlace,
  type TokenMeter,
} from "./expressions.ts";

/** The result of mapping the claims of a verified token. */
export type Mapped =
  | { readonly kind: "user"; readonly user: UserInfo }
  | { readonly kind: "refused"; readonly reason: string };

/** Maps verified claims to a user, or to the reason why there is none. Never throws. */
export type ClaimMapping = (claims: Fields) => Mapped;

/** A claim whose value cannot be used; caught at the end of the mapping. */
class ClaimError extends Error {
  override readonly name = "ClaimError";
  readonly code = "claim";
}

type Rule = (claims: Fields, meter: TokenMeter) => void;
type Read = (claims: Fields, meter: TokenMeter) => unknown;

/**
 * Compiles the rules and mappings of an issuer with a valid configuration.
 * @throws CelError for an expression that was not checked before
 * @see apiserver plugin/pkg/authenticator/token/oidc
 */
export function claimMapping(issuer: JwtIssuer): ClaimMapping {
  const claimRules = issuer.claimRules.map(compileRule);
  const username = usernameReader(issuer);
  const groups = reader(issuer.groups, "groups");
  const uid = reader(issuer.uid, "uid");
  const extra = issuer.extra.map(({ key, expression }) => ({
    key,
    read: evaluated(compileExpression(expression, "extra"), key),
  }));
  const userRules = issuer.userRules.map(({ expression, message }) => ({
    message: message === "" ? `validation expression '${expression}' failed` : message,
    holds: compileExpression(expression, "userRule"),
  }));
  return function mapClaims(claims) {
    const meter = newTokenMeter();
    try {
      for (const rule of claimRules) rule(claims, meter);
      const user = withPrefixes(issuer, {
        username: username(claims, meter),
        groups: textsOf(groups(claims, meter), "groups"),
        uid: textOf(uid(claims, meter), "uid"),
        extra: extra.map(({ key, read }) => [key, textsOf(read(claims, meter), key)] as const),
      });
      for (const { holds, message } of userRules) {
        const { username: name, uid: id = "", groups: all, extra: more = {} } = user;
        const result = holds({ username: name, uid: id, groups: all, extra: more }, meter);
        if ("error" in result) throw new ClaimError(`error evaluating user validation rule: ${result.error}`);
        if (result.value !== true) throw new ClaimError(`error evaluating user info validation rule: ${message}`);
      }
      return { kind: "user", user };
    } catch (error) {
      if (!(error instanceof ClaimError)) throw error;
      return { kind: "refused", reason: error.message };
    }
  };
}

function withPrefixes(
  issuer: JwtIssuer,
  found: {
    readonly username: string;
    readonly groups: readonly string[];
    readonly uid: string;
    readonly extra: readonly (readonly [string, readonly string[]])[];
  },
): UserInfo {
  const extra = found.extra.filter(([, values]) => values.length > 0);
  return {
    username: prefixOf(issuer.username) + found.username,
    groups: found.groups.map((group) => prefixOf(issuer.groups) + group),
    ...(found.uid === "" ? {} : { uid: found.uid }),
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

function prefixOf(mapping: ClaimOrExpression | undefined): string {
  return mapping?.claim === undefined ? "" : mapping.prefix;
}

function compileRule(rule: ClaimRule): Rule {
  const { claim, requiredValue = "", expression } = rule;
  if (expression !== undefined) {
    const holds = compileExpression(expression, "claimRule");
    const message = rule.message === "" ? `validation expression '${expression}' failed` : rule.message;
    return (claims, meter) => {
      const result = holds(claims, meter);
      if ("error" in result) throw new ClaimError(`error evaluating claim validation expression: ${result.error}`);
      if (result.value !== true) throw new ClaimError(`error evaluating claim validation expression: ${message}`);
    };
  }
  const name = claim ?? "";
  return (claims) => {
    if (!Object.hasOwn(claims, name)) throw new ClaimError(`required claim ${name} not present in ID token`);
    if (claims[name] !== requiredValue) throw new ClaimError(`required claim ${name} value does not match`);
  };
}

function usernameReader({ username }: JwtIssuer): (claims: Fields, meter: TokenMeter) => string {
  const read = reader(username, "username");
  const isEmail = username.claim === "email";
  return (claims, meter) => {
    const value = read(claims, meter);
    if (typeof value !== "string" || value === "") throw new ClaimError("the username is empty or no text");
    // An unverified address may belong to any person.
    if (isEmail && Object.hasOwn(claims, "email_verified") && claims["email_verified"] !== true) {
      throw new ClaimError("email not verified");
    }
    return value;
  };
}

function reader(mapping: ClaimOrExpression | undefined, place: ExpressionPlace): Read {
  if (mapping === undefined) return () => undefined;
  if (mapping.claim === undefined) return evaluated(compileExpression(mapping.expression, place), place);
  const { claim } = mapping;
  if (place === "groups") return (claims) => valueAt(claims, claim);
  return (claims) => stringAt(claims, claim);
}

function evaluated(expression: Expression, what: string): Read {
  return (claims, meter) => {
    const result = expression(claims, meter);
    if ("error" in result) throw new ClaimError(`error evaluating the expression of ${what}: ${result.error}`);
    return result.value;
  };
}

function textOf(value: unknown, what: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "string") throw new ClaimError(`${what} is no text`);
  return value;
}

/** One text or a list of texts; empty ones are ignored. */
function textsOf(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value === "string") return [value];
  if (!Array.isArray(value)) throw new ClaimError(`${what} is neither a text nor a list of texts`);
  return value
    .map((one: unknown) => {
      if (typeof one !== "string") throw new ClaimError(`${what} is neither a text nor a list of texts`);
      return one;
    })
    .filter((one) => one !== "");
}
