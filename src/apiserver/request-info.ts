import type { Attributes } from "../authorization/authorizer.ts";
import { fieldSelectorText, labelSelectorText } from "../authorization/selector-attributes.ts";
import { parseFieldSelector, selectedName } from "../apimachinery/field-selector.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { flag, type Query } from "./http-types.ts";

/**
 * A request's method and path, before anything is looked up. Source: apiserver pkg/endpoints/request RequestInfo;
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
 * What a method, a path and a query request; undefined when a segment of the path is not valid percent-encoding. A resource request
 * with a method of no verb has the empty verb.
 */
export function requestInfo(method: string, path: string, query: Query): RequestInfo | undefined {
  const parts = splitPath(path);
  if (parts === undefined) return undefined;
  const isCore = parts[0] === "api";
  const place = isCore || parts[0] === "apis" ? placeOf(parts.slice(isCore ? 2 : 3), isCore) : undefined;
  if (place === undefined) return pathOnly(method, path);
  const [group = "", version = ""] = isCore ? ["", parts[1]] : parts.slice(1);
  const verb = resourceVerb(method, place.name === "", query);
  const name = selectingVerbs.has(verb) ? selectedNameIn(query) : place.name;
  return { isResource: true, verb, path, group, version, ...place, name };
}

/** The one name that a field selector requires; empty for any other selector. */
function selectedNameIn(query: Query): string {
  const selector = query.get("fieldSelector") ?? "";
  if (selector === "") return "";
  try {
    return selectedName(parseFieldSelector(selector)) ?? "";
  } catch (error) {
    // The handler refuses it in full; authorization then decides as if there were no selector.
    if (error instanceof SelectorError) return "";
    throw error;
  }
}

/** Attributes of a request for the authorizers; selectors as far as they can be read, their errors are reported by the handler. */
export function requestAttributes(info: RequestInfo, user: UserInfo, query: Query): Attributes {
  const { verb, group, version, resource, subresource, namespace, name, isResource } = info;
  const path = isResource ? undefined : info.path;
  const plain = { user, verb, group, version, resource, subresource, namespace, name, path };
  return isResource && selectingVerbs.has(verb) ? { ...plain, ...selectorsOf(query) } : plain;
}

function selectorsOf(query: Query): Pick<Attributes, "fieldSelector" | "labelSelector"> {
  const field = fieldSelectorText(query.get("fieldSelector") ?? "").requirements;
  const label = labelSelectorText(query.get("labelSelector") ?? "").requirements;
  return {
    ...(field.length === 0 ? {} : { fieldSelector: field }),
    ...(label.length === 0 ? {} : { labelSelector: label }),
  };
}

const connectedParts: ReadonlySet<string> = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Whether a request may last for hours. Source: apiserver's BasicLongRunningRequestCheck as kube-apiserver calls it. */
export function isLongRunning({ isResource, verb, subresource }: RequestInfo): boolean {
  return verb === "watch" || (isResource && connectedParts.has(subresource));
}

function pathOnly(method: string, path: string): RequestInfo {
  const nothing = { group: "", version: "", namespace: "", resource: "", subresource: "", name: "" };
  return { isResource: false, verb: method.toLowerCase(), path, ...nothing };
}

/** Decoded before it is split, as Go does: an encoded slash separates, so no segment can ever contain one. */
function splitPath(path: string): readonly string[] | undefined {
  try {
    const parts = (path.includes("%") ? decodeURIComponent(path) : path).split("/");
    // Nearly every path has one empty part, before its first slash.
    return parts[0] === "" && parts.indexOf("", 1) < 0 ? parts.slice(1) : parts.filter((part) => part !== "");
  } catch {
    return undefined;
  }
}

type Place = Pick<RequestInfo, "namespace" | "resource" | "name" | "subresource">;

/**
 * `[resource, name?, subresource?]`, or the same under `namespaces/<ns>`; undefined without a resource, and with more parts than any has.
 * Only the subresource `proxy` of Nodes has a path of its own below it.
 */
function placeOf(parts: readonly string[], isCore: boolean): Place | undefined {
  const start = isBelowNamespace(parts) ? 2 : 0;
  const namespace = parts[0] === "namespaces" ? partAt(parts, 1) : "";
  const resource = partAt(parts, start);
  const place = { namespace, resource, name: partAt(parts, start + 1), subresource: partAt(parts, start + 2) };
  const isWhole = parts.length <= start + 3 || (isCore && isNodeProxy(parts));
  return resource === "" || !isWhole || (isCore && isNested(place)) ? undefined : place;
}

function partAt(parts: readonly string[], index: number): string {
  return parts[index] ?? "";
}

function isNodeProxy([resource, , subresource]: readonly string[]): boolean {
  return resource === "nodes" && subresource === "proxy";
}

/** A namespace lies in no namespace: rights in one would otherwise be rights over all others. */
function isNested({ resource, namespace, name }: Place): boolean {
  return resource === "namespaces" && namespace !== name;
}

function isBelowNamespace([first, , third = "", fourth]: readonly string[]): boolean {
  return first === "namespaces" && third !== "" && !(fourth === undefined && namespaceSubresources.has(third));
}

/** `watch` counts only without a name in the path: with one, the answer is that one object. */
function resourceVerb(method: string, isCollection: boolean, query: Query): string {
  // HTTP/2 allows any word as a method: one that equals a verb must not become that verb.
  const verb = Object.hasOwn(verbOfMethod, method) ? (verbOfMethod[method] ?? "") : "";
  if (isCollection && verb === "get") return flag(query, "watch") ? "watch" : "list";
  return isCollection && verb === "delete" ? "deletecollection" : verb;
}
