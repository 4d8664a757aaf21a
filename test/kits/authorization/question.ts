import {
  authenticatedGroup,
  nodesGroup,
  nodeUserPrefix,
  serviceAccountsGroup,
} from "../../../src/apimachinery/user.ts";
import type { ApiObject } from "../../../src/apimachinery/object.ts";
import type { PolicyRule, Subject } from "../../../src/apis/rbac.ts";
import { podReferences } from "../../../src/apis/pod-references.ts";
import { stringAt } from "../../../src/apis/json-fields.ts";
import type { AbacLine } from "./abac.ts";
import type { Policy } from "./policy.ts";
import type { Random } from "./random.ts";
import { secretsOf } from "./volumes.ts";
import {
  accountNames,
  accounts,
  apiGroups,
  groups,
  names,
  namespaces,
  nodeNames,
  parts,
  paths,
  pathVerbs,
  resources,
  subresources,
  users,
  verbs,
} from "./words.ts";

/** What an access review asks about a resource; what is empty is left out. */
export interface AskedResource {
  readonly verb?: string;
  readonly group?: string;
  readonly version?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** One question. `by` is the kind of review: of anybody, of anybody in a namespace, or of whoever asks. */
export interface Question {
  readonly by: "subject" | "local" | "self";
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly resource?: AskedResource;
  readonly path?: { readonly path: string; readonly verb: string };
}

/** Where questions come from. */
export interface Sources {
  /** As it is after aggregation. */
  readonly policy: Policy;
  readonly abac: readonly AbacLine[];
  readonly pods: readonly ApiObject[];
  readonly volumes: readonly ApiObject[];
  readonly attachments: readonly ApiObject[];
}

/** How many questions of a hundred come from roles, from ABAC policies, from pods; the rest is chosen word by word. */
export interface Shares {
  readonly rbac: number;
  readonly abac: number;
  readonly node: number;
}

/** Questions of which many come from something that allows them, and of these some are changed in one place. */
export function randomQuestions(random: Random, sources: Sources, shares: Shares): () => Question {
  const rbac = rbacGrants(sources.policy);
  return () => {
    const kind = random.below(100);
    const bare =
      kind < shares.rbac
        ? fromGrant(random, random.one(rbac))
        : kind < shares.rbac + shares.abac
          ? fromAbac(random, random.one(sources.abac))
          : kind < shares.rbac + shares.abac + shares.node
            ? fromPod(random, sources)
            : fromWords(random);
    return dressed(random, random.chance(0.45) ? changed(random, bare) : bare);
  };
}

const generatedBinding = /^(?:everywhere|here)-/;

type Bare = Omit<Question, "by">;

interface RbacGrant {
  readonly subject: Subject;
  /** Undefined: of a ClusterRoleBinding. */
  readonly namespace: string | undefined;
  readonly rules: readonly PolicyRule[];
}

function rbacGrants({ clusterRoles, roles, clusterRoleBindings, roleBindings }: Policy): readonly RbacGrant[] {
  const wide = new Map(clusterRoles.map((role) => [role.metadata.name, role.rules ?? []]));
  const local = new Map(roles.map((role) => [`${role.metadata.namespace}/${role.metadata.name}`, role.rules ?? []]));
  return [...clusterRoleBindings, ...roleBindings].flatMap(({ metadata, roleRef, subjects = [] }) => {
    const { namespace } = metadata;
    const rules = roleRef.kind === "Role" ? local.get(`${namespace}/${roleRef.name}`) : wide.get(roleRef.name);
    // Rights of what comes with a cluster differ from release to release.
    const isOwn = generatedBinding.test(metadata.name ?? "");
    return isOwn ? subjects.map((subject) => ({ subject, namespace, rules: rules ?? [] })) : [];
  });
}

function fromGrant(random: Random, { subject, namespace, rules }: RbacGrant): Bare {
  const who = whoIs(random, subject, namespace);
  const usable = namespace === undefined ? rules : rules.filter((rule) => (rule.resources ?? []).length > 0);
  if (usable.length === 0) return { ...fromWords(random), ...who };
  return { ...who, ...asked(random, random.one(usable), namespace ?? random.one(["", ...namespaces])) };
}

function whoIs(random: Random, { kind, name, namespace: own = "" }: Subject, namespace = ""): Bare {
  if (kind === "User") return { user: name, groups: random.chance(0.5) ? [] : someGroups(random) };
  if (kind === "Group") return { user: random.one(users), groups: [name, ...someGroups(random)] };
  return account(`system:serviceaccount:${own === "" ? namespace : own}:${name}`);
}

function account(user: string): Bare {
  const namespace = user.split(":")[2] ?? "";
  return { user, groups: [serviceAccountsGroup, `${serviceAccountsGroup}:${namespace}`] };
}

function someGroups(random: Random): readonly string[] {
  return random.some(groups, 0, 2);
}

/** A path that the pattern covers. */
function pathUnder(random: Random, pattern: string, rests: readonly string[]): string {
  if (!pattern.endsWith("*")) return pattern;
  const path = `${pattern.replace(/\*+$/, "")}${random.one(rests)}`;
  return path === "" ? "/" : path;
}

function asked(random: Random, rule: PolicyRule, namespace: string): Pick<Question, "resource" | "path"> {
  const verbOf = (all: readonly string[]): string => {
    const verb = random.one(rule.verbs);
    return verb === "*" ? random.one(all) : verb;
  };
  if ((rule.nonResourceURLs ?? []).length > 0) {
    const path = pathUnder(random, random.one(rule.nonResourceURLs ?? []), ["", "a", "a/b", "*"]);
    return { path: { path, verb: verbOf(pathVerbs) } };
  }
  const [first = "", ...rest] = random.one(rule.resources ?? [""]).split("/");
  const sub = rest.length > 0 ? rest.join("/") : first === "*" && random.chance(0.4) ? random.one(subresources) : "";
  const group = random.one(rule.apiGroups ?? [""]);
  const name =
    (rule.resourceNames ?? []).length > 0 ? random.one(rule.resourceNames ?? []) : random.one(["", ...names]);
  return {
    resource: {
      verb: verbOf(verbs),
      group: group === "*" ? random.one(apiGroups) : group,
      resource: first === "*" ? random.one(resources) : first,
      subresource: sub,
      namespace,
      name,
    },
  };
}

function fromAbac(random: Random, line: AbacLine): Bare {
  const { user = "*", group = "", readonly: isReading = false, nonResourcePath: pattern } = line;
  const who: Bare = {
    user: user === "*" ? random.one(users) : user,
    groups: group === "" ? someGroups(random) : [group === "*" ? random.one(groups) : group],
  };
  if (pattern !== undefined) {
    const path = pathUnder(random, pattern, ["", "a", "/b"]);
    return { ...who, path: { path, verb: isReading ? "get" : random.one(pathVerbs) } };
  }
  // What the old form leaves out means everything.
  const unset = line.isOld ? "*" : "";
  const word = (given: string | undefined, all: readonly string[]): string => {
    const one = given ?? unset;
    return one === "*" ? random.one(all) : one;
  };
  return {
    ...who,
    resource: {
      verb: isReading ? random.one(["get", "list", "watch"]) : random.one(verbs),
      group: word(line.apiGroup, apiGroups),
      resource: word(line.resource, resources),
      subresource: random.chance(0.2) ? random.one(subresources) : "",
      namespace: word(line.namespace, ["", ...namespaces]),
      name: random.one(["", ...names]),
    },
  };
}

function fromPod(random: Random, sources: Sources): Bare {
  const pod = random.one(sources.pods);
  const { nodeName = random.one(nodeNames) } = (pod["spec"] ?? {}) as { readonly nodeName?: string };
  const node = random.chance(0.85) ? nodeName : random.one([...nodeNames, "", "node-99"]);
  const member = random.chance(0.97) ? [nodesGroup] : [];
  const who: Bare = {
    user: `${nodeUserPrefix}${node}`,
    groups: random.chance(0.8) ? [...member, authenticatedGroup] : member,
  };
  const { namespace = "" } = pod.metadata;
  return { ...who, resource: ofNode(random, node, { ...sources, pod, namespace }) };
}

/** What kubelets ask for, and what they should not. */
function ofNode(
  random: Random,
  node: string,
  {
    pod,
    namespace,
    volumes,
    attachments,
  }: Pick<Sources, "volumes" | "attachments"> & { readonly pod: ApiObject; readonly namespace: string },
): AskedResource {
  const references = podReferences(pod);
  const nameOf = (found: ReadonlySet<string>): string =>
    found.size > 0 && random.chance(0.8) ? random.one([...found]) : random.one(["", ...parts]);
  const read = random.chance(0.75) ? random.one(["get", "list", "watch"]) : random.one(verbs);
  const write = random.chance(0.75) ? random.one(["create", "update", "patch", "delete", "get"]) : random.one(verbs);
  const sub = random.chance(0.07) ? random.one(subresources) : "";
  const own = random.chance(0.6) ? node : random.one([...nodeNames, ""]);
  const isClaimed = (volume: ApiObject): boolean =>
    stringAt(volume, "spec", "claimRef", "namespace") === namespace &&
    references.persistentvolumeclaims.has(stringAt(volume, "spec", "claimRef", "name"));
  const claimed = volumes.filter(isClaimed);
  const volume = claimed.length > 0 && random.chance(0.8) ? random.one(claimed) : random.one(volumes);
  const attached = attachments.filter((one) => stringAt(one, "spec", "nodeName") === node);
  const attachment =
    attached.length > 0 && random.chance(0.7)
      ? random.one(attached)
      : attachments.length > 0
        ? random.one(attachments)
        : undefined;
  const makers: readonly (() => AskedResource)[] = [
    () => ({
      verb: random.chance(0.8) ? "get" : random.one(verbs),
      resource: "persistentvolumes",
      subresource: sub,
      name: random.chance(0.95) ? (volume.metadata.name ?? "") : "",
    }),
    () => {
      const secrets = secretsOf(volume);
      const [place = "", secret = ""] = (secrets.length === 0 ? "" : random.one(secrets)).split("/");
      return { verb: read, resource: "secrets", subresource: sub, namespace: place, name: secret };
    },
    () => ({
      verb: random.chance(0.8) ? "get" : random.one(verbs),
      group: "storage.k8s.io",
      resource: "volumeattachments",
      subresource: sub,
      name: attachment?.metadata.name ?? "",
    }),
    () => ({ verb: read, resource: "secrets", subresource: sub, namespace, name: nameOf(references.secrets) }),
    () => ({ verb: read, resource: "secrets", subresource: sub, namespace, name: nameOf(references.secrets) }),
    () => ({ verb: read, resource: "configmaps", subresource: sub, namespace, name: nameOf(references.configmaps) }),
    () => ({ verb: read, resource: "configmaps", subresource: sub, namespace, name: nameOf(references.configmaps) }),
    () => ({
      verb: random.chance(0.7) ? "get" : random.one(verbs),
      resource: "persistentvolumeclaims",
      subresource: sub,
      namespace,
      name: nameOf(references.persistentvolumeclaims),
    }),
    () => ({
      verb: random.chance(0.7) ? random.one(["update", "patch"]) : random.one(verbs),
      resource: "persistentvolumeclaims",
      subresource: "status",
      namespace,
      name: nameOf(references.persistentvolumeclaims),
    }),
    () => ({ verb: "get", resource: "serviceaccounts", namespace, name: nameOf(references.serviceaccounts) }),
    () => ({
      verb: random.chance(0.8) ? "create" : random.one(verbs),
      resource: "serviceaccounts",
      subresource: random.chance(0.9) ? "token" : sub,
      namespace,
      name: random.chance(0.8) ? nameOf(references.serviceaccounts) : random.one(accountNames),
    }),
    () => ({
      verb: write,
      group: "coordination.k8s.io",
      resource: "leases",
      subresource: sub,
      namespace: random.chance(0.85) ? "kube-node-lease" : namespace,
      name: own,
    }),
    () => ({ verb: write, group: "storage.k8s.io", resource: "csinodes", subresource: sub, name: own }),
    () => ({
      verb: random.chance(0.7) ? write : read,
      resource: "nodes",
      subresource: random.chance(0.3) ? "status" : sub,
      name: own,
    }),
    () => ({
      verb: random.chance(0.5) ? write : read,
      resource: "pods",
      subresource: random.chance(0.4) ? random.one(["status", "eviction", "log"]) : "",
      namespace: random.chance(0.8) ? namespace : "",
      name: random.chance(0.8) ? (pod.metadata.name ?? "") : "",
    }),
    () => ({
      verb: read,
      resource: random.one(["persistentvolumes", "services", "endpoints"]),
      namespace: "",
      name: random.one(["", "x"]),
    }),
    () => ({ verb: write, group: "", resource: "events", namespace }),
    () => ({
      verb: read,
      group: "storage.k8s.io",
      resource: random.one(["volumeattachments", "csidrivers"]),
      name: random.one(["", "x"]),
    }),
    () => ({
      verb: read,
      group: random.one(["certificates.k8s.io", "node.k8s.io", "resource.k8s.io"]),
      resource: random.one(["certificatesigningrequests", "runtimeclasses", "resourceclaims", "resourceslices"]),
      name: random.one(["", "x"]),
    }),
    () => ({
      verb: "create",
      group: random.one(["authentication.k8s.io", "authorization.k8s.io"]),
      resource: random.one(["tokenreviews", "subjectaccessreviews"]),
    }),
  ];
  return random.one(makers)();
}

function fromWords(random: Random): Bare {
  const user = random.chance(0.2) ? random.one(accounts) : random.one(users);
  const who = user.startsWith("system:serviceaccount:") ? account(user) : { user, groups: someGroups(random) };
  if (random.chance(0.2)) return { ...who, path: { path: random.one(paths), verb: random.one(pathVerbs) } };
  return {
    ...who,
    resource: {
      verb: random.one([...verbs, "*"]),
      group: random.one([...apiGroups, "*"]),
      resource: random.one([...resources, "*", ""]),
      subresource: random.chance(0.3) ? random.one(subresources) : "",
      namespace: random.one(["", "nowhere", ...namespaces]),
      name: random.one(["", ...names]),
    },
  };
}

/** Another word in one place. */
function changed(random: Random, bare: Bare): Bare {
  const { resource, path } = bare;
  if (random.chance(0.2))
    return { ...bare, ...(random.chance(0.5) ? { user: random.one(users) } : { groups: someGroups(random) }) };
  if (path !== undefined) {
    const other = random.chance(0.5) ? { path: random.one(paths) } : { verb: random.one([...pathVerbs, "GET", "*"]) };
    return { ...bare, path: { ...path, ...other } };
  }
  const words: Readonly<Record<keyof AskedResource, readonly string[]>> = {
    verb: [...verbs, "*", ""],
    group: [...apiGroups, "*"],
    version: ["v1", "v2beta1", "*"],
    resource: [...resources, "*", ""],
    subresource: [...subresources, ""],
    namespace: [...namespaces, "", "*", "nowhere"],
    name: [...names, ""],
  };
  const field = random.one(Object.keys(words) as readonly (keyof AskedResource)[]);
  return { ...bare, resource: { ...resource, [field]: random.one(words[field]) } };
}

/** A header holds no more than these; who impersonates needs a name. */
const headerText = /^[!-~](?:[ -~]*[!-~])?$/;

/** Some with more about the user, some as another kind of review. */
function dressed(random: Random, bare: Bare): Question {
  const { user, groups: members } = bare;
  const isKnown = random.chance(0.5) && !members.includes(authenticatedGroup);
  const all = isKnown ? [...members, authenticatedGroup] : members;
  const subject = {
    ...bare,
    groups: all.length === 0 && user === "" ? [authenticatedGroup] : all,
    ...(bare.resource === undefined ? {} : { resource: withoutEmpty(bare.resource) }),
  };
  const kind = random.next();
  if (kind < 0.05 && (bare.resource?.namespace ?? "") !== "") return { by: "local", ...subject };
  // Groups come with the name of an account, and everybody who is known is in the group of those.
  if (kind < 0.1 && [user, ...members].every((text) => headerText.test(text))) {
    return { by: "self", ...subject, groups: [...new Set([...members, authenticatedGroup])] };
  }
  return {
    by: "subject",
    ...subject,
    ...(random.chance(0.05) ? { uid: "uid-7" } : {}),
    ...(random.chance(0.05) ? { extra: { scopes: ["a", "b"], "example.com/x": [""] } } : {}),
  };
}

function withoutEmpty(resource: AskedResource): AskedResource {
  return Object.fromEntries(Object.entries(resource).filter(([, text]) => text !== ""));
}
