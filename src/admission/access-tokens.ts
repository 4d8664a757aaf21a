import type { ApiObject } from "../apimachinery/object.ts";
import { forbidden, type StatusError } from "../apimachinery/status.ts";
import { serviceAccountUser } from "../apimachinery/user.ts";
import { profileDefaults, type AccessProfile } from "../apis/access-profile.ts";
import type { AccessRequest } from "../apis/access-request.ts";
import { fieldsAt, numberAt, stringsAt, type Fields } from "../apis/json-fields.ts";
import type { AccessCheck } from "./access-check.ts";
import { accessOwner, holdsEverywhere, mayIssue, requestOfAccount, type AccountLookups } from "./account-owner.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** What there is already, asked about anew for each token. */
export interface AccessTokenLookups extends AccountLookups {
  /** The profile of that name, or the default one for undefined; undefined where there is none. */
  readonly profileOf: (name: string | undefined) => AccessProfile | undefined;
}

const defaultSeconds = 3600;

/**
 * Keeps the token that a machine asks for with the one it has within the terms of its profile: no longer life, no other audience,
 * bound to nothing else, and none once its request is over. The account of a machine gives no token to others, unless they may have
 * those of all accounts; an impersonated account is another, as it has no uid.
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
      // Of an account whose request is gone, its owner still tells.
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

/** Whether the very account asks. */
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

/** The profile that the machine was let in by. @throws StatusError Forbidden for a request that is over. */
function profileOf(
  request: AdmissionRequest,
  asked: AccessRequest | undefined,
  lookups: AccessTokenLookups,
): AccessProfile {
  const { accepted, revoked, decisions = [] } = asked?.status ?? {};
  if (asked === undefined || accepted !== true || revoked === true || asked.metadata.deletionTimestamp !== undefined) {
    throw refused(request, "its access request is over; the machine must create a new request");
  }
  const decided = decisions.findLast(({ verdict }) => verdict === "Approved")?.profile?.name;
  const profile = lookups.profileOf(decided ?? asked.spec.profile);
  if (profile === undefined)
    throw refused(request, "the profile of its access request is gone; the machine must create a new request");
  return profile;
}

/** @throws StatusError Forbidden for an audience or a bound object that the profile does not give. */
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
