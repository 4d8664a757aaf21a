import { randomBytes } from "node:crypto";
import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient, RemoteOptions } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import type { PinnableCertificate } from "../../trust/pins.ts";
import { signedTimePath, verifiedTime } from "../../trust/signed-time.ts";
import { skewSentence, tolerableSkewMs } from "../../host/clock-skew.ts";
import type { JoinReport } from "../join/join-event.ts";
import { hubClient } from "../../host/hub-client.ts";
import type { KubeconfigAccess } from "../../client/kubeconfig-access.ts";
import { JoinError, stopIfAborted } from "../../credentials/join-error.ts";

/** The dependencies of every discovery method; times in milliseconds. */
export interface DiscoveryContext {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly report: JoinReport;
  readonly signal: AbortSignal | undefined;
  readonly userAgent: string;
}

/** In milliseconds: the timeout of a whole discovery, within these. */
const requestTimeoutMs = { min: 1000, max: 10_000 } as const;
const maxReplyBytes = 1_048_576;
const everyMs = 1000;

/** How far this clock is ahead of the hub's, in milliseconds, where that is known, and whether the hub's CA has signed it. */
export interface ClockDifference {
  readonly aheadMs: number | undefined;
  readonly signed: boolean;
}

/**
 * Where an unverified reply makes this clock look wrong, requests the hub's time with a signature by one of the trusted CAs, since TLS
 * cannot be verified with a wrong clock. A hub that signs no time leaves the difference unverified.
 */
export async function clockDifference(
  seen: {
    readonly server: string;
    readonly aheadMs: number | undefined;
    readonly trustedCas: readonly PinnableCertificate[];
  },
  context: DiscoveryContext,
): Promise<ClockDifference> {
  const { server, aheadMs, trustedCas } = seen;
  if (!isSkew(aheadMs)) return { aheadMs, signed: false };
  const nonce = randomBytes(24).toString("base64url");
  const time = await withHub({ server, insecureSkipTlsVerify: true }, context, async (client) => {
    try {
      const { status, body } = await client.raw("GET", `${signedTimePath}?nonce=${nonce}`, { signal: context.signal });
      return status === 200 ? verifiedTime(JSON.parse(body.toString("utf8")), nonce, trustedCas) : undefined;
    } catch (error) {
      if (error instanceof ConnectionError || error instanceof SyntaxError) return undefined;
      throw error;
    }
  });
  return time === undefined ? { aheadMs, signed: false } : { aheadMs: context.clock.now() - time, signed: true };
}

/** Reports when the clocks differ by more than 30 seconds. */
export function warnOfSkew({ aheadMs, signed }: ClockDifference, report: JoinReport): void {
  if (!isSkew(aheadMs)) return;
  const by = signed ? "as the hub's CA has signed" : "as the hub says, without a signature";
  const message = `${skewSentence(aheadMs)}, ${by}: certificates may seem expired or not yet valid`;
  report({ kind: "clock-differs", aheadMs, message });
}

function isSkew(aheadMs: number | undefined): aheadMs is number {
  return aheadMs !== undefined && Math.abs(aheadMs) > tolerableSkewMs;
}

/** Runs with a client that is closed afterwards, and has no credential but those of `trust`. Replies have at most 1 MiB. */
export async function withHub<T>(
  trust: Omit<RemoteOptions, "userAgent" | "timeoutMs" | "clock">,
  { userAgent, timeoutMs, clock }: DiscoveryContext,
  run: (client: RemoteClient) => Promise<T>,
): Promise<T> {
  const requestMs = Math.min(requestTimeoutMs.max, Math.max(requestTimeoutMs.min, timeoutMs));
  const client = hubClient({ ...trust, userAgent, timeoutMs: requestMs, clock, retryBudgetMs: 0, maxReplyBytes });
  try {
    return await run(client);
  } finally {
    client.close();
  }
}

/**
 * Retries each second, until the next try would come too late: then the last error is thrown. Each new one is reported once. @throws
 * JoinError
 */
export async function retry<T>(
  { clock, timeoutMs, report, signal }: Omit<DiscoveryContext, "userAgent">,
  attempt: () => Promise<T | JoinError>,
): Promise<T> {
  const begun = clock.now();
  let reported: string | undefined;
  for (;;) {
    const outcome = await attempt();
    if (!(outcome instanceof JoinError)) return outcome;
    const { code, message } = outcome;
    if (clock.now() - begun + everyMs > timeoutMs) throw outcome;
    if (message !== reported) report({ kind: "retrying", code, message, forMs: timeoutMs });
    reported = message;
    await clock.sleep(everyMs, signal);
    stopIfAborted(signal);
  }
}

/** The client's identity; a program of a kubeconfig may supply it. */
export type HubIdentity = Pick<KubeconfigAccess, "credentials" | "refused" | "impersonate">;

/** A trusted hub, and the credentials for it, which are secret. */
export interface HubAccess {
  /** An `https://` URL. */
  readonly server: string;
  /** The CA certificates of the hub; its serving and issued certificates must come from one of them. */
  readonly caPem: string;
  /** The proxy, where a kubeconfig names one; it may contain a password. */
  readonly proxyUrl?: string | undefined;
  /** The name in the hub's certificate, where it differs from the host of the URL. */
  readonly tlsServerName?: string | undefined;
  /** Never empty: anonymous machines may not request certificates. */
  readonly identity: HubIdentity;
  /** The description of the credentials, for messages: `the token abcdef`. */
  readonly credentialName: string;
  readonly learnedFrom?: "cluster-info" | undefined;
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs?: number | undefined;
}
