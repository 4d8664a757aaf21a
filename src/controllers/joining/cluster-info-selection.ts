import { clusterInfoKey } from "../../trust/cluster-info.ts";
import { configMaps } from "../kinds.ts";
import type { Selection } from "../shared-informers.ts";

/** The one ConfigMap `kube-public/cluster-info`. */
export const clusterInfoSelection: Selection = {
  resource: configMaps,
  namespace: clusterInfoKey.namespace,
  fieldSelector: `metadata.name=${clusterInfoKey.name}`,
};
