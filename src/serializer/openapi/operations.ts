import { kindOf, type Resource, type Verb } from "../../apis/resource.ts";
import { definitionName } from "../../apis/openapi-schemas.ts";

/** One HTTP operation on a resource, before it is written in either version of OpenAPI. */
export interface Operation {
  readonly path: string;
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** The value of `x-kubernetes-action`. */
  readonly action: string;
  readonly id: string;
  readonly resource: Resource;
  readonly query: readonly QueryParameter[];
  /** The definition name of the request body, or `patch` for one of the patch types, or none. */
  readonly body?: string;
  readonly reply: string;
  readonly codes: readonly number[];
}

/** A parameter in the query of an operation. */
export interface QueryParameter {
  readonly name: string;
  readonly type: "string" | "boolean" | "integer";
  readonly description: string;
}

/** The key of a group version in the index: `api/v1` or `apis/<group>/<version>`. */
export function groupVersionKey(resource: Pick<Resource, "group" | "version">): string {
  return resource.group === "" ? `api/${resource.version}` : `apis/${resource.group}/${resource.version}`;
}

/** Media types of PATCH; apply is not among them. Custom kinds have no strategic merge. */
export function patchTypes(resource: Resource): readonly string[] {
  return [
    "application/json-patch+json",
    "application/merge-patch+json",
    ...(resource.custom === undefined ? ["application/strategic-merge-patch+json"] : []),
    "application/apply-patch+yaml",
  ];
}

