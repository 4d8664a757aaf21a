import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { prepareBinding, rbacGroup, clusterRoleBindings, clusterRoles, roleBindings, roles } from "../apis/rbac.ts";
import { isFields, stringAt, valueAt, type Fields } from "../apis/json-fields.ts";
import { validateObjectMeta } from "../apis/object-validation.ts";
import type { Resource } from "../apis/resource.ts";
import type { RbacKind, RbacObject } from "./rbac-types.ts";

/** The content of a manifest: its roles and bindings, the number of skipped objects of other kinds, and the errors. */
export interface RbacManifest {
  readonly objects: readonly RbacObject[];
  readonly others: number;
  /** Each names its object and its field. */
  readonly errors: readonly string[];
}

const resources: Readonly<Record<RbacKind, Resource>> = {
  Role: roles,
  ClusterRole: clusterRoles,
  RoleBinding: roleBindings,
  ClusterRoleBinding: clusterRoleBindings,
};
const groupVersion = `${rbacGroup}/v1`;

/**
 * Reads documents of a manifest, lists of objects among them, with the checks of the API. Objects of
 * namespaced kinds that name no namespace get `namespace`. Objects of other groups are counted and skipped.
 */
export function readRbacManifest(documents: readonly unknown[], namespace: string): RbacManifest {
  const read = documents.flatMap(objectsOf).map((value, index) => readObject(value, { namespace, index }));
  return {
    objects: read.flatMap((one) => (typeof one === "object" && "object" in one ? [one.object] : [])),
    others: read.filter((one) => one === "other").length,
    errors: read.flatMap((one) => (typeof one === "object" && "errors" in one ? one.errors : [])),
  };
}

/** `kubectl get -o yaml` of several objects prints one list. */
function objectsOf(document: unknown): readonly unknown[] {
  if (document === null || document === undefined) return [];
  const items =
    isFields(document) && stringAt(document, "kind").endsWith("List") ? valueAt(document, "items") : undefined;
  return Array.isArray(items) ? (items as readonly unknown[]) : [document];
}

type Read = { readonly object: RbacObject } | { readonly errors: readonly string[] } | "other";

function readObject(value: unknown, at: { readonly namespace: string; readonly index: number }): Read {
  if (!isFields(value)) return { errors: [`object ${at.index + 1}: not an object`] };
  const apiVersion = stringAt(value, "apiVersion");
  const kind = stringAt(value, "kind");
  if (kind === "" || apiVersion === "") return { errors: [`object ${at.index + 1}: apiVersion and kind are needed`] };
  if (apiVersion.split("/")[0] !== rbacGroup) return "other";
  const name = `${kind} ${stringAt(value, "metadata", "name") || at.index + 1}`;
  if (apiVersion !== groupVersion) return { errors: [`${name}: apiVersion: must be ${groupVersion}`] };
  const resource = new Map(Object.entries(resources)).get(kind);
  if (resource === undefined) return { errors: [`${name}: kind: must be one of ${Object.keys(resources).join(", ")}`] };
  try {
    return checked(value, { resource, name, namespace: at.namespace });
  } catch (error) {
    if (error instanceof DecodeError) return { errors: [`${name}: ${error.path}: ${error.message}`] };
    throw error;
  }
}

interface Place {
  readonly resource: Resource;
  readonly name: string;
  readonly namespace: string;
}

function checked(value: Fields, { resource, name, namespace }: Place): Read {
  const { object, unknown } = decodeObject(resource.schema, value);
  if (unknown.length > 0) return { errors: unknown.map((path) => `${name}: ${path}: unknown field`) };
  const { metadata = {} } = object as Partial<ApiObject>;
  const placed = resource.scope === "Namespaced" ? { namespace, ...metadata } : metadata;
  const whole = { ...object, metadata: placed } as ApiObject;
  const prepared = resource.kind.endsWith("Binding") ? prepareBinding(whole) : whole;
  const faults = [
    ...validateObjectMeta(prepared, resource, { isCreate: true }),
    ...(resource.validate?.(prepared) ?? []),
  ];
  if (faults.length > 0) return { errors: faults.map(({ path, message }) => `${name}: ${path}: ${message}`) };
  return { object: prepared as RbacObject };
}
