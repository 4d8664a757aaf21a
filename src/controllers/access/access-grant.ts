import type { ApiObject, ObjectKey, OwnerReference } from "../../apimachinery/object.ts";
import type { AccessProfile } from "../../apis/access-profile.ts";
import { accessRequests, requestLabel, type AccessRequest } from "../../apis/access-request.ts";
import type { ResourceRef, Client } from "../../client/client.ts";
import { clusterRoleBindings, roleBindings, roles, secrets, serviceAccounts } from "../kinds.ts";
import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import { tokenSecretNamespace } from "../../trust/token-secret.ts";

/** One object of a grant. */
export interface GrantedObject {
  readonly resource: ResourceRef;
  readonly object: ApiObject;
}

/** The key of the account of a request; its name is that of the request. */
export function accountKey(request: AccessRequest, namespace: string): ObjectKey & { readonly namespace: string } {
  return { namespace, name: request.metadata.name ?? "" };
}

/** The account of a machine. Its token is not mounted into pods. */
export function accountFor(request: AccessRequest, namespace: string): ApiObject {
  return {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      ...accountKey(request, namespace),
      ...markOf(request),
    },
    automountServiceAccountToken: false,
  };
}

/** Whether an object was created for this request; its name alone does not prove it. */
export function isMadeFor(request: AccessRequest, object: ApiObject): boolean {
  const uid = request.metadata.uid ?? "";
  return uid !== "" && (object.metadata.ownerReferences ?? []).some((owner) => owner.uid === uid);
}

/** The objects of the grant: the roles of the profile, and the right of the account to renew its own token. Roles before the bindings that name them. */
export function grantsOf(request: AccessRequest, { spec }: AccessProfile): readonly GrantedObject[] {
  const { namespace } = spec;
  const account = accountKey(request, namespace);
  const renewal = `${grantPrefix(request)}renewal`;
  const meta = (name: string): ApiObject["metadata"] => ({ name, namespace, ...markOf(request) });
  const subjects = [{ kind: "ServiceAccount", ...account }];
  const granted = (spec.roles ?? []).map(({ kind, name, clusterWide = false }, index): GrantedObject => {
    const roleRef = { apiGroup: rbacGroup, kind, name };
    const { namespace: within, ...unplaced } = meta(`${grantPrefix(request)}${index}`);
    const metadata = clusterWide ? unplaced : { ...unplaced, ...(within === undefined ? {} : { namespace: within }) };
    const resource = clusterWide ? clusterRoleBindings : roleBindings;
    return { resource, object: { apiVersion: rbacVersion, kind: resource.kind, metadata, subjects, roleRef } };
  });
  return [
    {
      resource: roles,
      object: {
        apiVersion: rbacVersion,
        kind: "Role",
        metadata: meta(renewal),
        rules: [
          { apiGroups: [""], resources: ["serviceaccounts/token"], resourceNames: [account.name], verbs: ["create"] },
        ],
      },
    },
    {
      resource: roleBindings,
      object: {
        apiVersion: rbacVersion,
        kind: "RoleBinding",
        metadata: meta(renewal),
        subjects,
        roleRef: { apiGroup: rbacGroup, kind: "Role", name: renewal },
      },
    },
    ...granted,
  ];
}

/** The prefix of the names of all bindings and roles of a request; names cannot be changed, unlike labels and owners. */
function grantPrefix({ metadata }: AccessRequest): string {
  return `access-${metadata.uid ?? ""}-`;
}

/** The metadata that marks an object as created for a request; it is deleted with the request. */
export function markOf(request: AccessRequest): Pick<ApiObject["metadata"], "labels" | "ownerReferences"> {
  return { labels: { [requestLabel]: request.metadata.uid ?? "" }, ownerReferences: [ownerOf(request)] };
}

function ownerOf(request: AccessRequest): OwnerReference {
  const { name = "", uid = "" } = request.metadata;
  const apiVersion = `${accessRequests.group}/${accessRequests.version}`;
  return { apiVersion, kind: accessRequests.kind, name, uid, controller: true };
}

const rbacGroup = "rbac.authorization.k8s.io";
const rbacVersion = `${rbacGroup}/v1`;

/** The kinds of the objects that grant rights to a request. */
export const bindingKinds: readonly ResourceRef[] = [roleBindings, clusterRoleBindings];

/**
 * Removes everything that was created for the request; the account first, so that its tokens become invalid at once. The status names the
 * account, and the bindings are found by name: a machine that may write in its namespace could strip labels and owners.
 */
export async function takeBack(
  client: Client,
  request: AccessRequest,
  seen: (kind: ResourceRef) => readonly ApiObject[],
): Promise<void> {
  const { namespace, bootstrapSecret } = request.status?.grant ?? {};
  if (namespace !== undefined) {
    await ignoreReasons(client.delete(serviceAccounts, accountKey(request, namespace)), "NotFound");
    await removeAll(client, request, { resource: roleBindings, namespace, seen: seen(roleBindings) });
    await ignoreReasons(client.delete(roles, { namespace, name: `${grantPrefix(request)}renewal` }), "NotFound");
  }
  await removeAll(client, request, { resource: clusterRoleBindings, seen: seen(clusterRoleBindings) });
  if (bootstrapSecret !== undefined) {
    const key = { namespace: tokenSecretNamespace, name: bootstrapSecret };
    await ignoreReasons(client.delete(secrets, key), "NotFound");
  }
}

/**
 * The request with an account in its grant that was created for it and never recorded, as when the hub stopped while it issued.
 * Undefined, as is `namespace`, for a request for which nothing can have been created.
 */
export async function withForgottenGrant(
  client: Client,
  request: AccessRequest,
  namespace: string | undefined,
): Promise<AccessRequest> {
  if (namespace === undefined || request.status?.grant !== undefined) return request;
  const account = await getOrUndefined(client, serviceAccounts, accountKey(request, namespace));
  if (account === undefined || !isMadeFor(request, account)) return request;
  const { name = "", uid = "" } = account.metadata;
  return { ...request, status: { ...request.status, grant: { namespace, serviceAccount: name, uid } } };
}

interface Grants {
  readonly resource: ResourceRef;
  readonly namespace?: string;
  /** The objects in the informer cache; newer ones are found by an intact label. */
  readonly seen: readonly ApiObject[];
}

async function removeAll(client: Client, request: AccessRequest, { resource, namespace, seen }: Grants): Promise<void> {
  const labelSelector = `${requestLabel}=${request.metadata.uid ?? ""}`;
  const { items } = await client.list(resource, { labelSelector, ...(namespace === undefined ? {} : { namespace }) });
  const prefix = grantPrefix(request);
  const ours = [...items, ...seen].filter(
    ({ metadata }) => metadata.namespace === namespace && (metadata.name ?? "").startsWith(prefix),
  );
  for (const name of new Set(ours.map(({ metadata }) => metadata.name ?? ""))) {
    await ignoreReasons(client.delete(resource, namespace === undefined ? { name } : { namespace, name }), "NotFound");
  }
}
