import type { RemoteClient } from "../../client/remote.ts";
import { parseClusterInfo, type ParsedClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle, parsePins, pinnedCertificates, PinError, type CaPin } from "../../trust/pins.ts";
import { readClusterInfo, pinMismatch } from "./cluster-info-read.ts";
import type { CallTarget } from "../../credentials/request/connection-failure.ts";
import {
  anonymously,
  clockDifference,
  warnOfSkew,
  retry,
  type DiscoveryContext,
  type Attempt,
} from "./discovery-context.ts";
import type { Endpoint } from "./endpoint.ts";
import { JoinError } from "../../credentials/join-error.ts";

/** A hub as its own cluster-info shows it. */
export interface SeenHub {
  readonly server: string;
  /** What TLS is verified against from now on. */
  readonly caPem: string;
  /** Of the CA that proof and pairing words speak of. */
  readonly caPin: CaPin;
  /** `pin`: the CA is the pinned one. `nobody`: it may be anybody's, until people compare the pairing words. */
  readonly vouchedBy: "pin" | "nobody";
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs: number | undefined;
}

const pollMs = 1000;

/**
 * Finds the CA of a hub without any credential: reads cluster-info from a server that nobody vouches for, takes the CA in it, the
 * pinned one where there are pins, and reads again with TLS verified against that CA and the name that was given.
 * @throws JoinError
 */
export async function discoverByPin(
  endpoint: Endpoint,
  pins: readonly CaPin[],
  context: DiscoveryContext,
): Promise<SeenHub> {
  const target: CallTarget = { server: endpoint.server };
  context.report({ kind: "discovering", server: endpoint.server });
  const first = await anonymously({ server: endpoint.server, insecureSkipTlsVerify: true }, context, (client) =>
    read(client, endpoint, { ...context, target }),
  );
  const { caPem, caPin } = chosenCa(first.info, pins, endpoint);
  const seen = { server: endpoint.server, aheadMs: first.aheadMs, trustedCas: certificatesOfBundle(caPem) };
  const difference = await clockDifference(seen, context);
  warnOfSkew(difference, context.report);
  const { aheadMs } = difference;
  const verified = { ...context, target: { ...target, aheadMs } };
  const second = await anonymously({ server: endpoint.server, caPem }, context, (client) =>
    read(client, endpoint, verified),
  );
  if (second.text !== first.text) {
    throw new JoinError(
      "changed-between-reads",
      "cluster-info was not the same when it was read again over the verified connection: either it was changed just now, then ask again, or the connection between this machine and the hub is intercepted. Nothing was asked",
    );
  }
  const vouchedBy = pins.length > 0 ? "pin" : "nobody";
  if (vouchedBy === "pin") context.report({ kind: "verified", server: endpoint.server, caPins: [caPin], by: "pin" });
  return { server: endpoint.server, caPem: first.info.caPem, caPin, vouchedBy, aheadMs };
}

/** The pins that a person typed. @throws JoinError bad-pin-format */
export function readCaPins(texts: readonly string[]): readonly CaPin[] {
  try {
    return parsePins(texts);
  } catch (error) {
    if (error instanceof PinError) throw new JoinError("bad-pin-format", error.message, { cause: error });
    throw error;
  }
}

interface Read {
  readonly text: string;
  readonly info: ParsedClusterInfo;
  readonly aheadMs: number | undefined;
}

async function read(
  client: RemoteClient,
  endpoint: Endpoint,
  context: DiscoveryContext & { readonly target: CallTarget },
): Promise<Read> {
  return retry({ ...context, everyMs: pollMs }, async (): Promise<Attempt<Read>> => {
    const found = await readClusterInfo(client, context);
    if (found.kind !== "read") return { kind: "again", error: found.error };
    const text = found.data?.["kubeconfig"];
    const unusable = (why: string): JoinError =>
      new JoinError("bad-cluster-info", `the hub at ${endpoint.shown} gives unusable information: ${why}`);
    if (typeof text !== "string")
      return { kind: "again", error: unusable("there is no kubeconfig in cluster-info yet") };
    const info = parseClusterInfo(text);
    if (info.kind === "refused") throw unusable(info.message);
    return { kind: "done", value: { text, info, aheadMs: found.aheadMs } };
  });
}

function chosenCa(
  info: ParsedClusterInfo,
  pins: readonly CaPin[],
  endpoint: Endpoint,
): { readonly caPem: string; readonly caPin: CaPin } {
  const fitting = pins.length === 0 ? info.certificates : pinnedCertificates(pins, info.certificates);
  const [first] = fitting;
  if (first === undefined) {
    const found = info.certificates.map((certificate) => certificate.pin);
    throw pinMismatch({ shown: endpoint.shown, wanted: pins, found, kept: "nothing was asked" });
  }
  return { caPem: fitting.map((certificate) => certificate.pem).join(""), caPin: first.pin };
}
