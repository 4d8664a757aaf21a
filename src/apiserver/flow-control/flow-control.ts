import { anonymousUser, authenticatedGroup, mastersGroup, nodesGroup, type UserInfo } from "../../apimachinery/user.ts";
import { mandatoryFlowControl } from "../../apis/flow-control-objects.ts";
import type { FlowSchema, FlowSchemaSpec, FlowSubject, NonResourceRule, ResourceRule } from "../../apis/flow-schema.ts";
import type {
  LimitedLevel,
  PriorityLevelConfiguration,
  PriorityLevelSpec,
} from "../../apis/priority-level-configuration.ts";
import type { RequestInfo } from "../request-info.ts";

/** The stored objects of flow control. */
export interface FlowControlSource {
  readonly schemas: readonly FlowSchema[];
  readonly levels: readonly PriorityLevelConfiguration[];
}

/** The seats of a level. */
export interface LevelTerms extends LimitedLevel {
  readonly name: string;
}

/** The classification of one request. */
export interface Classification {
  /** The UIDs of the two objects, for the headers of the answer. */
  readonly schemaUid: string;
  readonly levelUid: string;
  /** The level whose seats the request takes; undefined for one that never waits. */
  readonly level: string | undefined;
  /** The flow within the level. */
  readonly flow: string;
  readonly senderClass: SenderClass;
}

/** The class of sender by which the hub protects itself, whatever the objects allow. */
export type SenderClass = "node" | "user" | "anonymous";

/** How requests are classified and limited. */
export interface FlowControl {
  readonly classify: (info: RequestInfo, user: UserInfo, address: string) => Classification;
  /** The levels that have seats. */
  readonly levels: readonly LevelTerms[];
}

/**
 * The level of requests without an authenticated user, whatever their schema, and of those that an object exempts although they are not
 * of system:masters. The hub protects itself by them. No object can have such a name.
 */
export const anonymousLevel = "system:anonymous";
export const exemptedLevel = "system:exempted";

interface Row {
  readonly name: string;
  readonly uid: string;
  readonly spec: FlowSchemaSpec;
  readonly level: { readonly name: string; readonly uid: string; readonly spec: PriorityLevelSpec };
}

/** Flow control by these objects. Kubernetes' mandatory ones are in force even where they are not stored; a schema whose level is missing is not. */
export function flowControl(source: FlowControlSource): FlowControl {
  const levels = new Map(
    Object.entries(mandatoryFlowControl.levels).map(([name, spec]) => [name, { name, uid: "", spec }]),
  );
  for (const { metadata, spec = {} } of source.levels) {
    const name = metadata.name ?? "";
    levels.set(name, { name, uid: metadata.uid ?? "", spec });
  }
  const schemas = new Map(
    Object.entries(mandatoryFlowControl.schemas).map(([name, spec]) => [name, { name, uid: "", spec }]),
  );
  for (const { metadata, spec = {} } of source.schemas) {
    const name = metadata.name ?? "";
    schemas.set(name, { name, uid: metadata.uid ?? "", spec });
  }
  const rows = [...schemas.values()].toSorted(inOrder).flatMap((schema): readonly Row[] => {
    const level = levels.get(schema.spec.priorityLevelConfiguration?.name ?? "");
    return level === undefined ? [] : [{ ...schema, level }];
  });
  return {
    classify: (info, user, address) => {
      const row = rows.find(({ spec }) => matchesFlowSchema(spec, info, user));
      return classification(row, { info, user, address });
    },
    levels: [...levels.values()].flatMap(({ name, spec }) =>
      spec.type === "Limited" ? [{ name, ...spec.limited }] : [],
    ),
  };
}

function inOrder(one: Pick<Row, "name" | "spec">, other: Pick<Row, "name" | "spec">): number {
  const difference = (one.spec.matchingPrecedence ?? 0) - (other.spec.matchingPrecedence ?? 0);
  if (difference !== 0) return difference;
  return one.name < other.name ? -1 : 1;
}

interface Asked {
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly address: string;
}

