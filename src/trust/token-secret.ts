import { rfc3339 } from "../apimachinery/clock.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { defaultNodeTokenGroup } from "../apimachinery/user.ts";
import {
  type BootstrapToken,
  isBootstrapGroup,
  isTokenId,
  isTokenUsage,
  TokenError,
  tokenUsages,
  type TokenUsage,
} from "./token.ts";

/** The namespace of bootstrap tokens; a Secret elsewhere is not one. */
export const tokenSecretNamespace = "kube-system";

/** The type of a Secret that holds a bootstrap token. */
export const tokenSecretType = "bootstrap.kubernetes.io/token";

const namePattern = /^bootstrap-token-([a-z0-9]{6})$/;

/** The name of the Secret that holds the token with this id. */
export function tokenSecretName(id: string): string {
  return `bootstrap-token-${id}`;
}

/** The token id in a Secret's name, or undefined when the name is not that of a token. */
export function tokenIdOfName(name: string): string | undefined {
  return namePattern.exec(name)?.[1];
}

/** The properties of a new token. */
export interface TokenRequest {
  readonly token: BootstrapToken;
  /** Seconds from `now`; default 86400 (24 hours), 0 for a token that never expires. */
  readonly ttlSeconds?: number;
  /** Default: both. */
  readonly usages?: readonly string[];
  /** Default: kubeadm's node group when the token may authenticate, none otherwise. */
  readonly groups?: readonly string[];
  readonly description?: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A Secret in its JSON shape. */
export interface TokenSecret extends ApiObject {
  readonly type: string;
  /** Values in base64. */
  readonly data: Readonly<Record<string, string>>;
}

/**
 * The Secret of a new token, as `kubeadm token create` writes it.
 * @throws TokenError malformed-token, unknown-usage, malformed-group (also for groups without the usage authentication), bad-ttl.
 */
export function tokenSecret(request: TokenRequest): TokenSecret {
  const { token, now, ttlSeconds = 86_400, usages = tokenUsages, description = "" } = request;
  const authenticates = usages.includes("authentication");
  const groups = request.groups ?? (authenticates ? [defaultNodeTokenGroup] : []);
  check(token, ttlSeconds);
  checkUse(usages, groups);
  const texts: [string, string][] = [
    ["token-id", token.id],
    ["token-secret", token.secret],
    ...(description === "" ? [] : [["description", description] satisfies [string, string]]),
    ...(ttlSeconds === 0 ? [] : [["expiration", rfc3339(now + ttlSeconds * 1000)] satisfies [string, string]]),
    ...tokenUsages
      .filter((usage) => usages.includes(usage))
      .map((usage): [string, string] => [`usage-bootstrap-${usage}`, "true"]),
    ...(groups.length === 0 ? [] : [["auth-extra-groups", groups.join(",")] satisfies [string, string]]),
  ];
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: tokenSecretName(token.id), namespace: tokenSecretNamespace },
    type: tokenSecretType,
    data: Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text, "utf8").toString("base64")])),
  };
}

/** The fields of a token in a Secret; none is validated. Absent values are empty strings. */
export interface TokenFacts {
  readonly name: string;
  readonly type: string;
  readonly hasData: boolean;
  readonly deleting: boolean;
  readonly id: string;
  readonly secret: string;
  readonly expiration: string;
  /** Only those that are exactly `true`. */
  readonly usages: readonly TokenUsage[];
  /** The entries of the comma list, blanks and all; empty when the list is. */
  readonly groups: readonly string[];
  readonly description: string;
}

/** Reads a Secret with any content; never throws. A value that is not base64 counts as absent. */
export function readTokenSecret(secret: ApiObject): TokenFacts {
  const data = secret["data"];
  const text = (key: string): string => decoded(data, key);
  const groups = text("auth-extra-groups");
  return {
    name: secret.metadata.name ?? "",
    type: typeof secret["type"] === "string" ? secret["type"] : "",
    hasData: typeof data === "object" && data !== null,
    deleting: secret.metadata.deletionTimestamp !== undefined && secret.metadata.deletionTimestamp !== null,
    id: text("token-id"),
    secret: text("token-secret"),
    expiration: text("expiration"),
    usages: tokenUsages.filter((usage) => text(`usage-bootstrap-${usage}`) === "true"),
    groups: groups === "" ? [] : groups.split(","),
    description: text("description"),
  };
}

function check(token: BootstrapToken, ttlSeconds: number): void {
  if (!isTokenId(token.id) || !/^[a-z0-9]{16}$/.test(token.secret)) {
    throw new TokenError(
      "malformed-token",
      "the token's id or secret is malformed: 6 and 16 characters of a-z and 0-9",
    );
  }
  // The upper bound, a thousand years, keeps the expiration within four-digit years.
  if (!Number.isSafeInteger(ttlSeconds) || ttlSeconds < 0 || ttlSeconds > 31_536_000_000) {
    throw new TokenError("bad-ttl", `a token's time to live is whole seconds, 0 for ever, not ${ttlSeconds}`);
  }
}

function checkUse(usages: readonly string[], groups: readonly string[]): void {
  const unknown = usages.find((usage) => !isTokenUsage(usage));
  if (unknown !== undefined || usages.length === 0) {
    throw new TokenError(
      "unknown-usage",
      `${unknown === undefined ? "a token needs a usage" : `${JSON.stringify(unknown)} is not a usage of a token`}; known are ${tokenUsages.join(", ")}`,
    );
  }
  if (groups.length > 0 && !usages.includes("authentication")) {
    throw new TokenError("malformed-group", "a token may have groups only with the usage authentication");
  }
  const bad = groups.find((group) => !isBootstrapGroup(group));
  if (bad !== undefined) {
    throw new TokenError(
      "malformed-group",
      `${JSON.stringify(bad)} is not a group for a token: it must begin with system:bootstrappers: and end in a letter or digit, with a-z, 0-9, : and - between`,
    );
  }
}

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decoded(data: unknown, key: string): string {
  if (typeof data !== "object" || data === null || !Object.hasOwn(data, key)) {
    return "";
  }
  const value: unknown = Reflect.get(data, key);
  return typeof value === "string" && base64Pattern.test(value) ? Buffer.from(value, "base64").toString("utf8") : "";
}
