import { badRequest } from "../apimachinery/status.ts";
import type { ListOptions, ResourceRef } from "./client.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";

/** The object or collection of a path inside a resource; nothing set means all objects of all namespaces. */
export interface PathTarget {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Query parameters; undefined ones are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** The path of a group and version: `/api/v1`, or `/apis/<group>/<version>`. */
function groupVersionPath(resource: Pick<ResourceRef, "group" | "version">): string {
  const version = segment("version", resource.version);
  return resource.group === "" ? `/api/${version}` : `/apis/${segment("group", resource.group)}/${version}`;
}

/**
 * The path of a resource, one object of it, or a subresource. The namespace of a cluster-scoped resource is not written.
 * @throws StatusError BadRequest when a part cannot be one path segment (`.`, `..`, empty, with `/` or `%`), or when an object of a
 * namespaced resource is named without its namespace.
 */
export function resourcePath(
  resource: Pick<ResourceRef, "group" | "version" | "plural" | "scope">,
  target: PathTarget = {},
): string {
  const parts = [groupVersionPath(resource)];
  if (resource.scope === "Namespaced" && target.namespace !== undefined && target.namespace !== "") {
    parts.push("namespaces", segment("namespace", target.namespace));
  } else if (resource.scope === "Namespaced" && target.name !== undefined) {
    throw badRequest("an empty namespace may not be set when a resource name is provided");
  }
  parts.push(segment("resource", resource.plural));
  if (target.name !== undefined) parts.push(segment("resource name", target.name));
  if (target.subresource !== undefined) parts.push(segment("subresource", target.subresource));
  return parts.join("/");
}

/** `path` with its query string; parameters keep their order. */
export function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
  );
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}

/** The query parameters of a list; empty selectors select everything and are left out. */
export function listQuery(options: Omit<ListOptions, "namespace">): Query {
  return {
    labelSelector: options.labelSelector === "" ? undefined : options.labelSelector,
    fieldSelector: options.fieldSelector === "" ? undefined : options.fieldSelector,
    resourceVersion: options.resourceVersion,
    limit: options.limit,
    continue: options.continue,
  };
}

// The rule is that of client-go: servers and proxies normalise dot segments, so a path must not contain any.
function segment(what: string, value: string): string {
  const wrong = value === "" || value === "." || value === ".." || value.includes("/") || value.includes("%");
  if (wrong) throw badRequest(`invalid ${what} ${JSON.stringify(value)}: it must be one path segment`);
  return encodeURIComponent(value);
}

/** The key of an object: its name, and its namespace where it has one. */
export function keyOf(object: ApiObject): ObjectKey {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined || namespace === "" ? { name } : { namespace, name };
}

/** `namespace/name`, or the bare name of a cluster-scoped object: equal texts mean equal keys of one resource. */
export function keyText(key: ObjectKey): string {
  return key.namespace === undefined || key.namespace === "" ? key.name : `${key.namespace}/${key.name}`;
}