/** Resources in the order of the documents, whatever their order before. */
export function inDocumentOrder(resources: readonly Resource[]): readonly Resource[] {
  const place = (resource: Resource): string => `${groupVersionKey(resource)}/${resource.plural}`;
  return [...resources].sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/** Members grouped by `keyOf`; both keys and members keep their order. */
export function grouped<T>(members: readonly T[], keyOf: (member: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const member of members) {
    const group = groups.get(keyOf(member));
    if (group === undefined) groups.set(keyOf(member), [member]);
    else group.push(member);
  }
  return groups;
}

/** Every operation that the verbs of a resource and of its subresources allow. */
export function operationsOf(resource: Resource): readonly Operation[] {
  const root = `/${groupVersionKey(resource)}`;
  const namespaced = resource.scope === "Namespaced";
  const collection = `${root}/${namespaced ? "namespaces/{namespace}/" : ""}${resource.plural}`;
  const own = resource.verbs.flatMap((verb) => operation({ resource, verb, base: collection, subresource: "" }));
  const acrossNamespaces =
    namespaced && resource.verbs.includes("list")
      ? operation({ resource, verb: "list", base: `${root}/${resource.plural}`, subresource: "" }).map((one) => ({
          ...one,
          id: `${one.id}ForAllNamespaces`,
        }))
      : [];
  const parts = Object.entries(resource.subresources).flatMap(([subresource, part]) =>
    // Subresources that a kubelet serves have no schema: bytes and upgraded connections.
    part.connects !== undefined
      ? []
      : part.verbs.flatMap((verb) =>
          operation({ resource, verb, base: collection, subresource, kind: kindOf(resource, part) }),
        ),
  );
  return [...own, ...acrossNamespaces, ...parts];
}

interface Place {
  readonly resource: Resource;
  readonly verb: Verb;
  readonly base: string;
  readonly subresource: string;
  /** The kind of the operation, where it is not the resource's own. */
  readonly kind?: Resource;
}

interface VerbShape {
  readonly method: Operation["method"];
  readonly action: string;
  readonly word: string;
  readonly on: "item" | "collection";
  readonly query: readonly QueryParameter[];
  readonly codes: readonly number[];
}

function operation({ resource, verb, base, subresource, kind = resource }: Place): Operation[] {
  // A watch is a list with `watch=true`; it needs no path of its own.
  if (verb === "watch") return [];
  const shape = verbs[verb];
  const onItem = shape.on === "item" || subresource !== "";
  const name = definitionName(kind);
  const path = `${base}${onItem ? "/{name}" : ""}${subresource === "" ? "" : `/${subresource}`}`;
  const scope = base.includes("{namespace}") ? "Namespaced" : "";
  return [
    {
      path,
      method: shape.method,
      action: shape.action,
      id: `${shape.word}${groupWord(resource)}${scope}${resource.kind}${capital(subresource)}`,
      resource: kind,
      query: shape.query,
      ...bodyOf(verb, name),
      reply: replyOf(verb, resource, name),
      codes: shape.codes,
    },
  ];
}

function bodyOf(verb: Verb, name: string): Pick<Operation, "body"> {
  if (verb === "get" || verb === "list") return {};
  if (verb === "patch") return { body: verb };
  const isDelete = verb === "delete" || verb === "deletecollection";
  return { body: isDelete ? "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions" : name };
}

function replyOf(verb: Verb, resource: Resource, name: string): string {
  if (verb === "list") return `${name}List`;
  if (verb === "deletecollection" || (verb === "delete" && !resource.deleteReturnsObject)) {
    return "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
  }
  return name;
}

function groupWord({ group, version }: Resource): string {
  const words = group === "" ? ["core"] : group.replace(/\.k8s\.io$/, "").split(/[.-]/);
  return [...words, version].map(capital).join("");
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

function text(name: string, description: string): QueryParameter {
  return { name, type: "string", description };
}

function truth(name: string, description: string): QueryParameter {
  return { name, type: "boolean", description };
}

function count(name: string, description: string): QueryParameter {
  return { name, type: "integer", description };
}

const dryRun = text("dryRun", "All processes the request and stores nothing.");
const fieldManager = text("fieldManager", "Who makes the change; at most 128 printable characters.");
const fieldValidation = text(
  "fieldValidation",
  "What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
);
const writing = [dryRun, fieldManager, fieldValidation];
const selecting = [
  text("labelSelector", "Limits the objects by their labels."),
  text("fieldSelector", "Limits the objects by their fields."),
];
const listing = [
  ...selecting,
  count("limit", "How many objects to return at most."),
  text("continue", "Where to go on, from the reply before."),
  text("resourceVersion", "How fresh the data must be."),
  text("resourceVersionMatch", "How resourceVersion is meant: NotOlderThan or Exact."),
  truth("watch", "Streams changes instead of a list."),
  truth("allowWatchBookmarks", "Asks for BOOKMARK events."),
  truth("sendInitialEvents", "Begins a watch with the present state."),
  count("timeoutSeconds", "When to end the request."),
];
const deleting = [
  dryRun,
  count("gracePeriodSeconds", "Seconds before the object is removed."),
  truth("orphanDependents", "Deprecated; use propagationPolicy."),
  text("propagationPolicy", "What happens to dependents: Orphan, Background or Foreground."),
];

const verbs: Readonly<Record<Exclude<Verb, "watch">, VerbShape>> = {
  get: { method: "get", action: "get", word: "read", on: "item", query: [], codes: [200] },
  list: { method: "get", action: "list", word: "list", on: "collection", query: listing, codes: [200] },
  create: { method: "post", action: "post", word: "create", on: "collection", query: writing, codes: [200, 201, 202] },
  update: { method: "put", action: "put", word: "replace", on: "item", query: writing, codes: [200, 201] },
  patch: {
    method: "patch",
    action: "patch",
    word: "patch",
    on: "item",
    query: [...writing, truth("force", "Takes fields over from other managers; for apply only.")],
    codes: [200, 201],
  },
  delete: { method: "delete", action: "delete", word: "delete", on: "item", query: deleting, codes: [200, 202] },
  deletecollection: {
    method: "delete",
    action: "deletecollection",
    word: "deleteCollection",
    on: "collection",
    query: [...deleting, ...listing.filter(({ name }) => !/watch|Bookmarks|InitialEvents/i.test(name))],
    codes: [200],
  },
};
