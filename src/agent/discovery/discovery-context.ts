import { randomBytes } from "node:crypto";
import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient, RemoteOptions } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { PinnableCertificate } from "../../trust/pins.ts";
import { signedTimePath, verifiedTime } from "../../trust/signed-time.ts";
import { skewSentence, tolerableSkewMs } from "../../host/clock-skew.ts";
import type { JoinReport } from "../join/join-event.ts";
import { hubClient } from "../../host/hub-client.ts";

/** What discovery needs besides its own kind of knowledge; times in milliseconds. */
export interface DiscoveryContext {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly report: JoinReport;
  readonly signal: AbortSignal | undefined;
  readonly userAgent: string;
}

const requestTimeoutMs = { min: 1000, max: 10_000 } as const;
const maxReplyBytes = 1_048_576;

/** How long one request of a discovery may take, in milliseconds: all of its time, within 1 to 10 seconds. */
export function discoveryRequestMs(timeoutMs: number): number {
  return Math.min(requestTimeoutMs.max, Math.max(requestTimeoutMs.min, timeoutMs));
}

/** How far this clock is ahead of the hub's, in milliseconds, where that is known, and whether the hub's CA has signed it. */
export interface ClockDifference {
  readonly aheadMs: number | undefined;
  readonly signed: boolean;
}

/**
 * Where an unverified reply lets this clock look wrong, asks the hub for the time with a signature by one of the CAs that are believed
 * already, since TLS cannot be verified with a wrong clock. A hub that signs no time leaves the difference as it was seen.
 */
export async function clockDifference(
  seen: {
    readonly server: string;
    readonly aheadMs: number | undefined;
    readonly trustedCas: readonly PinnableCertificate[];
  },
  context: DiscoveryContext,
): Promise<ClockDifference> {
  const { server, aheadMs } = seen;
  if (!isSkew(aheadMs)) return { aheadMs, signed: false };
  const nonce = randomBytes(24).toString("base64url");
  const time = await anonymously({ server, insecureSkipTlsVerify: true }, context, (client) =>
    askedTime(client, nonce, { ...context, trustedCas: seen.trustedCas }),
  );
  return time === undefined ? { aheadMs, signed: false } : { aheadMs: context.clock.now() - time, signed: true };
}

async function askedTime(
  client: RemoteClient,
  nonce: string,
  { signal, trustedCas }: Pick<DiscoveryContext, "signal"> & { readonly trustedCas: readonly PinnableCertificate[] },
): Promise<number | undefined> {
  try {
    const path = `${signedTimePath}?nonce=${nonce}`;
    const { status, body } = await client.raw("GET", path, signal === undefined ? {} : { signal });
    return status === 200 ? verifiedTime(JSON.parse(body.toString("utf8")), nonce, trustedCas) : undefined;
  } catch (error) {
    if (error instanceof ConnectionError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Tells when the clocks differ by more than 30 seconds. */
export function warnOfSkew({ aheadMs, signed }: ClockDifference, report: JoinReport): void {
  if (!isSkew(aheadMs)) return;
  const by = signed ? "as the hub's CA has signed" : "as the hub says, without a signature";
  const message = `${skewSentence(aheadMs)}, ${by}: certificates may seem expired or not yet valid`;
  report({ kind: "clock-differs", aheadMs, message });
}

function isSkew(aheadMs: number | undefined): aheadMs is number {
  return aheadMs !== undefined && Math.abs(aheadMs) > tolerableSkewMs;
}

/** Runs with a client that holds no credential of any kind. */
export async function anonymously<T>(
  trust: Pick<RemoteOptions, "server" | "caPem" | "insecureSkipTlsVerify" | "tlsServerName">,
  context: DiscoveryContext,
  run: (client: RemoteClient) => Promise<T>,
): Promise<T> {
  const client = hubClient({
    ...trust,
    userAgent: context.userAgent,
    timeoutMs: discoveryRequestMs(context.timeoutMs),
    clock: context.clock,
    retryBudgetMs: 0,
    maxReplyBytes,
  });
  try {
    return await run(client);
  } finally {
    client.close();
  }
}
