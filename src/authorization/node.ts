import { nodeNameOf } from "../apimachinery/user.ts";
import { quoted } from "../apimachinery/quoted.ts";
import type { ReferencedKind } from "../apis/pod-references.ts";
import type { Attributes, Decision, NamedAuthorizer } from "./authorizer.ts";
import { nodeRole } from "./bootstrap-policy/component-roles.ts";
import { compileRules, firstMatch, ruleQuery } from "./compiled-rules.ts";
import type { NodeGraph } from "./node-graph.ts";
import type { MemberRules } from "./rules-review.ts";

const allowed: Decision = { verdict: "allow", reason: "" };
const allowedByRole: Decision = { verdict: "allow", reason: "" };
const allowedByPod: Decision = { verdict: "allow", reason: "" };
const silent: Decision = { verdict: "noOpinion", reason: "" };
const noNode: Decision = { verdict: "noOpinion", reason: "" };
/** The reason of decisions without a more specific one. */
const notes: ReadonlyMap<Decision, string> = new Map([
  [allowed, "what every node may do to its own objects"],
  [allowedByRole, "a rule of the role system:node, which holds for every node"],
  [allowedByPod, "a pod that is bound to the node speaks of the object"],
  [noNode, "not a node"],
]);
const leaseNamespace = "kube-node-lease";
const ownVerbs: readonly string[] = ["get", "create", "update", "patch", "delete"];

/** Decides about one resource for the node of that name. */
type Rule = (node: string, attributes: Attributes, graph: NodeGraph) => Decision;

/**
 * Allows a kubelet what it needs for its own node: its own objects, and what pods bound to it reference. It has no opinion on other
 * users, and never denies, so that RBAC may still allow. Admission, which sees the object, checks again what a node may write.
 * Source: plugin/pkg/auth/authorizer/node.
 */
export function nodeAuthorizer(graph: NodeGraph): NamedAuthorizer {
  const common = compileRules(nodeRole().rules);
  return {
    name: "Node",
    authorize: async function node(attributes) {
      const name = nodeNameOf(attributes.user);
      if (name === undefined) return noNode;
      if (name === "") return refused(`unknown node for user ${quoted(attributes.user.username)}`);
      if (attributes.path === undefined) {
        const rule = rules.get(`${attributes.resource}.${attributes.group}`);
        if (rule !== undefined) return rule(name, attributes, graph);
      }
      return firstMatch(common, ruleQuery(attributes)) === undefined ? silent : allowedByRole;
    },
    explain: (decision) => {
      const note = notes.get(decision);
      return note === undefined ? {} : { note };
    },
  };
}

/** A node's rights depend on its pods and cannot be listed; other users have none from this authorizer. */
export const nodeRules: MemberRules = function nodeRules(user) {
  const none = { resourceRules: [], nonResourceRules: [] };
  return nodeNameOf(user) === undefined
    ? { ...none, incomplete: false }
    : { ...none, incomplete: true, errors: ["node authorizer does not support user rule resolution"] };
};

function refused(reason: string): Decision {
  return { verdict: "noOpinion", reason };
}

function related(kind: ReferencedKind | "pods"): Rule {
  return (node, attributes, graph) => {
    if (attributes.name === "") return refused("No Object name found");
    return graph.reaches(kind, attributes, node) ? allowedByPod : unrelated(node);
  };
}

function unrelated(node: string): Decision {
  return refused(`no relationship found between node '${node}' and this object`);
}

function readable(kind: ReferencedKind): Rule {
  return (node, attributes, graph) => {
    if (!["get", "list", "watch"].includes(attributes.verb)) return refused("can only read resources of this type");
    if (attributes.subresource !== "") return refused("cannot read subresource");
    if (attributes.namespace === "") return refused("can only read namespaced object of this type");
    return related(kind)(node, attributes, graph);
  };
}

/** Kinds that the hub does not serve have no objects that a pod could reference. */
function gettable(kind: ReferencedKind | "pods" | undefined): Rule {
  return (node, attributes, graph) => {
    if (attributes.verb !== "get") return refused("can only get individual resources of this type");
    if (attributes.subresource !== "") return refused("cannot get subresource");
    if (kind !== undefined) return related(kind)(node, attributes, graph);
    return attributes.name === "" ? refused("No Object name found") : unrelated(node);
  };
}

