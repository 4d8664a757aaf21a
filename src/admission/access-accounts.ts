import type { OwnerReference, ApiObject } from "../apimachinery/object.ts";
import { jsonEqual } from "../apimachinery/equal.ts";
import { forbidden, type StatusError } from "../apimachinery/status.ts";
import { requestLabel, accessGroup, type AccessRequest } from "../apis/access-request.ts";
import { stringAt, fieldsAt, numberAt, stringsAt, type Fields } from "../apis/json-fields.ts";
import type { AccessCheck, AdmissionPlugin, AdmissionRequest, Access } from "./admission.ts";
import { type UserInfo, serviceAccountUser } from "../apimachinery/user.ts";
import { profileDefaults, type AccessProfile } from "../apis/access-profile.ts";

export interface AccessAccountOptions {
  readonly lookups: AccountLookups;
  readonly may: AccessCheck;
}

const tokenType = "kubernetes.io/service-account-token";
const accountAnnotation = "kubernetes.io/service-account.name";

/**
 * Protects the link from the account of a machine to its access request: only issuers of answers write owner, label and name, and a token
 * Secret of the account requires the permission to write Secrets in all namespaces. Otherwise a machine with role `edit` in its namespace
 * could keep access after the revocation of its request.
 */
export function accessAccountAdmission(options: AccessAccountOptions): AdmissionPlugin {
  return {
    name: "PratiqueAccessAccount",
    concerns: ({ group, plural }) => group === "" && (plural === "serviceaccounts" || plural === "secrets"),
    validate: async (request) => {
      const { operation, object, resource, subresource } = request;
      if (operation === "DELETE" || object === undefined || subresource !== "") return;
      if (resource.plural === "serviceaccounts") await checkAccount(options, request, object);
      else if (resource.plural === "secrets") await checkSecret(options, request, object);
    },
  };
}

/** @throws StatusError Forbidden */
async function checkAccount(
  { lookups, may }: AccessAccountOptions,
  request: AdmissionRequest,
  object: ApiObject,
): Promise<void> {
  const { namespace, name, oldObject, user, resource } = request;
  const held = await requestOfAccount(lookups, namespace, name);
  const why =
    oldObject === undefined && held !== undefined
      ? `the name belongs to AccessRequest ${JSON.stringify(held.metadata.name)} until that is revoked or deleted`
      : changedTie(object, oldObject, held !== undefined);
  if (why === undefined || (await mayIssue(may, user, held?.metadata.name ?? ""))) return;
  throw forbidden(resource, name, `${why}; verb "issue" on accessrequests.access.pratique.dev is needed`);
}

/** The part of a write that changes the link of an account to its request, or undefined. */
function changedTie(next: ApiObject, stored: ApiObject | undefined, isHeld: boolean): string | undefined {
  const tie = "ties the account of a machine to its AccessRequest";
  const differs = (tied: (metadata: ApiObject["metadata"]) => unknown): boolean =>
    !jsonEqual(tied(next.metadata), tied(stored?.metadata ?? {}));
  const isTied = ({ kind }: OwnerReference): boolean => isHeld || kind === "AccessRequest";
  if (differs(({ ownerReferences = [] }) => ownerReferences.filter(isTied))) return `metadata.ownerReferences ${tie}`;
  if (differs(({ labels = {} }) => labels[requestLabel] ?? null)) return `label ${requestLabel} ${tie}`;
  // A finalizer would keep the account after its request has ended.
  if (!isHeld || !differs(({ finalizers = [] }) => finalizers)) return undefined;
  return "the account of a machine has no finalizers of others";
}

