import { processWorld } from "./process-world.ts";
import type { KubeconfigWorld } from "../client/kubeconfig-access.ts";
import type { Clock } from "../apimachinery/clock.ts";

/** What the kubeconfigs that the hub reads may use of its process: as kube-apiserver's, all but a terminal. */
export function hubWorld({ clock }: { readonly clock: Clock }): KubeconfigWorld {
  return processWorld({ clock, noTerminal: () => "the hub runs as a service" });
}
