import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden, notFound } from "../apimachinery/status.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** Namespaces that cannot be deleted. */
const immortal: readonly string[] = ["default", "kube-system", "kube-public"];

/**
 * Rejects creates in a namespace that is missing or being deleted, and deletes of the namespaces that a cluster needs. `namespaceOf` must
 * see every acknowledged write. Source: apiserver pkg/admission/plugin/namespace/lifecycle.
 */
export function namespaceLifecycle(namespaceOf: (name: string) => ApiObject | undefined): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    mutate: async (request) => {
      if (isNamespace(request)) refuseImmortal(request);
      else if (request.namespace !== "" && request.operation === "CREATE")
        refuseCreation(request, namespaceOf(request.namespace));
      return undefined;
    },
  };
}

function isNamespace({ resource }: AdmissionRequest): boolean {
  return resource.group === "" && resource.plural === "namespaces";
}

function refuseImmortal({ operation, resource, name }: AdmissionRequest): void {
  if (operation === "DELETE" && immortal.includes(name))
    throw forbidden(resource, name, "this namespace may not be deleted");
}

function refuseCreation({ resource, namespace, name }: AdmissionRequest, found: ApiObject | undefined): void {
  if (found === undefined) throw notFound({ group: "", plural: "namespaces" }, namespace);
  if (found.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    resource,
    name,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  );
}