/** @throws StatusError Forbidden */
async function checkSecret(
  { lookups, may }: AccessAccountOptions,
  request: AdmissionRequest,
  object: ApiObject,
): Promise<void> {
  const { namespace, name, oldObject, user, resource } = request;
  const account = tokenAccount(object);
  if (account === undefined || (oldObject !== undefined && tokenAccount(oldObject) === account)) return;
  const held = await requestOfAccount(lookups, namespace, account);
  if (held === undefined || (await mayIssue(may, user, held.metadata.name ?? ""))) return;
  // For example the controllers of Kubernetes before 1.24, which create one for each account.
  if (await holdsEverywhere(may, user, { verb: "create", resource: "secrets", subresource: "" })) return;
  const why = `the token of account ${JSON.stringify(account)} would outlive the terms of AccessRequest ${JSON.stringify(held.metadata.name)}; its machine renews its token by TokenRequest`;
  throw forbidden(resource, name, why);
}

/** The account whose token a Secret requests, or undefined. */
function tokenAccount(secret: ApiObject): string | undefined {
  if (stringAt(secret, "type") !== tokenType) return undefined;
  return secret.metadata.annotations?.[accountAnnotation];
}

/** The stored objects, read again each time. */
export interface AccountLookups {
  readonly accountOf: (namespace: string, name: string) => Promise<ApiObject | undefined>;
  readonly requestOf: (name: string) => AccessRequest | undefined;
}

/**
 * The access request of an account, or undefined. The status of the request decides, which the account cannot write; the owner of the
 * account counts until the status names an account.
 */
async function requestOfAccount(
  { accountOf, requestOf }: AccountLookups,
  namespace: string,
  name: string,
): Promise<AccessRequest | undefined> {
  const named = requestOf(name);
  if (isGranted(named, namespace, name)) return named;
  const account = await accountOf(namespace, name);
  const owner = account && accessOwner(account);
  const owning = owner && requestOf(owner.name);
  return owning?.metadata.uid === owner?.uid ? owning : undefined;
}

/** Whether the status of a request names this account. */
export function isGranted(request: AccessRequest | undefined, namespace: string, account: string): boolean {
  const grant = request?.status?.grant;
  return grant?.namespace === namespace && grant.serviceAccount === account;
}

/** The AccessRequest among the owners of an object, whether or not it exists. */
function accessOwner({ metadata }: ApiObject): { readonly name: string; readonly uid: string } | undefined {
  return metadata.ownerReferences?.find(
    ({ kind, apiVersion }) => kind === "AccessRequest" && apiVersion.split("/", 1)[0] === accessGroup,
  );
}

/** Whether a user may issue answers to access requests, like their controller. */
export async function mayIssue(may: AccessCheck, user: UserInfo, name: string): Promise<boolean> {
  return mayOf(may, user, { verb: "issue", resource: "accessrequests", name });
}

/** Whether a user has a verb on an object of the group of access requests. */
export async function mayOf(
  may: AccessCheck,
  user: UserInfo,
  what: Pick<Access, "verb" | "resource" | "name">,
): Promise<boolean> {
  return (await may({ user, ...what, group: accessGroup, version: "v1alpha1", subresource: "", namespace: "" }))
    .allowed;
}

/** Whether a user has a permission in all namespaces, and so for every account. */
async function holdsEverywhere(
  may: AccessCheck,
  user: UserInfo,
  right: Pick<Access, "verb" | "resource" | "subresource">,
): Promise<boolean> {
  return (await may({ user, ...right, group: "", version: "v1", namespace: "", name: "" })).allowed;
}

/** The stored objects, read again for each token. */
export interface AccessTokenLookups extends AccountLookups {
  /** The profile of this name, or the default profile for undefined; undefined where there is none. */
  readonly profileOf: (name: string | undefined) => AccessProfile | undefined;
}

const defaultSeconds = 3600;

/**
 * Limits the token that a machine requests with its present one to the terms of its profile: no longer lifetime, no other audience, no
 * bound object, and none once its request has ended. Other users get no token of the account, unless they may create tokens of all
 * accounts; an impersonated account is another user, as it has no uid.
 */
