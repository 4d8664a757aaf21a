import { forbidden, notFound, type StatusError } from "../apimachinery/status.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { nodeNameOf, nodeUserPrefix } from "../apimachinery/user.ts";
import { arrayAt, fieldListAt, isSameJson, isTrueAt, stringAt, stringsAt, valueAt } from "../apis/json-fields.ts";
import { apiReferenceOf, mirrorPodAnnotation, podAudiences } from "../apis/pod-references.ts";
import type { Access, AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface NodeRestrictionOptions {
  /** Sees every acknowledged write. */
  readonly podOf: (namespace: string, name: string) => ApiObject | undefined;
  /** Sees every acknowledged write. */
  readonly nodeOf: (name: string) => ApiObject | undefined;
  /** Whether the authorizers allow the request. */
  readonly may: (access: Access) => Promise<{ readonly allowed: boolean }>;
  /** The common name in a PEM certificate request. @throws when it cannot be parsed */
  readonly commonNameOf: (pem: Uint8Array) => string;
}

/** Why the node may not do this, or undefined. @throws StatusError for a rejection with its own message. */
type Rule = (
  node: string,
  request: AdmissionRequest,
  options: NodeRestrictionOptions,
) => string | undefined | Promise<string | undefined>;

/**
 * Limits the writes of nodes to their own objects. Authorization sees only names; this plugin sees the objects. Source: kubernetes
 * plugin/pkg/admission/noderestriction.
 */
export function nodeRestriction(options: NodeRestrictionOptions): AdmissionPlugin {
  return {
    name: "NodeRestriction",
    mutate: async (request) => {
      const node = nodeNameOf(request.user);
      if (node === undefined) return undefined;
      const why =
        node === ""
          ? `could not determine node from user ${JSON.stringify(request.user.username)}`
          : await rules.get(`${request.resource.plural}.${request.resource.group}`)?.(node, request, options);
      if (why !== undefined) throw refusal(request, why);
      return undefined;
    },
  };
}

function refusal({ resource, name }: AdmissionRequest, why: string): StatusError {
  return forbidden(resource, name, why);
}

const quoted = (text: string): string => JSON.stringify(text);

const pods: Rule = (node, request, options) => {
  const { subresource, operation, object, oldObject } = request;
  if (subresource === "status") return podStatus(node, request);
  if (subresource === "eviction") {
    return nodeOfPod(request, options) === node
      ? undefined
      : `node ${node} can only evict pods with spec.nodeName set to itself`;
  }
  if (subresource !== "") {
    return `unexpected pod subresource ${quoted(subresource)}, only 'status' and 'eviction' are allowed`;
  }
  if (operation === "CREATE") return newPod(node, object, options);
  if (operation === "DELETE") {
    const bound = oldObject === undefined ? nodeOfPod(request, options) : stringAt(oldObject, "spec", "nodeName");
    return bound === node ? undefined : `node ${quoted(node)} can only delete pods with spec.nodeName set to itself`;
  }
  return `unexpected operation ${quoted(operation)}, node ${quoted(node)} can only create and delete mirror pods`;
};

function nodeOfPod({ resource, namespace, name }: AdmissionRequest, { podOf }: NodeRestrictionOptions): string {
  const pod = podOf(namespace, name);
  if (pod === undefined) throw notFound(resource, name);
  return stringAt(pod, "spec", "nodeName");
}

function podStatus(node: string, { operation, object, oldObject }: AdmissionRequest): string | undefined {
  if (operation !== "UPDATE") return `unexpected operation ${quoted(operation)}`;
  if (stringAt(oldObject, "spec", "nodeName") !== node) {
    return `node ${quoted(node)} can only update pod status for pods with spec.nodeName set to itself`;
  }
  const isSame = (...path: readonly string[]): boolean =>
    isSameJson(valueAt(object, ...path), valueAt(oldObject, ...path));
  if (!isSame("metadata", "labels")) return `node ${quoted(node)} cannot update labels through pod status`;
  if (!isSame("status", "resourceClaimStatuses")) {
    return `node ${quoted(node)} cannot update resource claim statues`;
  }
  if (!isSame("status", "extendedResourceClaimStatus")) {
    return `node ${quoted(node)} cannot update extended resource claim status`;
  }
  return undefined;
}

/** A node may create only its own mirror pods, which may reference no other API objects. */
function newPod(node: string, pod: ApiObject | undefined, options: NodeRestrictionOptions): string | undefined {
  const who = `node ${quoted(node)}`;
  if (!Object.hasOwn(pod?.metadata.annotations ?? {}, mirrorPodAnnotation)) {
    return `pod does not have ${quoted(mirrorPodAnnotation)} annotation, ${who} can only create mirror pods`;
  }
  if (stringAt(pod, "spec", "nodeName") !== node) return `${who} can only create pods with spec.nodeName set to itself`;
  const owner = ownerProblem(node, pod, options);
  if (owner !== undefined) return owner;
  const referred = apiReferenceOf(pod);
  return referred === undefined ? undefined : `${who} can not create pods that reference ${referred}`;
}

function ownerProblem(node: string, pod: unknown, { nodeOf }: NodeRestrictionOptions): string | undefined {
  const who = `node ${quoted(node)}`;
  const owners = fieldListAt(pod, "metadata", "ownerReferences");
  const [owner] = owners;
  if (owners.length > 1) return `${who} can only create pods with a single owner reference set to itself`;
  const isNode =
    stringAt(owner, "apiVersion") === "v1" && stringAt(owner, "kind") === "Node" && stringAt(owner, "name") === node;
  if (!isNode) return `${who} can only create pods with an owner reference set to itself`;
  if (!isTrueAt(owner, "controller")) {
    return `${who} can only create pods with a controller owner reference set to itself`;
  }
  if (isTrueAt(owner, "blockOwnerDeletion")) {
    return `${who} must not set blockOwnerDeletion on an owner reference`;
  }
  const known = nodeOf(node);
  if (known === undefined) throw notFound({ group: "", plural: "nodes" }, node);
  const uid = known.metadata.uid ?? "";
  const given = stringAt(owner, "uid");
  return given === uid ? undefined : `node ${node} UID mismatch: expected ${given} got ${uid}`;
}

const nodes: Rule = (node, { name, operation, object, oldObject }) => {
  if (name !== node) return `node ${quoted(node)} is not allowed to modify node ${quoted(name)}`;
  if (operation === "DELETE") return undefined;
  const labels = forbiddenNodeLabels(object?.metadata.labels, oldObject?.metadata.labels).join(", ");
  const change = operation === "CREATE" ? "set the following labels" : "modify labels";
  // As in Kubernetes, the message for a change of labels has no node name.
  const subject = operation === "CREATE" ? `node ${quoted(node)} ` : "";
  const why = operation === "CREATE" ? newNodeProblem(object) : changedNodeProblem(object, oldObject);
  if (why !== undefined) return `node ${quoted(node)} is not allowed to ${why}`;
  return labels === "" ? undefined : `${subject}is not allowed to ${change}: ${labels}`;
};

function newNodeProblem(object: unknown): string | undefined {
  const source = valueAt(object, "spec", "configSource") ?? undefined;
  return source === undefined ? undefined : "create pods with a non-nil configSource";
}

function changedNodeProblem(next: unknown, stored: unknown): string | undefined {
  const source = valueAt(next, "spec", "configSource") ?? undefined;
  if (source !== undefined && !isSameJson(source, valueAt(stored, "spec", "configSource"))) {
    return "update configSource to a new non-nil configSource";
  }
  const isSame = (...path: readonly string[]): boolean => isSameJson(arrayAt(next, ...path), arrayAt(stored, ...path));
  if (!isSame("spec", "taints")) return "modify taints";
  return isSame("metadata", "ownerReferences") ? undefined : "modify ownerReferences";
}

/** A token is issued for a pod that runs on the node, and for an account that a volume of that pod requests. */
const serviceAccounts: Rule = async (node, request, options) => {
  if (request.operation !== "CREATE" || request.subresource !== "token") return undefined;
  const { namespace, object } = request;
  const bound = valueAt(object, "spec", "boundObjectRef");
  const name = stringAt(bound, "name");
  if (stringAt(bound, "apiVersion") !== "v1" || stringAt(bound, "kind") !== "Pod" || name === "") {
    return "node requested token not bound to a pod";
  }
  const uid = stringAt(bound, "uid");
  if (uid === "") return "node requested token with a pod binding without a uid";
  const pod = options.podOf(namespace, name);
  if (pod === undefined) throw notFound({ group: "", plural: "pods" }, name);
  if (uid !== pod.metadata.uid) {
    return `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  }
  if (stringAt(pod, "spec", "nodeName") !== node)
    return "node requested token bound to a pod scheduled on a different node";
  return audienceProblem(request, pod, options);
};

async function audienceProblem(
  { user, namespace, name, object }: AdmissionRequest,
  pod: ApiObject,
  { may }: NodeRestrictionOptions,
): Promise<string | undefined> {
  const audiences = stringsAt(object, "spec", "audiences");
  if (audiences.length > 1) return "node may only request 0 or 1 audiences";
  const audience = audiences[0] ?? "";
  if (podAudiences(pod).has(audience)) return undefined;
  const verb = "request-serviceaccounts-token-audience";
  const asked = { user, verb, group: "", version: "v1", resource: audience, subresource: "", namespace, name };
  if ((await may(asked)).allowed) return undefined;
  return `audience ${quoted(audience)} not found in pod spec volume, ${user.username} is not authorized to request tokens for this audience`;
}

const leaseNamespace = "kube-node-lease";

const leases: Rule = (node, { namespace, name }) => {
  if (namespace !== leaseNamespace) return `can only access leases in the ${quoted(leaseNamespace)} system namespace`;
  return name === node ? undefined : "can only access node lease with the same name as the requesting node";
};

const csiNodes: Rule = (node, { name }) =>
  name === node ? undefined : "can only access CSINode with the same name as the requesting node";

const nodeSigners: readonly string[] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

const certificateRequests: Rule = (node, { operation, object, subresource }, { commonNameOf }) => {
  if (operation !== "CREATE" || subresource !== "") return undefined;
  if (!nodeSigners.includes(stringAt(object, "spec", "signerName"))) return undefined;
  const wanted = `${nodeUserPrefix}${node}`;
  let commonName: string;
  try {
    commonName = commonNameOf(Buffer.from(stringAt(object, "spec", "request"), "base64"));
  } catch {
    return "unable to parse csr: not a request for a certificate in PEM";
  }
  return commonName === wanted ? undefined : `can only create a node CSR with CN=${wanted}`;
};

/** By `<resource>.<group>`. For all other resources the authorization of the node decides. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ["pods.", pods],
  ["nodes.", nodes],
  ["serviceaccounts.", serviceAccounts],
  ["leases.coordination.k8s.io", leases],
  ["csinodes.storage.k8s.io", csiNodes],
  ["certificatesigningrequests.certificates.k8s.io", certificateRequests],
]);

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
 * The changed labels that a node may not set, change or remove on itself, sorted: those reserved for scheduling, and those of Kubernetes
 * that kubelets do not have. Source: plugin/pkg/admission/noderestriction, kubelet/pkg/apis.
 */
function forbiddenNodeLabels(next: Labels, stored: Labels): readonly string[] {
  const keys = new Set([...Object.keys(next ?? {}), ...Object.keys(stored ?? {})]);
  return [...keys].filter((key) => !isSameLabel(key, next, stored) && isForbidden(key)).sort();
}

function isSameLabel(key: string, next: Labels, stored: Labels): boolean {
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
