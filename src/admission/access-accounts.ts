import { jsonEqual } from "../apimachinery/equal.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden } from "../apimachinery/status.ts";
import { requestLabel } from "../apis/access-request.ts";
import { stringAt } from "../apis/json-fields.ts";
import type { AccessCheck } from "./access-check.ts";
import { holdsEverywhere, mayIssue, requestOfAccount, type AccountLookups } from "./account-owner.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

export interface AccessAccountOptions {
  readonly lookups: AccountLookups;
  readonly may: AccessCheck;
}

const tokenType = "kubernetes.io/service-account-token";
const accountAnnotation = "kubernetes.io/service-account.name";

/**
 * Keeps what ties the account of a machine to its access request: owner, label and name are written by those who issue answers, and a
 * Secret holds its token only for those who may write Secrets in all namespaces. A machine with role `edit` in its namespace could
 * otherwise outlive the revocation of its request.
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

/** What of a write touches the tie of an account to its request, or undefined. */
function changedTie(next: ApiObject, stored: ApiObject | undefined, isHeld: boolean): string | undefined {
  const [now, before] = [next, stored].map((one) => one?.metadata);
  const owners = (list: ApiObject["metadata"]["ownerReferences"] = []): object =>
    list.filter(({ kind }) => isHeld || kind === "AccessRequest");
  if (!jsonEqual(owners(now?.ownerReferences), owners(before?.ownerReferences))) {
    return "metadata.ownerReferences ties the account of a machine to its AccessRequest";
  }
  if (now?.labels?.[requestLabel] !== before?.labels?.[requestLabel]) {
    return `label ${requestLabel} ties the account of a machine to its AccessRequest`;
  }
  // A finalizer would keep the account after its request has ended.
  if (!isHeld || jsonEqual(now?.finalizers ?? [], before?.finalizers ?? [])) return undefined;
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
  // Such as the controllers of Kubernetes before 1.24, which make one for each account.
  if (await holdsEverywhere(may, user, { verb: "create", resource: "secrets", subresource: "" })) return;
  const why = `the token of account ${JSON.stringify(account)} would outlive the terms of AccessRequest ${JSON.stringify(held.metadata.name)}; its machine renews its token by TokenRequest`;
  throw forbidden(resource, name, why);
}

/** The account whose token a Secret asks for, or undefined. */
function tokenAccount(secret: ApiObject): string | undefined {
  if (stringAt(secret, "type") !== tokenType) return undefined;
  return secret.metadata.annotations?.[accountAnnotation];
}