export function accessTokenAdmission(lookups: AccessTokenLookups, may: AccessCheck): AdmissionPlugin {
  return {
    name: "PratiqueAccessToken",
    concerns: ({ group, plural }) => group === "" && plural === "serviceaccounts",
    mutate: async (request) => {
      const { object, namespace, name } = request;
      if (object === undefined || !isTokenRequest(request)) return undefined;
      const account = await lookups.accountOf(namespace, name);
      const asked = await requestOfAccount(lookups, namespace, name);
      if (!isOwn(request, account)) {
        if (asked !== undefined) await checkForeign(may, request, asked);
        return undefined;
      }
      // For an account whose request is gone, its owner still identifies the request.
      if (asked === undefined && (account === undefined || accessOwner(account) === undefined)) return undefined;
      return withinTerms(request, object, profileOf(request, asked, lookups));
    },
  };
}

function isTokenRequest({ resource, operation, subresource }: AdmissionRequest): boolean {
  return (
    resource.group === "" && resource.plural === "serviceaccounts" && operation === "CREATE" && subresource === "token"
  );
}

/** Whether the account itself is the requester. */
function isOwn({ namespace, name, user }: AdmissionRequest, account: ApiObject | undefined): boolean {
  if (user.username !== serviceAccountUser(namespace, name).username) return false;
  return (user.uid ?? "") !== "" && user.uid === account?.metadata.uid;
}

/** @throws StatusError Forbidden */
async function checkForeign(may: AccessCheck, request: AdmissionRequest, asked: AccessRequest): Promise<void> {
  const { user } = request;
  if (await mayIssue(may, user, asked.metadata.name ?? "")) return;
  if (await holdsEverywhere(may, user, { verb: "create", resource: "serviceaccounts", subresource: "token" })) return;
  const named = JSON.stringify(asked.metadata.name ?? "");
  throw refused(request, `the account of AccessRequest ${named} gives its token to its own machine alone`);
}

/** The profile that approved the machine. @throws StatusError Forbidden for an ended request. */
function profileOf(
  request: AdmissionRequest,
  asked: AccessRequest | undefined,
  lookups: AccessTokenLookups,
): AccessProfile {
  if (asked === undefined || isOver(asked)) {
    throw refused(request, "its access request is over; the machine must create a new request");
  }
  const decided = asked.status?.decisions?.findLast(({ verdict }) => verdict === "Approved")?.profile?.name;
  const profile = lookups.profileOf(decided ?? asked.spec.profile);
  if (profile !== undefined) return profile;
  throw refused(request, "the profile of its access request is gone; the machine must create a new request");
}

function isOver({ metadata, status: { accepted, revoked } = {} }: AccessRequest): boolean {
  return accepted !== true || revoked === true || metadata.deletionTimestamp !== undefined;
}

/** @throws StatusError Forbidden for an audience or a bound object that the profile does not allow. */
function withinTerms(request: AdmissionRequest, object: ApiObject, { spec, metadata }: AccessProfile): ApiObject {
  const { tokenSeconds = profileDefaults.tokenSeconds, audiences = [] } = spec;
  const wanted: Fields = fieldsAt(object, "spec");
  const named = JSON.stringify(metadata.name ?? "");
  const foreign = stringsAt(wanted, "audiences").find((audience) => !audiences.includes(audience));
  if (foreign !== undefined) {
    throw refused(request, `profile ${named} gives no token for audience ${JSON.stringify(foreign.slice(0, 253))}`);
  }
  if ((wanted["boundObjectRef"] ?? null) !== null) throw refused(request, "its token is bound to no other object");
  const seconds = Math.min(numberAt(wanted, "expirationSeconds") ?? defaultSeconds, tokenSeconds);
  const whom = stringsAt(wanted, "audiences").length === 0 ? audiences : stringsAt(wanted, "audiences");
  return {
    ...object,
    spec: { ...wanted, expirationSeconds: seconds, ...(whom.length === 0 ? {} : { audiences: whom }) },
  };
}

function refused({ resource, name }: AdmissionRequest, why: string): StatusError {
  return forbidden(resource, name, why);
}
