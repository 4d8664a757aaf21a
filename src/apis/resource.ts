import type { Decoded } from "../apimachinery/decode.ts";
import type { FieldError } from "../apimachinery/field-error.ts";
import type { FieldSet } from "../apimachinery/managed-fields/field-set.ts";
import type { JsonObject } from "../apimachinery/json-value.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Steps } from "../apimachinery/steps.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import type { CelType } from "../policy/cel/types.ts";

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection";

/** All verbs of a stored kind. */
export const storedVerbs: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** One column of `kubectl get`; the first is always Name and is not listed here. */
export interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format?: string;
  readonly description: string;
  /** Above 0 the column shows only with `-o wide`. */
  readonly priority?: number;
  /** The cell; `now` in milliseconds, for ages. Must not throw, whatever the object contains. */
  readonly cell: (object: ApiObject, now: number) => string | number | boolean | null;
}

/** The remote end of a connection. */
export interface RequestSource {
  readonly address: string;
  /** The User-Agent of the client. */
  readonly userAgent: string;
}

/** The parts of the request that the pure functions of a resource may use besides the object. */
export interface PrepareContext {
  readonly user: UserInfo;
  /** The client's address; absent inside the hub. */
  readonly source?: RequestSource;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A subresource: a path below an object with an authorization of its own. */
export type Subresource = PartOfObject | CreatedUnderObject | ConnectedSubresource;

/** A part of the object itself that is read and changed separately, such as `status` or `approval`. */
export interface PartOfObject {
  readonly verbs: readonly Verb[];
  /** Takes from `incoming` only the fields that this subresource may change and the rest from `stored`. */
  readonly prepareForUpdate: (incoming: ApiObject, stored: ApiObject, context: PrepareContext) => ApiObject;
  readonly validateUpdate?: (next: ApiObject, stored: ApiObject) => readonly FieldError[];
  /** In place of `validateUpdate`, where that may take long. */
  readonly validateUpdateInSteps?: (next: ApiObject, stored: ApiObject) => Steps<readonly FieldError[]>;
  /** Absent where it is read and written in the shape of the object itself. */
  readonly shownAs?: ShownAs;
  /** False where Kubernetes answers a request for a Table with 406: its storage has no TableConvertor. */
  readonly table?: false;
  readonly creates?: undefined;
  readonly connects?: undefined;
}

/** A part of an object in the form of another kind, such as `scale`. */
export interface ShownAs {
  readonly kind: Resource;
  readonly show: (object: ApiObject) => ApiObject;
  /** Why the object cannot be read in this form, or undefined. */
  readonly missing: (object: ApiObject) => string | undefined;
  /** The object as `shown`, of that other kind, requires it. */
  readonly write: (shown: ApiObject, stored: ApiObject) => ApiObject;
}

/** An object of another kind that is created under the object and returned instead of stored, such as the `token` of a ServiceAccount. */
export interface CreatedUnderObject {
  readonly verbs: readonly ["create"];
  /** The kind of request and response. Its plural and names are never used: the parent object identifies it. */
  readonly creates: Resource;
  readonly table?: undefined;
  readonly connects?: undefined;
  readonly shownAs?: undefined;
  readonly prepareForUpdate?: undefined;
  readonly validateUpdate?: undefined;
  readonly validateUpdateInSteps?: undefined;
}

/** An endpoint of the kubelet of a Pod or Node, such as `exec`: the hub relays it and stores nothing. */
export interface ConnectedSubresource {
  readonly verbs: readonly Verb[];
  readonly connects: "attach" | "exec" | "log" | "portforward" | "proxy";
  /** The kind of the options in the query, which admission receives as a CONNECT; undefined where there is none: a log is read with GET. */
  readonly options?: Resource;
  readonly table?: undefined;
  readonly creates?: undefined;
  readonly shownAs?: undefined;
  readonly prepareForUpdate?: undefined;
  readonly validateUpdate?: undefined;
  readonly validateUpdateInSteps?: undefined;
}

/** The kind in which a subresource is read and written. */
export function kindOf(resource: Resource, subresource: Subresource | undefined): Resource {
  if (subresource?.connects !== undefined) return subresource.options ?? resource;
  return subresource?.creates ?? subresource?.shownAs?.kind ?? resource;
}

/** The differences between a kind made from a CustomResourceDefinition and a built-in one. */
export interface CustomKind {
  /** Decodes a parsed value: metadata as that of any object, unknown fields pruned, defaults filled in. @throws DecodeError */
  readonly decode: (value: JsonObject) => Decoded;
  /** Reads the schemas that other functions of the kind use; they read them in one go when they run first. */
  readonly prepare: () => Steps<void>;
  /** The type of objects of the kind in expressions, from its schema; undefined without a known type. */
  readonly celType: () => Steps<CelType | undefined>;
  /** The OpenAPI of the kind, references included, for either version of OpenAPI. */
  readonly published: (flavour: "v2" | "v3") => Steps<JsonObject>;
  readonly storage: CustomStorage;
  /** A warning to all clients that use this version. */
  readonly warning: string | undefined;
  /** The definition is being deleted: no more objects can be created, and discovery lists only verbs that read and delete. */
  readonly terminating: boolean;
}

/** How objects of a custom kind are stored, and how they are converted to the requested version. */
export interface CustomStorage {
  /** The apiVersion in which objects are written. */
  readonly apiVersion: string;
  /** Objects written later were written under this very definition. */
  readonly since: number;
  /** A stored object by the current schema of its version; itself when nothing changes. */
  readonly settle: (stored: ApiObject) => ApiObject;
  /** Converts objects of any version to another one; undefined where only the apiVersion differs. @throws StatusError InternalError */
  readonly convert: ((objects: readonly ApiObject[], apiVersion: string) => Promise<readonly ApiObject[]>) | undefined;
}

/** The deletion rules of a kind; all functions are pure. */
export interface Deletion {
  /** Seconds until a marked object may be removed; 0 removes at once. `requested` comes from the DeleteOptions. */
  readonly graceSeconds?: (object: ApiObject, requested: number | undefined) => number;
  /** Whether a finalizer outside `metadata.finalizers` still keeps the object (a namespace's spec.finalizers). */
  readonly held?: (object: ApiObject) => boolean;
  /** The contents of the object are deleted before it (a namespace), without a grace period. */
  readonly emptied?: boolean;
  /** The object as it is stored once marked for deletion (a namespace's phase Terminating). */
  readonly marked?: (object: ApiObject) => ApiObject;
}

/**
 * The complete definition of one kind for the server. Discovery, OpenAPI, tables, protobuf, RBAC verbs and reference
 * docs derive from it; built-in and custom kinds take one path. Its functions are pure: `prepare*` returns a new object,
 * `validate*` returns a list, none throws or changes its arguments.
 */
export interface Resource {
  /** `""` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly verbs: readonly Verb[];
  /** Why clients cannot write objects of this kind, for the error of a write; undefined where they can. */
  readonly readOnly?: string;
  readonly schema: ObjectSchema;
  readonly columns: readonly Column[];
  readonly subresources: Readonly<Record<string, Subresource>>;
  /** The rule for names; `path` allows any one path segment (certificate signing requests, RBAC kinds). */
  readonly names: "dns-label" | "dns-subdomain" | "path";
  /** PUT of a missing object creates it (leases, events, RBAC). */
  readonly createOnUpdate: boolean;
  /** PUT without resourceVersion overwrites. False for leases and custom resources. */
  readonly unconditionalUpdate: boolean;
  /** DELETE replies with the object in place of a Status (pods, namespaces, serviceaccounts). */
  readonly deleteReturnsObject: boolean;
  /** `metadata.generation` starts at 1 and rises with each change outside metadata and status. */
  readonly generation: boolean;
  readonly prepareForCreate?: (object: ApiObject, context: PrepareContext) => ApiObject;
  readonly prepareForUpdate?: (incoming: ApiObject, stored: ApiObject, context: PrepareContext) => ApiObject;
  /** Checks a new object, or one that replaces `stored`: an error that the stored object has as well may be ignored. */
  readonly validate?: (object: ApiObject, stored?: ApiObject) => readonly FieldError[];
  /** The same as `validate` in steps, where that may take long; the registry prefers it. */
  readonly validateInSteps?: (object: ApiObject, stored?: ApiObject) => Steps<readonly FieldError[]>;
  readonly validateUpdate?: (next: ApiObject, stored: ApiObject) => readonly FieldError[];
  readonly deletion?: Deletion;
  /** Field labels beyond metadata.name and metadata.namespace, with their value in an object. */
  readonly selectableFields?: Readonly<Record<string, (object: ApiObject) => string>>;
  /** Fields besides status that the server sets, and that no field manager owns. */
  readonly serverFields?: FieldSet;
  /** Present in kinds that were made from a CustomResourceDefinition. */
  readonly custom?: CustomKind;
}

/** The key prefix of the objects of a resource, ending in a slash: `/registry/<group or core>/<plural>/`. */
export function storagePrefix(resource: Pick<Resource, "group" | "plural">): string {
  return `/registry/${resource.group === "" ? "core" : resource.group}/${resource.plural}/`;
}
