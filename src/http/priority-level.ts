import { anonymousUser, authenticatedGroup, mastersGroup, nodesGroup, type UserInfo } from "../core/user.ts";
import type { RequestInfo } from "./request-info.ts";

/** How important a request is. `exempt` never waits; each of the others has places of its own that no other level can take. */
export type PriorityLevel = "exempt" | "node-high" | "system" | "discovery" | "workload" | "anonymous";

interface LevelRow {
  readonly level: PriorityLevel;
  /** Any of these users or groups; absent means everybody. */
  readonly users?: ReadonlySet<string>;
  readonly groups?: readonly string[];
  /** `plural.group`, or the bare plural; absent means everything. */
  readonly resources?: ReadonlySet<string>;
  /** The first segment of a path that is no resource; `any` takes all such paths. */
  readonly paths?: ReadonlySet<string> | "any";
}

/** What a node must get through to count as alive. */
const heartbeats: ReadonlySet<string> = new Set(["leases.coordination.k8s.io", "nodes"]);

/** The first row that fits decides. In the spirit of the default FlowSchemas. Source: apiserver pkg/apis/flowcontrol/bootstrap. */
const rows: readonly LevelRow[] = [
  { level: "exempt", groups: [mastersGroup] },
  { level: "exempt", paths: new Set(["healthz", "livez", "readyz"]) },
  { level: "node-high", groups: [nodesGroup], resources: heartbeats },
  { level: "system", groups: [nodesGroup, "system:serviceaccounts:kube-system"] },
  { level: "system", users: new Set(["system:kube-controller-manager", "system:kube-scheduler"]) },
  { level: "discovery", groups: [authenticatedGroup], paths: "any" },
  { level: "workload", groups: [authenticatedGroup] },
];

/** The level of a request whose user is known. */
export function priorityLevel(info: RequestInfo, user: UserInfo): PriorityLevel {
  for (const row of rows) if (fits(row, info, user)) return row.level;
  return "anonymous";
}

function fits({ users, groups, resources, paths }: LevelRow, info: RequestInfo, user: UserInfo): boolean {
  if (paths !== undefined && (info.isResource || (paths !== "any" && !paths.has(firstSegment(info.path)))))
    return false;
  if (groups !== undefined && !isOfAny(user, groups)) return false;
  if (users !== undefined && !users.has(user.username)) return false;
  return resources === undefined || (info.isResource && resources.has(qualifiedPlural(info)));
}

/** A loop, since this is asked several times of each request. */
function isOfAny(user: UserInfo, groups: readonly string[]): boolean {
  for (const group of groups) if (user.groups.includes(group)) return true;
  return false;
}

/**
 * Whose turn it is within a level: each user's, and for those without a name each address's, so that one of them cannot
 * take the turns of all others.
 */
export function flowOf(user: UserInfo, address: string): string {
  return user.username === anonymousUser ? address : user.username;
}

function qualifiedPlural({ group, resource }: RequestInfo): string {
  return group === "" ? resource : `${resource}.${group}`;
}

function firstSegment(path: string): string {
  const end = path.indexOf("/", 1);
  return path.slice(1, end < 0 ? path.length : end);
}
