import type { Subject, PolicyRule } from "../../../src/apis/rbac.ts";
import { anonymousUser, nodeUserPrefix, unauthenticatedGroup } from "../../../src/apimachinery/user.ts";
import { quoted } from "../../../src/apimachinery/quoted.ts";
import { ruleMatches } from "../../../src/authorization/compiled-rules.ts";
import type { Answer } from "./ask.ts";
import type { Policy } from "./policy.ts";
import type { AskedResource, Question } from "./question.ts";
import { isReachedByVolume } from "./volumes.ts";
import type { World } from "./world.ts";

/** A way in which the two answer differently, with the reason why that may be. */
export interface Difference {
  readonly name: string;
  /** For docs/conformance.md. */
  readonly why: string;
  /** Whether an answer of kube-apiserver 1.20 and one of the hub differ in this way. */
  readonly explains: (asked: Comparison) => boolean;
}

/** One question, as both have answered it. */
export interface Comparison {
  readonly question: Question;
  readonly modes: readonly string[];
  readonly kubernetes: Answer;
  readonly hub: Answer;
  /** As it is after aggregation. */
  readonly policy: Policy;
  /** Whose pods and volumes nodes may reach. */
  readonly world: Pick<World, "pods" | "volumes" | "attachments">;
}

/** The name of the difference between two answers: empty where there is none, undefined where nobody knows it. */
export function differenceOf(asked: Comparison): string | undefined {
  const { kubernetes, hub } = asked;
  if (isSame(kubernetes, hub)) return "";
  return differences.find(({ explains }) => explains(asked))?.name;
}

function isSame(one: Answer, other: Answer): boolean {
  return (
    one.allowed === other.allowed &&
    one.denied === other.denied &&
    one.reason === other.reason &&
    one.evaluationError === other.evaluationError &&
    one.failure === other.failure
  );
}

