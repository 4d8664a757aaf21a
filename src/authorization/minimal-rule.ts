import { shellWord } from "../apimachinery/shell-word.ts";
import {
  anonymousUser,
  authenticatedGroup,
  nodeNameOf,
  nodesGroup,
  nodeUserPrefix,
  unauthenticatedGroup,
} from "../apimachinery/user.ts";
import type { Attributes } from "./authorizer.ts";

/** The commands for a user with the right to change roles, and what to consider first. */
export interface SmallestRight {
  /** Shell commands; empty where no minimal rule is enough. */
  readonly commands: readonly string[];
  readonly notes: readonly string[];
}

const accountPrefix = "system:serviceaccount:";
const maxNameCharacters = 120;
const forEverything = "The request asks for everything of a kind at once; ask for what is really needed.";
const approvalNote =
  "To approve a request also takes get of certificatesigningrequests and update of certificatesigningrequests/approval.";
const noSubject = "There is neither a user nor a group to give a right to.";

/**
 * The kubectl commands that grant the subject exactly the request: a role of one rule, and its binding.
 * Their names depend on the request alone, so that they disclose nothing about existing objects.
 */
export function smallestRight(attributes: Attributes): SmallestRight {
  const { verb, resource, group, subresource, path } = attributes;
  const words = path === undefined ? [verb, resource, group, subresource] : [verb, path];
  if (isForEverything(words, path)) return none(forEverything);
  // kubectl reads these flags as lines of CSV.
  if (words.some((word) => /[",\r\n]/.test(word)))
    return none("kubectl would take its commas or quotes for more than one of them: such a role is written by hand.");
  const subject = subjectFlag(attributes);
  if (subject === undefined) return none(noSubject);
  const name = shellWord(nameOf(attributes));
  if (isAboutSigners(attributes))
    return signerRight(attributes, `${name} ${flag("clusterrole", nameOf(attributes))} ${subject}`);
  const namespace = path === undefined && attributes.namespace !== "" ? ` -n ${shellWord(attributes.namespace)}` : "";
  const [role, binding] = namespace === "" ? ["clusterrole", "clusterrolebinding"] : ["role", "rolebinding"];
  return {
    commands: [
      `kubectl create ${role} ${name}${namespace} ${flag("verb", verb)} ${whatFlags(attributes)}`,
      `kubectl create ${binding} ${name}${namespace} ${flag(role, nameOf(attributes))} ${subject}`,
    ],
    notes: [...notesOf(attributes)],
  };
}

/** kubectl creates roles from flags only for resources that the server serves, and signers are not among them. */
function signerRight(attributes: Attributes, binding: string): SmallestRight {
  const { verb, group, resource, name } = attributes;
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: nameOf(attributes) },
    rules: [
      { apiGroups: [group], resources: [resource], ...(name === "" ? {} : { resourceNames: [name] }), verbs: [verb] },
    ],
  };
  return {
    commands: [
      `printf %s ${shellWord(JSON.stringify(role))} | kubectl create -f -`,
      `kubectl create clusterrolebinding ${binding}`,
    ],
    notes: verb === "approve" ? [...notesOf(attributes), approvalNote] : [...notesOf(attributes)],
  };
}

/**
 * The line that would allow the request in the policy file of mode ABAC, which is read at startup. It cannot name objects, nor verbs
 * other than reading; undefined where a word of it would match everything.
 */
export function smallestAbacPolicy({ user, verb, namespace, group, resource, path }: Attributes): SmallestRight {
  if (user.username === "" && user.groups.length === 0) return none(noSubject);
  const who = user.username === "" ? { group: groupOf(user) } : { user: user.username };
  const words = [...Object.values(who), ...(path === undefined ? [namespace, group, resource] : [])];
  if (isForEverything(words, path)) return none(forEverything);
  const what = path === undefined ? { namespace, apiGroup: group, resource } : { nonResourcePath: path };
  const readonly = ["get", "list", "watch"].includes(verb) ? { readonly: true } : {};
  const spec = { ...who, ...what, ...readonly };
  return {
    commands: [JSON.stringify({ apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy", spec })],
    notes: [
      "The line belongs into the file of --authorization-policy-file, which is read when the hub starts.",
      `ABAC knows neither single verbs nor names: the line allows ${"readonly" in readonly ? "all reading" : "everything"} there.`,
    ],
  };
}

function isForEverything(words: readonly string[], path: string | undefined): boolean {
  return words.includes("*") || path?.endsWith("*") === true;
}

function none(note: string): SmallestRight {
  return { commands: [], notes: [note] };
}

function whatFlags({ group, resource, subresource, name, path }: Attributes): string {
  if (path !== undefined) return flag("non-resource-url", path);
  const kind = group === "" ? resource : `${resource}.${group}`;
  const what = flag("resource", subresource === "" ? kind : `${kind}/${subresource}`);
  return name === "" ? what : `${what} ${flag("resource-name", name)}`;
}

function subjectFlag({ user }: Attributes): string | undefined {
  const { username, groups } = user;
  if (username.startsWith(accountPrefix)) return flag("serviceaccount", username.slice(accountPrefix.length));
  if (username !== "") return flag("user", username);
  return groups.length === 0 ? undefined : flag("group", groupOf(user));
}

/** The group that a grant is for where there is no user: a specific group, if there is one. */
function groupOf({ groups }: Attributes["user"]): string {
  return groups.find((group) => group !== authenticatedGroup) ?? groups[0] ?? "";
}

function* notesOf({ user, verb, name }: Attributes): Iterable<string> {
  const isNode = nodeNameOf(user) !== undefined;
  if (user.username === anonymousUser || user.groups.includes(unauthenticatedGroup))
    yield "This would give the right to everybody who reaches the server, without a credential.";
  if (isNode)
    yield "Mode Node gives a node what the pods on it speak of: better bind such a pod to it than give the right to the node for good.";
  else if (user.username.startsWith(nodeUserPrefix))
    yield `A node's own credential is also of the group ${nodesGroup}; without it mode Node is not asked.`;
  if (verb === "create" && name !== "")
    yield "A request to create says no name where it is authorized: leave --resource-name out for a real create.";
}

/** For example `ann-delete-pods`. */
function nameOf({ user, verb, resource, subresource, name, path }: Attributes): string {
  const who = user.username === "" ? groupOf(user) : user.username.replace(accountPrefix, "");
  const words = [who, verb, path ?? resource, subresource, name]
    .map((part) => part.replaceAll(/[^a-zA-Z0-9.]+/g, "-").replaceAll(/^-|-$/g, ""))
    .filter((part) => part !== "")
    .join("-")
    .toLowerCase()
    .slice(0, maxNameCharacters);
  return words === "" ? "right" : words;
}

function flag(name: string, value: string): string {
  return shellWord(`--${name}=${value}`);
}

/**
 * Whether a request is about signers: they are authorized cluster-wide and served by no API server, so discovery does not list them, and
 * kubectl creates no role for them from flags. @see Kubernetes, plugin/pkg/admission/certificates
 */
export function isAboutSigners({ group, resource, path }: Pick<Attributes, "group" | "resource" | "path">): boolean {
  return path === undefined && group === "certificates.k8s.io" && resource === "signers";
}