const claims: Rule = (node, attributes, graph) => {
  if (attributes.subresource !== "status") return gettable("persistentvolumeclaims")(node, attributes, graph);
  if (attributes.verb !== "update" && attributes.verb !== "patch")
    return refused("can only get/update/patch this type");
  return related("persistentvolumeclaims")(node, attributes, graph);
};

const serviceAccounts: Rule = (node, attributes, graph) => {
  const { verb, subresource, name } = attributes;
  if (verb === "get" && subresource === "") return readable("serviceaccounts")(node, attributes, graph);
  if (verb !== "create" || name === "") return refused("can only create tokens for individual service accounts");
  if (subresource !== "token") return refused("can only create token subresource of serviceaccount");
  return graph.reaches("serviceaccounts", attributes, node) ? allowedByPod : unrelated(node);
};

/** The name of what is created is not in the request; admission sees it. */
const leases: Rule = (node, { verb, namespace, name }) => {
  if (!ownVerbs.includes(verb)) return refused("can only get, create, update, patch, or delete a node lease");
  if (namespace !== leaseNamespace) {
    return refused(`can only access leases in the ${quoted(leaseNamespace)} system namespace`);
  }
  if (verb !== "create" && name !== node) {
    return refused("can only access node lease with the same name as the requesting node");
  }
  return allowed;
};

const csiNodes: Rule = (node, { verb, subresource, name }) => {
  if (!ownVerbs.includes(verb)) return refused("can only get, create, update, patch, or delete a CSINode");
  if (subresource !== "") return refused("cannot authorize CSINode subresources");
  if (verb !== "create" && name !== node) {
    return refused("can only access CSINode with the same name as the requesting node");
  }
  return allowed;
};

const sliceVerbs =
  "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection";

const resourceSlices: Rule = (node, attributes) => {
  const { verb, subresource, name } = attributes;
  if (subresource !== "") return refused("cannot authorize ResourceSlice subresources");
  if (verb === "create") return allowed;
  if (["get", "update", "patch", "delete"].includes(verb)) {
    return name === "" ? refused("No Object name found") : unrelated(node);
  }
  if (!["watch", "list", "deletecollection"].includes(verb)) return refused(sliceVerbs);
  return selects(attributes, "spec.nodeName", node)
    ? allowed
    : refused("can only list/watch/deletecollection resourceslices with nodeName field selector");
};

/** A node may look for its own object before it is there. */
const nodes: Rule = (node, { verb, subresource, name }) => {
  if (subresource === "status") return verb === "update" || verb === "patch" ? allowed : silent;
  if (subresource !== "") return silent;
  if (["create", "update", "patch"].includes(verb)) return allowed;
  if (!["get", "list", "watch"].includes(verb)) return silent;
  if (name === node) return allowed;
  return refused(
    name === ""
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
};

const podWrites: ReadonlySet<string> = new Set([
  "create ",
  "delete ",
  "update status",
  "patch status",
  "create eviction",
]);

const pods: Rule = (node, attributes, graph) => {
  const { verb, subresource, name } = attributes;
  if (podWrites.has(`${verb} ${subresource}`)) return allowed;
  if (subresource !== "") return silent;
  if (verb === "get") return related("pods")(node, attributes, graph);
  if (verb !== "list" && verb !== "watch") return silent;
  if (selects(attributes, "spec.nodeName", node)) return allowed;
  if (name !== "") return related("pods")(node, attributes, graph);
  return refused("can only list/watch pods with spec.nodeName field selector");
};

function selects({ fieldSelector = [] }: Attributes, field: string, value: string): boolean {
  return fieldSelector.some(
    ({ key, operator, values }) => key === field && operator === "In" && values.length === 1 && values[0] === value,
  );
}

/** By `<resource>.<group>`. The rules of the role system:node decide on all others. */
const rules: ReadonlyMap<string, Rule> = new Map([
  ["secrets.", readable("secrets")],
  ["configmaps.", readable("configmaps")],
  ["persistentvolumeclaims.", claims],
  ["persistentvolumes.", gettable(undefined)],
  ["resourceclaims.resource.k8s.io", gettable("resourceclaims")],
  ["volumeattachments.storage.k8s.io", gettable(undefined)],
  ["serviceaccounts.", serviceAccounts],
  ["leases.coordination.k8s.io", leases],
  ["csinodes.storage.k8s.io", csiNodes],
  ["resourceslices.resource.k8s.io", resourceSlices],
  ["nodes.", nodes],
  ["pods.", pods],
  ["podcertificaterequests.certificates.k8s.io", () => silent],
]);
