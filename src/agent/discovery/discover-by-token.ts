import type { RemoteClient } from "../../client/remote.ts";
import { parseClusterInfo, verifyClusterInfo, type VerifiedClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle, parsePins, PinError, type CaPin } from "../../trust/pins.ts";
import { formatToken, parseToken, type BootstrapToken } from "../../trust/token.ts";
import { readClusterInfo, pinMismatch } from "./cluster-info-read.ts";
import type { CallTarget } from "../../credentials/request/connection-failure.ts";
import {
  anonymously,
  clockDifference,
  warnOfSkew,
  retry,
  type DiscoveryContext,
  type HubAccess,
  type Attempt,
} from "./discovery-context.ts";
import { parseEndpoint, type Endpoint } from "./endpoint.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { Discovery } from "../join/join-options.ts";

/** What a person typed for a token discovery, checked for its form alone. The token is secret. */
export interface TokenDiscovery {
  readonly endpoint: Endpoint;
  readonly token: BootstrapToken;
  readonly pins: readonly CaPin[] | "unsafe-skip";
}

const pollMs = 1000;

/** @throws JoinError bad-endpoint, bad-token-format, bad-pin-format, missing-pin */
export function tokenDiscovery(input: Extract<Discovery, { readonly kind: "token" }>): TokenDiscovery {
  const endpoint = parseEndpoint(input.endpoint);
  const token = requireJoinToken(input.token);
  const pins = readPins(input.pins);
  if (input.unsafeSkipCaVerification === true) {
    if (pins.length > 0) {
      throw new JoinError(
        "bad-pin-format",
        "a CA pin and the wish to skip the verification of the CA contradict each other; give one of the two",
      );
    }
    return { endpoint, token, pins: "unsafe-skip" };
  }
  if (pins.length === 0) {
    throw new JoinError(
      "missing-pin",
      "the hub's CA is not pinned: give --discovery-token-ca-cert-hash sha256:…, which the hub prints at its start and `pratique token create --print-join-command` shows",
    );
  }
  return { endpoint, token, pins };
}

/** @throws JoinError bad-token-format, without the text */
export function requireJoinToken(text: string): BootstrapToken {
  const token = parseToken(text);
  if (token === undefined) {
    throw new JoinError(
      "bad-token-format",
      "the token is not of the form abcdef.0123456789abcdef: 6 characters, a dot, and 16 characters, each of a-z and 0-9",
    );
  }
  return token;
}

/**
 * Finds the hub as kubeadm does: reads cluster-info from a server that nobody vouches for, believes it by the token's signature
 * and the pin, then reads it again with TLS verified against the pinned CA and the name that was given, and wants the same bytes.
 * Both reads are anonymous; the token leaves this function only together with a hub that is trusted. @throws JoinError
 */
export async function discoverByToken(wanted: TokenDiscovery, context: DiscoveryContext): Promise<HubAccess> {
  const { endpoint, token, pins } = wanted;
  const target: CallTarget = { server: endpoint.server };
  context.report({ kind: "discovering", server: endpoint.server });
  const first = await anonymously({ server: endpoint.server, insecureSkipTlsVerify: true }, context, (client) =>
    firstRead(client, wanted, { ...context, target }),
  );
  const trustedCas = certificatesOfBundle(pins === "unsafe-skip" ? first.info.caPem : first.info.pinnedCaPem);
  const difference = await clockDifference(
    { server: endpoint.server, aheadMs: first.aheadMs, trustedCas: trustedCas },
    context,
  );
  warnOfSkew(difference, context.report);
  const { aheadMs } = difference;
  if (pins !== "unsafe-skip") {
    const trust = { server: endpoint.server, caPem: first.info.pinnedCaPem };
    const pinned = { ...target, aheadMs };
    await anonymously(trust, context, (client) => secondRead(client, first.info, { ...context, target: pinned }));
  }
  const { server, caPem } = first.info;
  // After the second read the whole bundle comes from the pinned hub itself, so a CA that is being replaced is trusted as well.
  const caPins = certificatesOfBundle(caPem).map((certificate) => certificate.pin);
  context.report({ kind: "verified", server, caPins, by: pins === "unsafe-skip" ? "token" : "pin" });
  return {
    server,
    caPem,
    identity: { credentials: () => ({ token: formatToken(token) }) },
    credentialName: `the token ${token.id}`,
    ...(server === endpoint.server ? {} : { learnedFrom: "cluster-info" }),
    aheadMs,
  };
}

