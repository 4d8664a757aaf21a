import { forbidden } from "../apimachinery/status.ts";
import type { Access, AccessCheck, AdmissionRequest, AdmissionPlugin } from "./admission.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { clientSigner, wantsApiAccess } from "../apis/add-on-versions.ts";
import { managedClusterAddOns } from "../apis/managed-cluster.ts";

/** A right that a writer must hold; `names` are those under which it can be granted, any of them suffices. */
export type RequiredRight = Pick<Access, "verb" | "group" | "resource" | "subresource" | "namespace"> & {
  readonly version: string;
  /** `[""]` where the right must hold for every name. */
  readonly names: readonly string[];
};

/** What approving a certificate request of a signer takes. Source: kubernetes plugin/pkg/admission/certificates/approval. */
export function approvalRights(signer: string): readonly RequiredRight[] {
  const ours = { group: "certificates.k8s.io", namespace: "" };
  const domain = signer.slice(0, signer.indexOf("/"));
  return [
    { ...ours, version: "*", verb: "approve", resource: "signers", subresource: "", names: [signer, `${domain}/*`] },
    {
      ...ours,
      version: "v1",
      verb: "update",
      resource: "certificatesigningrequests",
      subresource: "approval",
      names: [""],
    },
  ];
}

/** How many missing rights a message lists. */
const maxListed = 8;

/** Whether two rights are the same right. */
export function sameRight(one: RequiredRight, other: RequiredRight): boolean {
  return keyOf(one) === keyOf(other);
}

/**
 * Requires the writer of an object to hold every right that the object hands out through a controller, as RBAC does for roles.
 * @throws StatusError Forbidden that lists what is missing
 */
export async function requireRights(
  may: AccessCheck,
  { user, resource, name }: Pick<AdmissionRequest, "user" | "resource" | "name">,
  rights: readonly RequiredRight[],
): Promise<void> {
  const different = [...new Map(rights.map((right) => [keyOf(right), right])).values()];
  const held = await Promise.all(different.map((right) => holds(may, user, right)));
  const missing = different.filter((_right, index) => held[index] !== true);
  if (missing.length === 0) return;
  const listed = missing.slice(0, maxListed).map(rightText).join(", ");
  const more = missing.length > maxListed ? `, and ${missing.length - maxListed} more` : "";
  const why = `user ${JSON.stringify(user.username)} must hold what the ${resource.kind} hands out; missing: ${listed}${more}`;
  throw forbidden(resource, name, why);
}

async function holds(
  may: AccessCheck,
  user: AdmissionRequest["user"],
  { names, ...asked }: RequiredRight,
): Promise<boolean> {
  for (const name of names) {
    if ((await may({ user, ...asked, name })).allowed) return true;
  }
  return false;
}

function keyOf({ verb, group, resource, subresource, namespace, names }: RequiredRight): string {
  return JSON.stringify([verb, group, resource, subresource, namespace, names]);
}

function rightText({ verb, group, resource, subresource, namespace, names: [name = ""] }: RequiredRight): string {
  const kind = `${resource}${subresource === "" ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  const named = name === "" ? "" : ` ${JSON.stringify(name)}`;
  const where = namespace === "" ? "at the cluster scope" : `in namespace ${JSON.stringify(namespace)}`;
  return `verb ${JSON.stringify(verb)} on ${kind}${named} ${where}`;
}

/** The ConfigMap that the controller of serving certificates reads. */
export const inventoryPlace: { readonly namespace: string; readonly name: string } = {
  namespace: "kube-system",
  name: "pratique-node-inventory",
};

const servingSigner = "kubernetes.io/kubelet-serving";

/**
 * Requires the writer of the inventory of nodes to be one who may approve serving certificates: those whose names it lists are approved
 * automatically. Its labels and annotations, and deleting it, which approves nothing, need no more than the verb.
 */
export function nodeInventoryAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueNodeInventory",
    concerns: ({ group, plural }) => group === "" && plural === "configmaps",
    validate: async (request) => {
      const { operation, namespace, name, object, oldObject } = request;
      if (namespace !== inventoryPlace.namespace || name !== inventoryPlace.name) return;
      if (operation === "DELETE" || object === undefined) return;
      if (jsonEqual(object["data"] ?? {}, oldObject?.["data"] ?? {})) return;
      await requireRights(may, request, approvalRights(servingSigner));
    },
  };
}

/**
 * Requires who registers an add-on for the API to be one who may approve its certificates, as these are approved by themselves from
 * then on. The agent of the cluster, which writes the rest of that status, may not.
 */
export function clusterAddOnAdmission(may: AccessCheck): AdmissionPlugin {
  return {
    name: "ManagedClusterAddOn",
    concerns: ({ group, plural }) => group === managedClusterAddOns.group && plural === managedClusterAddOns.plural,
    validate: async (request) => {
      const { operation, object, oldObject } = request;
      if (operation === "DELETE" || object === undefined || !wantsApiAccess(object)) return;
      if (oldObject !== undefined && wantsApiAccess(oldObject)) return;
      await requireRights(may, request, approvalRights(clientSigner));
    },
  };
}