/** All differences that are known. */
export const differences: readonly Difference[] = [
  {
    name: "one of several bindings",
    why: "Where several bindings allow a request, kube-apiserver names the first in a hash table, and the hub the first by name; both name only bindings that allow the request.",
    explains: ({ question, kubernetes, hub, policy }) => {
      const { allowing } = rbacReasons(question, policy);
      const [theirs, ours] = [kubernetes.reason ?? "", hub.reason ?? ""];
      return (
        isSame({ ...kubernetes, reason: "" }, { ...hub, reason: "" }) && allowing.has(theirs) && allowing.has(ours)
      );
    },
  },
  {
    name: "order of missing roles",
    why: "kube-apiserver lists several missing roles in no order, and the hub in the order of their bindings.",
    explains: ({ question, kubernetes, hub, policy }) => {
      const { missing } = rbacReasons(question, policy);
      const text = `RBAC: [${[...missing].sort().join(", ")}]`;
      const ordered = (answer: Answer): Answer => ({
        ...answer,
        reason: (answer.reason ?? "").replace(
          /^RBAC: \[(.*)\]$/m,
          (_, all: string) => `RBAC: [${all.split(", ").sort().join(", ")}]`,
        ),
      });
      const [theirs, ours] = [ordered(kubernetes), ordered(hub)];
      return missing.size > 1 && isSame(theirs, ours) && (ours.reason ?? "").includes(text);
    },
  },
  {
    name: "nodes and pods of other nodes",
    why: "Since release 1.34, and on the hub, a node reads its own Node and its own pods alone (AuthorizeNodeWithSelectors); in 1.20 it could read all of them.",
    explains: ({ question, modes, kubernetes, hub }) => {
      const { verb = "", group = "", resource = "", subresource = "" } = question.resource ?? {};
      const isRead = ["get", "list", "watch"].includes(verb) && group === "" && subresource === "";
      const isReported = otherNodes.test(hub.reason ?? "");
      // Whoever is asked after the Node authorizer may allow or deny it.
      const isDecidedLater = hub.allowed === true || hub.denied === true;
      return (
        isNode(question, modes) &&
        isRead &&
        (resource === "nodes" || resource === "pods") &&
        isSame(kubernetes, { allowed: true }) &&
        (isReported || isDecidedLater)
      );
    },
  },
  {
    name: "volumes of a cluster",
    why: "A hub stores no PersistentVolumes and no VolumeAttachments, since no pods run on it: no node reaches one, or a secret through one. In kube-apiserver a node reaches those that the claims of its pods are bound to, their secrets, and what is attached to it.",
    explains: ({ question, modes, kubernetes, hub, world }) =>
      isNode(question, modes) &&
      isReachedByVolume(world, question.user.slice(nodeUserPrefix.length), question.resource ?? {}) &&
      isSame(kubernetes, { allowed: true }) &&
      // Whoever is asked after the Node authorizer may allow or deny it.
      (noRelation.test(hub.reason ?? "") || hub.allowed === true || hub.denied === true),
  },
  {
    name: "accounts of a node's own pods",
    why: "Since release 1.33, and on the hub, a node reads the ServiceAccounts of its own pods (KubeletServiceAccountTokenForCredentialProviders); in 1.20 it could only request their tokens.",
    explains: ({ question, modes, kubernetes, hub }) => {
      const [first = "", ...rest] = (kubernetes.reason ?? "").split("\n");
      const [told = "", ...later] = (hub.reason ?? "").split("\n");
      if (!isNode(question, modes) || !readsAccount(question.resource)) return false;
      if (isSame(hub, { allowed: true })) return true;
      return (
        first === "can only create tokens for individual service accounts" &&
        accountTexts.test(told) &&
        isSame(withReason(kubernetes, rest.join("\n")), withReason(hub, later.join("\n")))
      );
    },
  },
  {
    name: "resources of later releases",
    why: "What nodes may do with ResourceClaims and ResourceSlices, which 1.20 does not know: the hub gives a reason for its denial, and 1.20 gives none.",
    explains: ({ question, modes, kubernetes, hub }) => {
      const { group, resource = "" } = question.resource ?? {};
      const [first = "", ...rest] = (hub.reason ?? "").split("\n");
      return (
        isNode(question, modes) &&
        group === "resource.k8s.io" &&
        /^resource(?:claims|slices)$/.test(resource) &&
        ((laterResources.test(first) && isSame(kubernetes, withReason(hub, rest.join("\n")))) ||
          // A node writes its own slices; admission looks at whose they are.
          (resource === "resourceslices" && isSame(hub, { allowed: true })))
      );
    },
  },
  {
    name: "bindings that come with a hub",
    why: "A hub allows nodes to request certificates and to read the result, by the ClusterRoleBindings `pratique:node-renewal` and others that kube-apiserver leaves to kubeadm.",
    explains: ({ kubernetes, hub }) =>
      hub.allowed === true &&
      // Whoever is asked after RBAC may allow it there too.
      !(kubernetes.reason ?? "").startsWith("RBAC: allowed") &&
      /^RBAC: allowed by ClusterRoleBinding "pratique:[a-z-]+" of /.test(hub.reason ?? ""),
  },
  {
    name: "no admission of reviews",
    why: "kube-apiserver runs admission on reviews, whose NodeRestriction rejects a node without a name; the hub answers reviews without admission, and its Node authorizer says the same of that node.",
    explains: ({ question, kubernetes, hub }) =>
      question.by === "self" &&
      question.user === "system:node:" &&
      /^403 .* is forbidden: could not determine node from user "system:node:"$/.test(kubernetes.failure ?? "") &&
      hub.failure === undefined,
  },
];

const noRelation = /^no relationship found between node '.*' and this object(?:\n|$)/;
const otherNodes =
  /^(?:node '.*' cannot read .*, only its own Node object|can only list\/watch pods with spec\.nodeName field selector|no relationship found between node '.*' and this object|No Object name found)(?:\n|$)/;
const accountTexts =
  /^(?:No Object name found|no relationship found between node '.*' and this object|can only read namespaced object of this type)$/;
