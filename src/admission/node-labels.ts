type Labels = Readonly<Record<string, string>> | undefined;

const kubeletLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
]);
const kubeletDomains: readonly string[] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const restrictedDomain = "node-restriction.kubernetes.io";
const kubernetesDomains: readonly string[] = ["kubernetes.io", "k8s.io"];

/**
 * The labels that differ and that a node may not set, change or remove on itself, sorted: those that are reserved for steering pods
 * to nodes, and those of Kubernetes that kubelets do not have. Source: plugin/pkg/admission/noderestriction, kubelet/pkg/apis.
 */
export function forbiddenNodeLabels(next: Labels, stored: Labels): readonly string[] {
  const keys = new Set([...Object.keys(next ?? {}), ...Object.keys(stored ?? {})]);
  return [...keys].filter((key) => !isSame(key, next, stored) && isForbidden(key)).sort();
}

function isSame(key: string, next: Labels, stored: Labels): boolean {
  const has = next !== undefined && Object.hasOwn(next, key);
  const had = stored !== undefined && Object.hasOwn(stored, key);
  return has === had && (!has || next[key] === stored?.[key]);
}

function isForbidden(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  if (isBelow(domain, restrictedDomain)) return true;
  if (!kubernetesDomains.some((one) => isBelow(domain, one))) return false;
  return !kubeletLabels.has(key) && !kubeletDomains.some((one) => isBelow(domain, one));
}

function isBelow(domain: string, above: string): boolean {
  return domain === above || domain.endsWith(`.${above}`);
}
