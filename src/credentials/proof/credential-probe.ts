import { createHash } from "node:crypto";
import { ConnectionError } from "../../client/client.ts";
import type { RawReply, RemoteClient } from "../../client/remote.ts";
import { parsedJson, replyError } from "../../client/replies.ts";
import type { ClientCredentials } from "../../client/transport.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { JoinError, plainText } from "../join-error.ts";
import type { Trust } from "../trust/trust-bundle-manager.ts";
import { hubClient } from "../../host/hub-client.ts";
import { describeError } from "../request/connection-failure.ts";

/** Whether a hub takes a credential. */
export type Acceptance =
  | { readonly kind: "accepted" }
  /** The hub said that it does not. The message holds no secret and no control character. */
  | { readonly kind: "refused"; readonly message: string }
  /** It was not reached, or said neither; the message says which, and what to do. */
  | { readonly kind: "unknown"; readonly message: string };

/** How it is asked. */
export interface AskOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  /** In milliseconds, default 30000 (30 seconds). */
  readonly timeoutMs?: number;
}

const timeoutMs = 30_000;
const maxReplyBytes = 262_144;
/** How our authorizer begins its reason on clusters where a credential that is revoked is still authenticated. */
const revokedReason = "the credential is revoked: ";

/**
 * Asks a hub once, as the machine itself, for what everybody may read; over TLS that is verified by what the machine trusts. Only a Status
 * counts as a refusal: 401, or 403 for a credential that is revoked. Any other 403 speaks of rights, and so of a credential that is known.
 * Never throws for what a server does.
 */
export async function probeCredential(
  { credentials, ...address }: Trust,
  { clock, userAgent, signal, ...given }: AskOptions,
): Promise<Acceptance> {
  const client = hubClient({
    ...address,
    ...credentials,
    clock,
    userAgent,
    timeoutMs: given.timeoutMs ?? timeoutMs,
    maxReplyBytes,
    retryBudgetMs: 0,
  });
  try {
    return acceptanceIn(await client.raw("GET", "/version", { signal }), address.server);
  } catch (error) {
    if (error instanceof ConnectionError) return { kind: "unknown", message: describeError(error, address.server) };
    throw error;
  } finally {
    client.close();
  }
}

function acceptanceIn({ status, body }: RawReply, server: string): Acceptance {
  const unknown: Acceptance = {
    kind: "unknown",
    message: `${server} answers with status ${status} and says nothing of the credential: check that the hub is ready`,
  };
  if (status >= 200 && status <= 299) return { kind: "accepted" };
  const value = parsedJson(body) as { readonly kind?: unknown } | null | undefined;
  if (value?.kind !== "Status") return unknown;
  if (status === 401) return { kind: "refused", message: "401 Unauthorized" };
  if (status === 404) return { kind: "accepted" };
  if (status !== 403) return unknown;
  const { message } = replyError(status, value);
  const at = message.indexOf(revokedReason);
  return at < 0 ? { kind: "accepted" } : { kind: "refused", message: `403 Forbidden: ${plainText(message.slice(at))}` };
}

/**
 * Proves that the hub accepts the certificate with which a client speaks, before it takes the place of the one in use: a hub that signs
 * with one CA and trusts another would lock the machine out of itself. Closes the client. @throws JoinError bad-certificate
 */
export async function requireAccepted(client: Pick<RemoteClient, "raw" | "close">): Promise<void> {
  try {
    if ((await client.raw("GET", "/version")).status !== 401) return;
    throw new JoinError(
      "bad-certificate",
      "the hub does not accept the certificate that it has just issued (401); the one in use is kept",
    );
  } finally {
    client.close();
  }
}

/** By what one credential is told from another without keeping it: lower-case hexadecimal SHA-256 of its public part, or of the token. */
export function credentialDigest({ clientCertPem, token }: ClientCredentials): string {
  return createHash("sha256")
    .update(clientCertPem ?? token ?? "")
    .digest("hex");
}
