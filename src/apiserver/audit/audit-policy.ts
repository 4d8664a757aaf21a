import type { UserInfo } from "../../apimachinery/user.ts";
import type { RequestInfo } from "../request-info.ts";

/** How much of a request is recorded; each level includes the levels before it. */
export type AuditLevel = "None" | "Metadata" | "Request" | "RequestResponse";

/** When an event is recorded. */
export type AuditStage = "RequestReceived" | "ResponseStarted" | "ResponseComplete" | "Panic";

/** Resources of one group; empty `resources` means all of them, empty `resourceNames` every name. */
export interface GroupResources {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

/** One rule of a policy; an empty list is no condition. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** What is recorded of one request. */
export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** Decides before a request is handled; `user` is the authenticated user, if any, and not the impersonated one. */
export type AuditPolicy = (info: RequestInfo, user: UserInfo | undefined) => AuditDecision;

type Matches = (info: RequestInfo, user: UserInfo | undefined) => boolean;

interface CompiledRule {
  readonly matches: Matches;
  readonly decision: AuditDecision;
}

const nothing: AuditDecision = { level: "None", omitStages: new Set(), omitManagedFields: false };

/** Without a policy: user, request and result, at ResponseComplete, without bodies. */
export const metadataPolicy: AuditPolicy = () => metadata;

const metadata: AuditDecision = {
  level: "Metadata",
  omitStages: new Set(["RequestReceived"]),
  omitManagedFields: false,
};

/**
 * Compiles rules that are valid; the first that matches decides, and where none does nothing is recorded. Per request only the rules
 * for its group and resource are looked at. Source: apiserver pkg/audit/policy.
 */
export function compileAuditPolicy(rules: readonly AuditRule[]): AuditPolicy {
  const compiled = rules.map((rule) => ({ rule, matches: matcherOf(rule), decision: decisionOf(rule) }));
  const anywhere = compiled.filter(({ rule }) => rule.nonResourceURLs.length === 0 && rule.resources.length === 0);
  const paths = compiled.filter(({ rule }) => rule.namespaces.length === 0 && rule.resources.length === 0);
  const groups = new Map<string, ReadonlyMap<string, readonly CompiledRule[]>>();
  for (const group of new Set(rules.flatMap((rule) => rule.resources.map((one) => one.group)))) {
    groups.set(group, rulesOfGroup(compiled, group));
  }
  return (info, user) => {
    const byResource = groups.get(info.group);
    const candidates = info.isResource ? (byResource?.get(info.resource) ?? byResource?.get("*") ?? anywhere) : paths;
    for (const { matches, decision } of candidates) if (matches(info, user)) return decision;
    return nothing;
  };
}

/** The rules that can match each resource named in a group, and under `*` those for all others. */
function rulesOfGroup(
  compiled: readonly (CompiledRule & { readonly rule: AuditRule })[],
  group: string,
): ReadonlyMap<string, readonly CompiledRule[]> {
  const namedIn = ({ rule }: { readonly rule: AuditRule }): readonly string[] =>
    rule.resources
      .filter((one) => one.group === group)
      .flatMap((one) => (one.resources.length === 0 ? "*" : one.resources))
      .map(pluralOf);
  const rulesFor = (plural: string): readonly CompiledRule[] =>
    compiled.filter((one) => {
      if (one.rule.nonResourceURLs.length > 0) return false;
      const named = namedIn(one);
      return one.rule.resources.length === 0 || named.includes(plural) || named.includes("*");
    });
  return new Map(["*", ...compiled.flatMap(namedIn)].map((plural) => [plural, rulesFor(plural)]));
}

function pluralOf(resource: string): string {
  const slash = resource.indexOf("/");
  return slash < 0 ? resource : resource.slice(0, slash);
}

function decisionOf({ level, omitStages, omitManagedFields }: AuditRule): AuditDecision {
  return level === "None" ? nothing : { level, omitStages: new Set(omitStages), omitManagedFields };
}

function matcherOf(rule: AuditRule): Matches {
  const [users, groups] = [setOf(rule.users), setOf(rule.userGroups)];
  const [verbs, namespaces] = [setOf(rule.verbs), setOf(rule.namespaces)];
  const resources = rule.resources.map(resourceMatcher);
  const paths = rule.nonResourceURLs;
  const isOfUser: Matches = (_info, user) =>
    (users === undefined || (user !== undefined && users.has(user.username))) &&
    (groups === undefined || isMember(user, groups));
  const isOfResource: Matches = (info) =>
    info.isResource &&
    namespaces?.has(info.namespace) !== false &&
    (resources.length === 0 || resources.some((matches) => matches(info)));
  const isOfPath: Matches = ({ isResource, path: asked }) =>
    paths.length === 0 || (!isResource && paths.some((path) => pathMatches(path, asked)));
  const isOfPlace = namespaces !== undefined || resources.length > 0 ? isOfResource : isOfPath;
  return (info, user) => verbs?.has(info.verb) !== false && isOfUser(info, user) && isOfPlace(info, user);
}

function isMember(user: UserInfo | undefined, groups: ReadonlySet<string>): boolean {
  return user?.groups.some((group) => groups.has(group)) === true;
}

function setOf(values: readonly string[]): ReadonlySet<string> | undefined {
  return values.length === 0 ? undefined : new Set(values);
}

function resourceMatcher({ group, resources, resourceNames }: GroupResources): (info: RequestInfo) => boolean {
  const patterns = setOf(resources);
  const names = setOf(resourceNames);
  return ({ group: asked, resource, subresource, name }) => {
    if (asked !== group) return false;
    if (patterns === undefined) return true;
    if (names?.has(name) === false) return false;
    if (patterns.has("*") || patterns.has(`${resource}/*`)) return true;
    if (subresource === "") return patterns.has(resource);
    return patterns.has(`${resource}/${subresource}`) || patterns.has(`*/${subresource}`);
  };
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern.endsWith("*")) return path.startsWith(pattern.slice(0, -1));
  return pattern === path;
}
