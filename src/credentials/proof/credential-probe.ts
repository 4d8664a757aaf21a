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

/** Whether a hub accepts a credential. */
export type Acceptance =
  | { readonly kind: "accepted" }
  /** The hub rejected it. The message contains no secret and no control character. */
  | { readonly kind: "refused"; readonly message: string }
  /** It was unreachable, or answered neither; the message has the cause and the next step. */
  | { readonly kind: "unknown"; readonly message: string };

/** The parameters of a probe. */
export interface AskOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  readonly signal: AbortSignal;
  /** In milliseconds, default 30000 (30 seconds). */
  readonly timeoutMs?: number;
}

const timeoutMs = 30_000;
const maxReplyBytes = 262_144;
/** The prefix of this project's authorizer reason on clusters where a revoked credential is still authenticated. */
const revokedReason = "the credential is revoked: ";

/**
 * Probes a hub once, as the machine itself, with a request that every subject may make; over TLS that is verified by the machine's
 * trusted CAs. Only a Status counts as a rejection: 401, or 403 for a revoked credential. Any other 403 concerns rights, and so a known
 * credential. Never throws for what a server does.
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
 * Verifies that the hub accepts a client's certificate before it replaces the one in use: a hub that signs with one CA and trusts another
 * would lock the machine out. Closes the client. @throws JoinError bad-certificate
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

/** Identifies a credential without storing it: lower-case hexadecimal SHA-256 of its public part, or of the token. */
export function credentialDigest({ clientCertPem, token }: ClientCredentials): string {
  return createHash("sha256")
    .update(clientCertPem ?? token ?? "")
    .digest("hex");
}
