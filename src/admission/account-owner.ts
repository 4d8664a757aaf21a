import type { ApiObject } from "../apimachinery/object.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { accessGroup, type AccessRequest } from "../apis/access-request.ts";
import type { Access, AccessCheck } from "./access-check.ts";

/** What there is already, asked about anew each time. */
export interface AccountLookups {
  readonly accountOf: (namespace: string, name: string) => Promise<ApiObject | undefined>;
  readonly requestOf: (name: string) => AccessRequest | undefined;
}

/**
 * The access request that an account was made for, or undefined. The status of the request says so, which the account's holder cannot
 * write; the account's owner counts as long as the status does not name an account yet.
 */
export async function requestOfAccount(
  { accountOf, requestOf }: AccountLookups,
  namespace: string,
  name: string,
): Promise<AccessRequest | undefined> {
  const named = requestOf(name);
  const { grant } = named?.status ?? {};
  if (grant?.namespace === namespace && grant.serviceAccount === name) return named;
  const account = await accountOf(namespace, name);
  const owner = account === undefined ? undefined : accessOwner(account);
  const owning = owner === undefined ? undefined : requestOf(owner.name);
  return owner !== undefined && owning?.metadata.uid === owner.uid ? owning : undefined;
}

/** The AccessRequest among the owners of an object, whether or not it exists. */
export function accessOwner({ metadata }: ApiObject): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(
    ({ kind, apiVersion }) => kind === "AccessRequest" && apiVersion.split("/", 1)[0] === accessGroup,
  );
}

/** Whether a user may issue answers to access requests, as their controller does. */
export async function mayIssue(may: AccessCheck, user: UserInfo, name: string): Promise<boolean> {
  return mayOf(may, user, { verb: "issue", resource: "accessrequests", name });
}

/** Whether a user holds a verb on an object of the group of access requests. */
export async function mayOf(
  may: AccessCheck,
  user: UserInfo,
  what: Pick<Access, "verb" | "resource" | "name">,
): Promise<boolean> {
  return (await may({ user, ...what, group: accessGroup, version: "v1alpha1", subresource: "", namespace: "" }))
    .allowed;
}

/** Whether a user holds a right in all namespaces, and so for every account that there is. */
export async function holdsEverywhere(
  may: AccessCheck,
  user: UserInfo,
  right: Pick<Access, "verb" | "resource" | "subresource">,
): Promise<boolean> {
  return (await may({ user, ...right, group: "", version: "v1", namespace: "", name: "" })).allowed;
}