const laterResources =
  /^(?:can only get individual resources of this type|cannot get subresource|No Object name found|no relationship found between node '.*' and this object|can only list\/watch\/deletecollection resourceslices with nodeName field selector|cannot authorize ResourceSlice subresources|only the following verbs are allowed for a ResourceSlice: .*)$/;

function isNode({ user, groups }: Question, modes: readonly string[]): boolean {
  return modes.includes("Node") && user.startsWith("system:node:") && groups.includes("system:nodes");
}

function readsAccount({ verb, group, resource, subresource }: AskedResource = {}): boolean {
  return verb === "get" && group === undefined && resource === "serviceaccounts" && subresource === undefined;
}

function withReason(answer: Answer, reason: string): Answer {
  const { reason: before, ...rest } = answer;
  return reason === "" || before === undefined ? rest : { ...rest, reason };
}

interface RbacReasons {
  /** The sentences for each binding that allows it, of those that are asked first. */
  readonly allowing: ReadonlySet<string>;
  /** What is said of each role that a binding of the user refers to and that is not there. */
  readonly missing: ReadonlySet<string>;
}

/** What RBAC may say, by looking at all bindings one after the other. */
function rbacReasons(question: Question, policy: Policy): RbacReasons {
  const namespace = question.resource?.namespace ?? "";
  const here = policy.roleBindings.filter(({ metadata }) => namespace !== "" && metadata.namespace === namespace);
  const missing = new Set<string>();
  for (const bindings of [policy.clusterRoleBindings, here]) {
    const allowing = new Set<string>();
    for (const binding of bindings) {
      const subject = (binding.subjects ?? []).find((one) =>
        isSubject(one, question, binding.metadata.namespace ?? ""),
      );
      if (subject === undefined) continue;
      const rules = rulesOf(binding, policy);
      if (rules === undefined) missing.add(missingRole(binding));
      else if (rules.some((rule) => permits(rule, question))) allowing.add(allowedBy(binding, subject));
    }
    if (allowing.size > 0) return { allowing, missing: new Set() };
  }
  return { allowing: new Set(), missing };
}

type Binding = Policy["clusterRoleBindings"][number] | Policy["roleBindings"][number];

function rulesOf({ metadata, roleRef }: Binding, { roles, clusterRoles }: Policy): readonly PolicyRule[] | undefined {
  const role =
    roleRef.kind === "Role"
      ? roles.find((one) => one.metadata.namespace === metadata.namespace && one.metadata.name === roleRef.name)
      : clusterRoles.find((one) => one.metadata.name === roleRef.name);
  return role === undefined ? undefined : (role.rules ?? []);
}

function missingRole({ roleRef }: Binding): string {
  return `${roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io ${quoted(roleRef.name)} not found`;
}

function allowedBy({ kind, metadata, roleRef }: Binding, subject: Subject): string {
  const { name = "", namespace = "" } = metadata;
  const binding = quoted(namespace === "" ? name : `${name}/${namespace}`);
  const who = subject.kind === "ServiceAccount" ? `${subject.name}/${subject.namespace ?? namespace}` : subject.name;
  return `RBAC: allowed by ${kind} ${binding} of ${roleRef.kind} ${quoted(roleRef.name)} to ${subject.kind} ${quoted(who)}`;
}

function isSubject({ kind, name, namespace }: Subject, { by, user, groups }: Question, own: string): boolean {
  if (kind === "User") return name === user;
  // Who impersonates somebody without a credential is in the group of those.
  const isAdded = by === "self" && user === anonymousUser && name === unauthenticatedGroup;
  if (kind === "Group") return groups.includes(name) || isAdded;
  const place = namespace ?? own;
  return place !== "" && user === `system:serviceaccount:${place}:${name}`;
}

function permits(rule: PolicyRule, { user, groups, resource, path }: Question): boolean {
  const nothing: Required<AskedResource> = {
    verb: "",
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
  };
  const attributes = { user: { username: user, groups }, ...nothing, ...resource, path: path?.path };
  return ruleMatches(rule, path === undefined ? attributes : { ...attributes, verb: path.verb });
}
