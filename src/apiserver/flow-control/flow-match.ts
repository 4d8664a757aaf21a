import type { UserInfo } from "../../apimachinery/user.ts";
import type { FlowSchemaSpec, FlowSubject, NonResourceRule, ResourceRule } from "../../apis/flow-schema.ts";
import type { RequestInfo } from "../request-info.ts";

/** Whether a schema speaks of a request. Source: apiserver pkg/util/flowcontrol rule.go. */
export function matchesFlowSchema({ rules = [] }: FlowSchemaSpec, info: RequestInfo, user: UserInfo): boolean {
  for (const { subjects = [], resourceRules = [], nonResourceRules = [] } of rules) {
    if (!subjects.some((subject) => isSubject(subject, user))) continue;
    const isNamed = info.isResource
      ? resourceRules.some((rule) => matchesResource(rule, info))
      : nonResourceRules.some((rule) => matchesPath(rule, info));
    if (isNamed) return true;
  }
  return false;
}

function isSubject(subject: FlowSubject, { username, groups }: UserInfo): boolean {
  switch (subject.kind) {
    case "User":
      return subject.user?.name === "*" || subject.user?.name === username;
    case "Group":
      return subject.group?.name === "*" || groups.includes(subject.group?.name ?? "");
    case "ServiceAccount": {
      const { name = "", namespace = "" } = subject.serviceAccount ?? {};
      const prefix = `system:serviceaccount:${namespace}:`;
      return name === "*" ? username.startsWith(prefix) : username === prefix + name;
    }
    default:
      return false;
  }
}

function matchesResource(rule: ResourceRule, { verb, group, resource, subresource, namespace }: RequestInfo): boolean {
  const named = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!isListed(rule.verbs, verb) || !isListed(rule.resources, named) || !isListed(rule.apiGroups, group)) return false;
  return namespace === "" ? rule.clusterScope === true : isListed(rule.namespaces, namespace);
}

function matchesPath({ verbs, nonResourceURLs = [] }: NonResourceRule, { verb, path }: RequestInfo): boolean {
  return isListed(verbs, verb) && nonResourceURLs.some((pattern) => matchesPattern(pattern, path));
}

/** A path names all below it as well, with a star at its end or without. */
function matchesPattern(pattern: string, path: string): boolean {
  if (pattern === "*" || pattern === path) return true;
  const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : pattern;
  return path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
}

function isListed(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}