function classification(row: Row | undefined, { info, user, address }: Asked): Classification {
  const senderClass = classOf(user);
  const known = { schemaUid: row?.uid ?? "", levelUid: row?.level.uid ?? "", senderClass };
  if (isPrivileged(info, user)) return { ...known, level: undefined, flow: "" };
  if (row === undefined || senderClass === "anonymous") {
    return { ...known, level: anonymousLevel, flow: flowOf(user, address) };
  }
  if (row.level.spec.type === "Exempt") return { ...known, level: exemptedLevel, flow: user.username };
  return { ...known, level: row.level.name, flow: flowIn(row, info, user) };
}

/** A user in no group of Kubernetes, as after an impersonation, is treated as anonymous. */
function classOf({ groups }: UserInfo): SenderClass {
  if (groups.includes(nodesGroup)) return "node";
  return groups.includes(authenticatedGroup) ? "user" : "anonymous";
}

/** Flows of several schemas are distinct, also where they have one level. Source: apiserver pkg/util/flowcontrol, computeFlowDistinguisher. */
function flowIn({ name, spec }: Row, info: RequestInfo, user: UserInfo): string {
  const { type } = spec.distinguisherMethod ?? {};
  const flow = type === "ByUser" ? user.username : type === "ByNamespace" ? info.namespace : "";
  return `${name}/${flow}`;
}

/** Whether a request never waits, whatever the objects define: those of system:masters, and health checks. */
export function isPrivileged(info: RequestInfo, user: UserInfo): boolean {
  if (user.groups.includes(mastersGroup)) return true;
  return !info.isResource && healthPaths.has(firstSegment(info.path));
}

const healthPaths: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);

function firstSegment(path: string): string {
  const end = path.indexOf("/", 1);
  return path.slice(1, end < 0 ? path.length : end);
}

/**
 * The sender whose work the hub limits by itself: each user, and for anonymous requests each address, so that one of them cannot
 * take the turns of all others.
 */
export function flowOf(user: UserInfo, address: string): string {
  return user.username === anonymousUser ? address : user.username;
}

/** Whether a schema matches a request. Source: apiserver pkg/util/flowcontrol rule.go. */
function matchesFlowSchema({ rules = [] }: FlowSchemaSpec, info: RequestInfo, user: UserInfo): boolean {
  for (const { subjects = [], resourceRules = [], nonResourceRules = [] } of rules) {
    if (!subjects.some((subject) => isSubject(subject, user))) continue;
    const isNamed = info.isResource
      ? resourceRules.some((rule) => matchesResource(rule, info))
      : nonResourceRules.some((rule) => matchesPath(rule, info));
    if (isNamed) return true;
  }
  return false;
}

function isSubject(subject: FlowSubject, user: UserInfo): boolean {
  return subjects.get(subject.kind ?? "")?.(subject, user) === true;
}

const subjects: ReadonlyMap<string, (subject: FlowSubject, user: UserInfo) => boolean> = new Map([
  ["User", ({ user }, { username }) => user?.name === "*" || user?.name === username],
  ["Group", ({ group }, { groups }) => group?.name === "*" || groups.includes(group?.name ?? "")],
  ["ServiceAccount", isServiceAccount],
]);

function isServiceAccount({ serviceAccount }: FlowSubject, { username }: UserInfo): boolean {
  const { name = "", namespace = "" } = serviceAccount ?? {};
  const prefix = `system:serviceaccount:${namespace}:`;
  return name === "*" ? username.startsWith(prefix) : username === prefix + name;
}

function matchesResource(rule: ResourceRule, { verb, group, resource, subresource, namespace }: RequestInfo): boolean {
  const named = subresource === "" ? resource : `${resource}/${subresource}`;
  if (!isListed(rule.verbs, verb) || !isListed(rule.resources, named) || !isListed(rule.apiGroups, group)) return false;
  return namespace === "" ? rule.clusterScope === true : isListed(rule.namespaces, namespace);
}

function matchesPath({ verbs, nonResourceURLs = [] }: NonResourceRule, { verb, path }: RequestInfo): boolean {
  return isListed(verbs, verb) && nonResourceURLs.some((pattern) => matchesPattern(pattern, path));
}

/** A path matches all paths below it as well, with a star at its end or without. */
function matchesPattern(pattern: string, path: string): boolean {
  if (pattern === "*" || pattern === path) return true;
  const prefix = pattern.endsWith("*") ? pattern.slice(0, -1) : pattern;
  return path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
}

function isListed(items: readonly string[] = [], wanted: string): boolean {
  return items.includes("*") || items.includes(wanted);
}
