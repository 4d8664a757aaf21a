import { parseClusterInfo, verifyClusterInfo, type VerifiedClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle, type CaPin } from "../../trust/pins.ts";
import { formatToken, parseToken, type BootstrapToken } from "../../trust/token.ts";
import { pinMismatch, readCaPins, readTwice, type ClusterInfoData, type Judged } from "./cluster-info-read.ts";
import type { DiscoveryContext, HubAccess } from "./discovery-context.ts";
import { parseEndpoint, type Endpoint } from "./endpoint.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { Discovery } from "../join/join-options.ts";

/** The input of a token discovery, with only its format validated. The token is secret. */
export interface TokenDiscovery {
  readonly endpoint: Endpoint;
  readonly token: BootstrapToken;
  readonly pins: readonly CaPin[] | "unsafe-skip";
}

/** @throws JoinError bad-endpoint, bad-token-format, bad-pin-format, missing-pin */
export function tokenDiscovery(input: Extract<Discovery, { readonly kind: "token" }>): TokenDiscovery {
  const endpoint = parseEndpoint(input.endpoint);
  const token = requireJoinToken(input.token);
  const pins = readCaPins(input.pins);
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
 * Discovers the hub as kubeadm does: trusts cluster-info by the token's signature and the pin, and verifies that the hub serves with the
 * pinned CA under the given name. The token leaves this function only together with a trusted hub. @throws JoinError
 */
export async function discoverByToken(wanted: TokenDiscovery, context: DiscoveryContext): Promise<HubAccess> {
  const { endpoint, token, pins } = wanted;
  const isUnverified = pins === "unsafe-skip";
  const { data, aheadMs } = await readTwice(
    {
      server: endpoint.server,
      judge: (found) => verified(found, wanted),
      isUnverified,
      next: "join again, or the connection between this machine and the hub is intercepted. Nothing secret was sent",
    },
    context,
  );
  // The second read comes from the pinned hub itself, so the whole bundle is trusted, a CA under rotation included.
  const { server, caPem } = data;
  const caPins = certificatesOfBundle(caPem).map((certificate) => certificate.pin);
  context.report({ kind: "verified", server, caPins, by: isUnverified ? "token" : "pin" });
  return {
    server,
    caPem,
    identity: { credentials: () => ({ token: formatToken(token) }) },
    credentialName: `the token ${token.id}`,
    ...(server === endpoint.server ? {} : { learnedFrom: "cluster-info" }),
    aheadMs,
  };
}

/** The verified cluster-info, or a temporary reason. @throws JoinError for what another read would not change */
function verified(data: ClusterInfoData, wanted: TokenDiscovery): (VerifiedClusterInfo & Judged) | JoinError {
  const { token, pins, endpoint } = wanted;
  const verdict = verifyClusterInfo({ data, token, pins });
  if (verdict.kind === "verified") {
    return { ...verdict, trustedPem: pins === "unsafe-skip" ? verdict.caPem : verdict.pinnedCaPem };
  }
  const { id } = token;
  const hub = `the hub at ${endpoint.shown}`;
  switch (verdict.code) {
    case "no-signature":
      return new JoinError(
        "token-unknown",
        `${hub} does not know the token ${id}: it is mistyped, expired or deleted, or may not be used for signing. Make a new one on the hub with \`pratique token create --print-join-command\``,
      );
    case "no-kubeconfig":
      return new JoinError("bad-cluster-info", `${verdict.message}: ${hub} has not finished its start`);
    case "bad-signature":
      throw new JoinError(
        "bad-signature",
        `${hub} knows a token ${id} but its signature does not fit: the secret part of the token is mistyped, or cluster-info was changed on its way here. Nothing secret was sent; compare the token with the one on the hub`,
      );
    case "pin-mismatch":
      throw mismatch(data, wanted);
    default:
      throw new JoinError("bad-cluster-info", `${hub} gives unusable information: ${verdict.message}`);
  }
}

function mismatch(data: ClusterInfoData, { pins, endpoint }: TokenDiscovery): JoinError {
  const parsed = parseClusterInfo(String(data?.["kubeconfig"]));
  const found = parsed.kind === "parsed" ? parsed.certificates.map((certificate) => certificate.pin) : [];
  const wanted = pins === "unsafe-skip" ? [] : pins;
  return pinMismatch({ shown: endpoint.shown, wanted, found, kept: "nothing secret was sent" });
}