type Reading = DiscoveryContext & { readonly target: CallTarget };

interface FirstRead {
  readonly info: VerifiedClusterInfo;
  readonly aheadMs: number | undefined;
}

async function firstRead(client: RemoteClient, wanted: TokenDiscovery, reading: Reading): Promise<FirstRead> {
  return retry({ ...reading, everyMs: pollMs }, async (): Promise<Attempt<FirstRead>> => {
    const read = await readClusterInfo(client, reading);
    if (read.kind !== "read") return { kind: "again", error: read.error };
    const info = verified(read.data, wanted);
    return info instanceof JoinError
      ? { kind: "again", error: info }
      : { kind: "done", value: { info, aheadMs: read.aheadMs } };
  });
}

async function secondRead(client: RemoteClient, first: VerifiedClusterInfo, reading: Reading): Promise<void> {
  const data = await retry({ ...reading, everyMs: pollMs }, async () => {
    const read = await readClusterInfo(client, reading);
    return read.kind === "read" ? { kind: "done", value: read.data } : { kind: "again", error: read.error };
  });
  if (data === undefined || !Object.hasOwn(data, "kubeconfig") || data["kubeconfig"] !== first.kubeconfig) {
    throw new JoinError(
      "changed-between-reads",
      "cluster-info was not the same when it was read again over the verified connection: either it was changed just now, then join again, or the connection between this machine and the hub is intercepted. Nothing secret was sent",
    );
  }
}

/** The verified cluster-info, or a reason that may pass. @throws JoinError for what another read would not change */
function verified(
  data: Readonly<Record<string, unknown>> | undefined,
  wanted: TokenDiscovery,
): VerifiedClusterInfo | JoinError {
  const { token, pins, endpoint } = wanted;
  const verdict = verifyClusterInfo({ data, token, pins });
  if (verdict.kind === "verified") return verdict;
  switch (verdict.code) {
    case "no-signature":
      return new JoinError(
        "token-unknown",
        `the hub at ${endpoint.shown} does not know the token ${token.id}: it is mistyped, expired or deleted, or may not be used for signing. Make a new one on the hub with \`pratique token create --print-join-command\``,
      );
    case "no-kubeconfig":
      return new JoinError(
        "bad-cluster-info",
        `${verdict.message}: the hub at ${endpoint.shown} has not finished its start`,
      );
    case "bad-signature":
      throw new JoinError(
        "bad-signature",
        `the hub at ${endpoint.shown} knows a token ${token.id} but its signature does not fit: the secret part of the token is mistyped, or cluster-info was changed on its way here. Nothing secret was sent; compare the token with the one on the hub`,
      );
    case "pin-mismatch":
      throw mismatch(data, wanted);
    case "unparseable":
    case "no-cluster":
    case "bad-server":
    case "bad-ca":
      throw new JoinError(
        "bad-cluster-info",
        `the hub at ${endpoint.shown} gives unusable information: ${verdict.message}`,
      );
  }
}

function mismatch(data: Readonly<Record<string, unknown>> | undefined, { pins, endpoint }: TokenDiscovery): JoinError {
  const parsed = parseClusterInfo(String(data?.["kubeconfig"]));
  const found = parsed.kind === "parsed" ? parsed.certificates.map((certificate) => certificate.pin) : [];
  const wanted = pins === "unsafe-skip" ? [] : pins;
  return pinMismatch({ shown: endpoint.shown, wanted, found, kept: "nothing secret was sent" });
}

function readPins(texts: readonly string[]): readonly CaPin[] {
  try {
    return parsePins(texts);
  } catch (error) {
    if (error instanceof PinError) throw new JoinError("bad-pin-format", error.message, { cause: error });
    throw error;
  }
}
