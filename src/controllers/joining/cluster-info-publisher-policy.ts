import { clusterInfoKubeconfig, parseClusterInfo } from "../../trust/cluster-info.ts";
import type { ClusterInfo } from "../../trust/cluster-info.ts";
import { certificatesOfBundle } from "../../trust/pins.ts";

/**
 * The kubeconfig that cluster-info must hold from now on, or undefined when the present one already names this server and exactly
 * these CA certificates: its bytes are what tokens have signed, so they change only when what they say is wrong.
 */
export function neededKubeconfig(present: string | undefined, wanted: ClusterInfo): string | undefined {
  const parsed = present === undefined ? undefined : parseClusterInfo(present);
  const right =
    parsed?.kind === "parsed" &&
    parsed.server === wanted.server &&
    fingerprintsOf(parsed.caPem) === fingerprintsOf(wanted.caPem);
  return right ? undefined : clusterInfoKubeconfig(wanted);
}

function fingerprintsOf(caPem: string): string {
  return certificatesOfBundle(caPem)
    .map((certificate) => certificate.pem)
    .toSorted()
    .join("");
}
