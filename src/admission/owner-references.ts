import { jsonEqual } from "../apimachinery/equal.ts";
import type { OwnerReference } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import type { AccessCheck, AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface OwnerReferencesOptions {
  readonly may: AccessCheck;
  /** The resource of a kind; undefined for a kind that is not served. */
  readonly resourceOf: (apiVersion: string, kind: string) => Resource | undefined;
}

/**
 * Requires permission to delete an object to change its ownerReferences, and permission to set the finalizers of an owner to block its
 * deletion. Source: kubernetes plugin/pkg/admission/gc.
 */
export function ownerReferences(options: OwnerReferencesOptions): AdmissionPlugin {
  return {
    name: "OwnerReferencesPermissionEnforcement",
    validate: async (request) => {
      if (request.object === undefined || request.operation === "DELETE") return;
      const [next, before] = [ownersOf(request.object), ownersOf(request.oldObject)];
      if (next.length === before.length && jsonEqual(next, before)) return;
      if (request.operation !== "CREATE") await checkDeletion(request, options);
      const blocking = next.filter((one) => one.blockOwnerDeletion === true && !wasBlocking(one, before));
      if (blocking.length > 0) await checkFinalizers(request, blocking, options);
    },
  };
}

function ownersOf(object: AdmissionRequest["object"]): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? [];
}

function wasBlocking({ uid }: OwnerReference, before: readonly OwnerReference[]): boolean {
  return before.some((one) => one.uid === uid && one.blockOwnerDeletion === true);
}

async function checkDeletion(request: AdmissionRequest, { may }: OwnerReferencesOptions): Promise<void> {
  const { resource, user, subresource, namespace, name } = request;
  const { group, version, plural } = resource;
  const deletion = { user, verb: "delete", group, version, resource: plural, subresource, namespace, name };
  const { allowed, reason } = await may(deletion);
  if (allowed) return;
  throw forbidden(resource, name, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
}

async function checkFinalizers(
  { resource, user, namespace, name }: AdmissionRequest,
  owners: readonly OwnerReference[],
  { may, resourceOf }: OwnerReferencesOptions,
): Promise<void> {
  const wanted = { user, verb: "update", subresource: "finalizers" };
  const any = await may({ ...wanted, group: "*", version: "*", resource: "*", namespace: "", name: "*" });
  if (any.allowed) return;
  for (const owner of owners) {
    const kind = resourceOf(owner.apiVersion, owner.kind);
    if (kind === undefined) {
      const what = `cannot find RESTMapping for APIVersion ${owner.apiVersion} Kind ${owner.kind}`;
      const why = `no matches for kind ${JSON.stringify(owner.kind)} in version ${JSON.stringify(owner.apiVersion)}`;
      throw forbidden(resource, name, `cannot set blockOwnerDeletion in this case because ${what}: ${why}`);
    }
    const { allowed, reason } = await may({
      ...wanted,
      group: kind.group,
      version: kind.version,
      resource: kind.plural,
      // A namespaced owner is in the namespace of its dependents.
      namespace: kind.scope === "Namespaced" ? namespace : "",
      name: owner.name,
    });
    if (!allowed) {
      const why = `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`;
      throw forbidden(resource, name, why);
    }
  }
}
