import { ConnectionError } from "../../client/client.ts";
import type { RawReply, RemoteClient, RemoteOptions } from "../../client/remote.ts";
import { parsedJson, replyError, retryAfterMs } from "../../client/replies.ts";
import { plainText } from "../join-error.ts";
import { tokenClaims, type TokenClaims } from "../proof/token-claims.ts";
import { hubClient } from "../../host/hub-client.ts";
import { stringAt } from "../../apis/json-fields.ts";

/** The address for the renewal, and the token. */
export interface RenewalTarget extends Pick<
  RemoteOptions,
  "server" | "clock" | "userAgent" | "proxyUrl" | "tlsServerName"
> {
  /** The CA of the hub's certificate. */
  readonly caPem: string;
  readonly token: string;
  readonly claims: TokenClaims;
  readonly signal?: AbortSignal | undefined;
}

/** The result of one try. Messages contain no secret and no control character. */
export type Renewal =
  | { readonly kind: "renewed"; readonly token: string; readonly claims: TokenClaims }
  | {
      readonly kind: "failed";
      /** `unauthorized` where the hub rejected the token itself. */
      readonly code: "unauthorized" | "refused" | "unreachable";
      readonly message: string;
      readonly retryAfterMs: number | undefined;
    };

const timeoutMs = 30_000;
const minSeconds = 600;
const maxReplyBytes = 262_144;

/** Requests the next token of the same account, lifetime and audiences once, with the token itself. Never throws for what a server does. */
export async function renewToken(target: RenewalTarget): Promise<Renewal> {
  const client = hubClient({ ...target, timeoutMs, maxReplyBytes, retryBudgetMs: 0 });
  try {
    // Without audiences in the request, a hub uses those of the profile or its own, mostly the same; naming its own may be denied.
    const plain = renewalOf(await posted(client, target, []), target.claims);
    if (plain.kind === "failed" || sameAudiences(plain.claims, target.claims)) return plain;
    return renewalOf(await posted(client, target, target.claims.audiences), target.claims);
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const message = `the hub cannot be reached: ${error.message}`;
    return { kind: "failed", code: "unreachable", message, retryAfterMs: undefined };
  } finally {
    client.close();
  }
}

function sameAudiences(one: TokenClaims, other: TokenClaims): boolean {
  const [a, b] = [new Set(one.audiences), new Set(other.audiences)];
  return a.size === b.size && [...a].every((audience) => b.has(audience));
}

function posted(
  client: RemoteClient,
  { claims, signal }: RenewalTarget,
  audiences: readonly string[],
): Promise<RawReply> {
  const { namespace, serviceAccount, issuedAt, expiresAt } = claims;
  const expirationSeconds = Math.max(minSeconds, Math.round((expiresAt - issuedAt) / 1000));
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { audiences: audiences.length === 0 ? undefined : audiences, expirationSeconds },
  };
  return client.raw("POST", `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`, {
    headers: { "content-type": "application/json" },
    body: Buffer.from(JSON.stringify(body)),
    signal,
  });
}

function renewalOf({ status, headers, body }: RawReply, before: TokenClaims): Renewal {
  const value = parsedJson(body);
  const failed = (message: string, code: "unauthorized" | "refused" = "refused"): Renewal => ({
    kind: "failed",
    code,
    message: plainText(message),
    retryAfterMs: retryAfterMs(status, headers["retry-after"]),
  });
  if (status === 401) return failed("the hub does not accept the token (401 Unauthorized)", "unauthorized");
  if (status < 200 || status > 299)
    return failed(`the hub gives no token (${status}): ${replyError(status, value).message}`);
  const token = stringAt(value, "status", "token");
  const claims = tokenClaims(token);
  if (claims === undefined) return failed("the hub's answer holds no token");
  if (claims.namespace !== before.namespace || claims.serviceAccount !== before.serviceAccount) {
    return failed("the hub's answer holds a token of another account");
  }
  return { kind: "renewed", token, claims };
}
