import { StatusError } from "../apimachinery/status.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { fieldsAt, isTrueAt, stringAt, stringsAt, valueAt, type Fields } from "../apis/json-fields.ts";
import type { TokenAuthentication, TokenAuthenticator } from "./bearer.ts";
import { cachedTokens } from "./token-cache.ts";

export interface WebhookTokensOptions {
  /** The version of the review that the service takes. */
  readonly version: "v1" | "v1beta1";
  /** Sends a TokenReview and resolves to the response; retries and time-outs are its own. Rejects where there is no response. */
  readonly post: (review: object) => Promise<unknown>;
  /** The audiences of this API, sent in the review. */
  readonly audiences: readonly string[];
  /** How long a success is cached, in milliseconds. */
  readonly cacheMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A client that sends forged tokens faster than the service responds must not fill the memory of the hub. */
const maxInFlight = 256;

/**
 * Authenticates tokens by a service of the operator. A service that cannot be reached or sends an invalid response rejects the token;
 * beyond 256 calls in flight the request is rejected for now. @throws StatusError TooManyRequests then
 * @see apiserver plugin/pkg/authenticator/token/webhook
 */
export function webhookTokens(options: WebhookTokensOptions): TokenAuthenticator {
  let underWay = 0;
  const bounded = async (token: string): Promise<TokenAuthentication> => {
    if (underWay >= maxInFlight) {
      throw new StatusError("TooManyRequests", "too many tokens wait for the token webhook; try again", {
        details: { retryAfterSeconds: 1 },
      });
    }
    underWay += 1;
    try {
      return await askedAbout(token, options);
    } finally {
      underWay -= 1;
    }
  };
  return cachedTokens(bounded, { now: options.now, ttlMs: options.cacheMs });
}

async function askedAbout(token: string, options: WebhookTokensOptions): Promise<TokenAuthentication> {
  const apiVersion = `authentication.k8s.io/${options.version}`;
  const spec = { token, audiences: options.audiences };
  let answer: unknown;
  try {
    answer = await options.post({ kind: "TokenReview", apiVersion, metadata: {}, spec, status: { user: {} } });
  } catch (error) {
    return rejected(error instanceof Error ? error.message : "the token webhook failed");
  }
  if (stringAt(answer, "kind") !== "TokenReview" || stringAt(answer, "apiVersion") !== apiVersion) {
    return rejected(`the token webhook answered with something else than a TokenReview of ${apiVersion}`);
  }
  const status = fieldsAt(answer, "status");
  if (!isTrueAt(status, "authenticated")) {
    const error = stringAt(status, "error");
    return error === "" ? { kind: "absent" } : rejected(error);
  }
  return authenticated(status, options.audiences);
}

/** A service without support for audiences names none; its verdict then counts for the audiences of the API, as in Kubernetes. */
function authenticated(status: Fields, audiences: readonly string[]): TokenAuthentication {
  const user = userOf(fieldsAt(status, "user"));
  if (user.username === "") return rejected("the token webhook named no user");
  const meant = stringsAt(status, "audiences");
  return { kind: "authenticated", user, audiences: meant.length === 0 ? audiences : meant };
}

function userOf(user: Fields): UserInfo {
  const extra = Object.entries(fieldsAt(user, "extra")).filter(([, values]) => Array.isArray(values));
  const uid = valueAt(user, "uid");
  return {
    username: stringAt(user, "username"),
    groups: stringsAt(user, "groups"),
    ...(typeof uid === "string" && uid !== "" ? { uid } : {}),
    ...(extra.length === 0
      ? {}
      : { extra: Object.fromEntries(extra.map(([key, values]) => [key, stringsAt({ values }, "values")])) }),
  };
}

function rejected(reason: string): TokenAuthentication {
  return { kind: "rejected", reason: `[invalid bearer token, ${reason}]` };
}
