import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";
import { forbidden } from "../apimachinery/status.ts";
import type { Access, AccessCheck, AdmissionRequest, AdmissionPlugin } from "./admission.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { clientSigner, wantsApiAccess } from "../apis/add-on-versions.ts";
import { managedClusterAddOns } from "../apis/managed-cluster.ts";

/** A permission that a writer needs; `names` are those under which it can be granted, any of them suffices. */
export type RequiredRight = Pick<Access, "verb" | "group" | "resource" | "subresource" | "namespace"> & {
  readonly version: string;
  /** `[""]` where the permission must cover every name. */
  readonly names: readonly string[];
};

/** The permission for approving a certificate request of a signer. Source: kubernetes plugin/pkg/admission/certificates/approval. */
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

/** The maximum number of missing rights in a message. */
const maxListed = 8;

/** Whether two rights are equal. */
export function sameRight(one: RequiredRight, other: RequiredRight): boolean {
  return keyOf(one) === keyOf(other);
}

/**
 * Requires the writer of an object to have every right that the object grants through a controller, as RBAC does for roles. @throws
 * StatusError Forbidden that lists the missing rights
 */
async function requireRights(
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

/** The checks of a plugin that requires rights of the writers of one kind. */
export interface HandedOut {
  readonly name: string;
  readonly kind: Pick<Resource, "group" | "plural">;
  /** The rights that a write grants through a controller. */
  readonly rightsOf: (object: ApiObject, request: AdmissionRequest) => readonly RequiredRight[];
}

/** A plugin that requires the writer of an object to have the rights that the object grants; a delete needs only the verb. */
export function handedOutAdmission(may: AccessCheck, { name, kind, rightsOf }: HandedOut): AdmissionPlugin {
  const concerns: AdmissionPlugin["concerns"] = ({ group, plural }) => group === kind.group && plural === kind.plural;
  return {
    name,
    concerns,
    validate: async (request) => {
      const { operation, object, resource } = request;
      if (!concerns(resource) || operation === "DELETE" || object === undefined) return;
      await requireRights(may, request, rightsOf(object, request));
    },
  };
}

/** The ConfigMap of the controller of serving certificates. */
export const inventoryPlace: { readonly namespace: string; readonly name: string } = {
  namespace: "kube-system",
  name: "pratique-node-inventory",
};

const servingSigner = "kubernetes.io/kubelet-serving";

/**
 * Requires the writer of the node inventory to have the permission to approve serving certificates: certificates for its names are
 * approved automatically. A change of labels and annotations needs only the verb.
 */
export function nodeInventoryAdmission(may: AccessCheck): AdmissionPlugin {
  return handedOutAdmission(may, {
    name: "PratiqueNodeInventory",
    kind: { group: "", plural: "configmaps" },
    rightsOf: (object, { namespace, name, oldObject }) => {
      if (namespace !== inventoryPlace.namespace || name !== inventoryPlace.name) return [];
      return jsonEqual(object["data"] ?? {}, oldObject?.["data"] ?? {}) ? [] : approvalRights(servingSigner);
    },
  });
}

/**
 * Requires the user who registers an add-on for the API to have the permission to approve its certificates, as these are approved
 * automatically from then on. The agent of the cluster, which writes the rest of that status, has no such permission.
 */
export function clusterAddOnAdmission(may: AccessCheck): AdmissionPlugin {
  return handedOutAdmission(may, {
    name: "ManagedClusterAddOn",
    kind: managedClusterAddOns,
    rightsOf: (object, { oldObject }) => {
      const isNew = wantsApiAccess(object) && (oldObject === undefined || !wantsApiAccess(oldObject));
      return isNew ? approvalRights(clientSigner) : [];
    },
  });
}
