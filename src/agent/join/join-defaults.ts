import { join } from "node:path";

/** What a join takes where nothing else is said. */
export interface JoinDefaults {
  readonly nodeName: string;
  readonly certDir: string;
  readonly kubeconfig: string;
}

/**
 * The defaults for this machine: the host name in lower case, and a kubelet's own places for root (`uid` 0), a folder under the home
 * of anybody else. @see pkg/kubelet/util nodeutil GetHostname
 */
export function joinDefaults(machine: {
  readonly hostname: string;
  readonly uid: number | undefined;
  readonly home: string;
}): JoinDefaults {
  const nodeName = machine.hostname.trim().toLowerCase();
  if (machine.uid === 0) {
    return { nodeName, certDir: "/var/lib/kubelet/pki", kubeconfig: "/etc/kubernetes/kubelet.conf" };
  }
  const folder = join(machine.home, ".pratique", "agent");
  return { nodeName, certDir: join(folder, "pki"), kubeconfig: join(folder, "kubelet.conf") };
}
