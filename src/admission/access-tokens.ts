import type { ApiObject } from "../core/object.ts";
import { forbidden, type StatusError } from "../core/status.ts";
import { serviceAccountUser } from "../core/user.ts";
import { profileDefaults, type AccessProfile } from "../resources/access-profile.ts";
import { accessGroup, type AccessRequest } from "../resources/access-request.ts";
import { fieldsAt, numberAt, stringsAt, type Fields } from "../resources/json-fields.ts";
import type { AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** What there is already, asked about anew for each token. */
export interface AccessTokenLookups {
  readonly accountOf: (namespace: string, name: string) => ApiObject | undefined;
  readonly requestOf: (name: string) => AccessRequest | undefined;
  /** The profile of that name, or the default one for undefined; undefined where there is none. */
  readonly profileOf: (name: string | undefined) => AccessProfile | undefined;
}

const defaultSeconds = 3600;

/**
 * Keeps the token that a machine asks for with the one it has within the terms of its profile: no longer life, no other audience,
 * bound to nothing else, and none once its request is over. Tokens that somebody else asks for are left alone.
 */
export function accessTokenAdmission(lookups: AccessTokenLookups): AdmissionPlugin {
  return {
    name: "PratiqueAccessToken",
    concerns: ({ group, plural }) => group === "" && plural === "serviceaccounts",
    mutate: async (request) => {
      const { object } = request;
      if (object === undefined || !isRenewal(request)) return undefined;
      const account = lookups.accountOf(request.namespace, request.name);
      const owner = account?.metadata.ownerReferences?.find(
        ({ kind, apiVersion }) => kind === "AccessRequest" && apiVersion.split("/", 1)[0] === accessGroup,
      );
      if (owner === undefined) return undefined;
      const asked = lookups.requestOf(owner.name);
      return withinTerms(
        request,
        object,
        profileOf(request, asked?.metadata.uid === owner.uid ? asked : undefined, lookups),
      );
    },
  };
}

function isRenewal({ resource, operation, subresource, namespace, name, user }: AdmissionRequest): boolean {
  if (resource.group !== "" || resource.plural !== "serviceaccounts") return false;
  if (operation !== "CREATE" || subresource !== "token") return false;
  return user.username === serviceAccountUser(namespace, name).username;
}

/** The profile that the machine was let in by. @throws StatusError Forbidden for a request that is over. */
function profileOf(
  request: AdmissionRequest,
  asked: AccessRequest | undefined,
  lookups: AccessTokenLookups,
): AccessProfile {
  const { accepted, revoked, decisions = [] } = asked?.status ?? {};
  if (asked === undefined || accepted !== true || revoked === true || asked.metadata.deletionTimestamp !== undefined) {
    throw refused(request, "its access request is over; the machine must ask anew");
  }
  const decided = decisions.findLast(({ verdict }) => verdict === "Approved")?.profile?.name;
  const profile = lookups.profileOf(decided ?? asked.spec.profile);
  if (profile === undefined)
    throw refused(request, "the profile of its access request is gone; the machine must ask anew");
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
