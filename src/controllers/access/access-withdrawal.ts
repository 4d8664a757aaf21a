import { getOrUndefined, ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { requestLabel, type AccessRequest } from "../../apis/access-request.ts";
import { tokenSecretNamespace } from "../../trust/token-secret.ts";
import { accountKey, grantPrefix, isMadeFor } from "./access-grant.ts";
import { clusterRoleBindings, roleBindings, roles, secrets, serviceAccounts } from "../kinds.ts";

/** The kinds in which a request is given rights. */
export const bindingKinds: readonly ResourceRef[] = [roleBindings, clusterRoleBindings];

/**
 * Removes everything that was made for the request; the account first, so that its tokens end at once. The status says which account
 * that is, and names say which bindings: labels and owners can be stripped by a machine that may write in its namespace.
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
 * The request with the account in its grant that was made for it and never written down, as when the hub stopped while it issued. Undefined
 * as `namespace` is of a request for which nothing can have been made.
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
  /** Those that were seen by now; a label that is there still finds younger ones. */
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
