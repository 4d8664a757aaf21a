import { parseClusterInfo, type ParsedClusterInfo } from "../../trust/cluster-info.ts";
import { pinnedCertificates, type CaPin } from "../../trust/pins.ts";
import { pinMismatch, readTwice, type ClusterInfoData, type Judged } from "./cluster-info-read.ts";
import type { DiscoveryContext } from "./discovery-context.ts";
import type { Endpoint } from "./endpoint.ts";
import { JoinError } from "../../credentials/join-error.ts";

/** A hub as its own cluster-info describes it. */
export interface SeenHub {
  readonly server: string;
  /** The CAs by which TLS is verified from now on. */
  readonly caPem: string;
  /** The pin of the CA in proof and pairing words. */
  readonly caPin: CaPin;
  /** `pin`: the CA is the pinned one. `nobody`: the CA is unverified until people compare the pairing words. */
  readonly vouchedBy: "pin" | "nobody";
  /** How far this clock is ahead of the hub's, in milliseconds, where that is known. */
  readonly aheadMs: number | undefined;
}

/**
 * Discovers the CA of a hub without any credential: reads the CA from its cluster-info, the pinned one where there are pins, and verifies
 * that the hub serves with it under the given name. @throws JoinError
 */
export async function discoverByPin(
  endpoint: Endpoint,
  pins: readonly CaPin[],
  context: DiscoveryContext,
): Promise<SeenHub> {
  const { server } = endpoint;
  const { data, aheadMs } = await readTwice(
    {
      server,
      judge: (found) => shownCa(found, pins, endpoint),
      isUnverified: false,
      next: "ask again, or the connection between this machine and the hub is intercepted. Nothing was asked",
    },
    context,
  );
  const { caPem, caPin } = data;
  const vouchedBy = pins.length > 0 ? "pin" : "nobody";
  if (vouchedBy === "pin") context.report({ kind: "verified", server, caPins: [caPin], by: "pin" });
  return { server, caPem, caPin, vouchedBy, aheadMs };
}

type ShownCa = Judged & Pick<SeenHub, "caPem" | "caPin">;

function shownCa(data: ClusterInfoData, pins: readonly CaPin[], endpoint: Endpoint): ShownCa | JoinError {
  const unusable = (why: string): JoinError =>
    new JoinError("bad-cluster-info", `the hub at ${endpoint.shown} gives unusable information: ${why}`);
  const kubeconfig = data?.["kubeconfig"];
  if (typeof kubeconfig !== "string") return unusable("there is no kubeconfig in cluster-info yet");
  const info = parseClusterInfo(kubeconfig);
  if (info.kind === "refused") throw unusable(info.message);
  const fitting = pins.length === 0 ? info.certificates : pinnedCertificates(pins, info.certificates);
  const [first] = fitting;
  if (first === undefined) throw mismatch(info, pins, endpoint);
  const trustedPem = fitting.map(({ pem }) => pem).join("");
  return { kubeconfig, trustedPem, caPem: info.caPem, caPin: first.pin };
}

function mismatch(info: ParsedClusterInfo, wanted: readonly CaPin[], { shown }: Endpoint): JoinError {
  return pinMismatch({ shown, wanted, found: info.certificates.map(({ pin }) => pin), kept: "nothing was asked" });
}
