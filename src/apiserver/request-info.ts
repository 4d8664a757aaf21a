/**
 * What a request's method and path say, before anything is looked up. Source: apiserver pkg/endpoints/request RequestInfo;
 * `isResource` is false for every path with too few parts, discovery among them.
 */
export interface RequestInfo {
  readonly isResource: boolean;
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

const verbOfMethod: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** With these verbs a selector of one name is the name of the request. */
const selectingVerbs: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

/** These subresources belong to a namespace object itself; anything else below a namespace is a resource in it. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

/**
 * Reads method and path; undefined when a segment is not valid percent-encoding. `watch` and `nameSelector` come from the query.
 * A method that no verb belongs to gives a resource request the empty verb.
 */
export function requestInfo(
  method: string,
  path: string,
  query: { readonly watch: boolean; readonly nameSelector: string | undefined },
): RequestInfo | undefined {
  const parts = splitPath(path);
  if (parts === undefined) return undefined;
  const core = parts[0] === "api";
  const minimum = core ? 3 : 4;
  if ((!core && parts[0] !== "apis") || parts.length < minimum) return pathOnly(method, path);
  const group = core ? "" : (parts[1] as string);
  const version = parts[minimum - 2] as string;
  const below = parts.slice(minimum - 1);
  const rest = placeOf(below, core && isNodeProxy(below));
  // A namespace lies in no namespace: rights in one would otherwise be rights over all others.
  const nested = core && rest?.resource === "namespaces" && rest.namespace !== rest.name;
  if (rest === undefined || nested) return pathOnly(method, path);
  const verb = resourceVerb(method, rest.name === "", query.watch);
  const selected = selectingVerbs.has(verb) ? query.nameSelector : undefined;
  return {
    isResource: true,
    verb,
    path,
    group,
    version,
    ...rest,
    name: rest.name === "" ? (selected ?? "") : rest.name,
  };
}

const connectedParts: ReadonlySet<string> = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Whether a request may rightly last for hours. Source: apiserver's BasicLongRunningRequestCheck as kube-apiserver calls it. */
export function isLongRunning({ isResource, verb, subresource }: RequestInfo): boolean {
  return verb === "watch" || (isResource && connectedParts.has(subresource));
}

function pathOnly(method: string, path: string): RequestInfo {
  const nothing = { group: "", version: "", namespace: "", resource: "", subresource: "", name: "" };
  return { isResource: false, verb: method.toLowerCase(), path, ...nothing };
}

/** Decoded before it is split, as Go does: an encoded slash separates, so no segment can ever hold one. */
function splitPath(path: string): readonly string[] | undefined {
  try {
    const parts = (path.includes("%") ? decodeURIComponent(path) : path).split("/");
    // Nearly every path has one empty part, before its first slash.
    return parts[0] === "" && parts.indexOf("", 1) < 0 ? parts.slice(1) : parts.filter((part) => part !== "");
  } catch {
    return undefined;
  }
}

type Seat = Pick<RequestInfo, "namespace" | "resource" | "name" | "subresource">;

/**
 * `[resource, name?, subresource?]`, or the same under `namespaces/<ns>`; undefined with more parts than any resource has. Only the
 * subresource `proxy` of Nodes goes on with a path of its own.
 */
function placeOf(parts: readonly string[], hasOwnPath: boolean): Seat | undefined {
  const [first = "", namespace = "", third = ""] = parts;
  const below = first === "namespaces" && parts.length > 2 && !(parts.length === 3 && namespaceSubresources.has(third));
  const rest = below ? parts.slice(2) : parts;
  if (rest.length > 3 && !hasOwnPath) return undefined;
  const [resource = "", name = "", subresource = ""] = rest;
  const ofNamespace = !below && first === "namespaces";
  return { namespace: below ? namespace : ofNamespace ? name : "", resource, name, subresource };
}

function isNodeProxy([resource, , subresource]: readonly string[]): boolean {
  return resource === "nodes" && subresource === "proxy";
}

/** `watch` counts only without a name in the path: with one, the answer is that one object. */
function resourceVerb(method: string, collection: boolean, watch: boolean): string {
  // HTTP/2 lets any word be a method: one that reads like a verb must not become that verb.
  const verb = Object.hasOwn(verbOfMethod, method) ? verbOfMethod[method] : undefined;
  if (!collection) return verb ?? "";
  if (verb === "get") return watch ? "watch" : "list";
  return verb === "delete" ? "deletecollection" : (verb ?? "");
}
