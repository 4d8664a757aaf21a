import { type StatusWrite, oversteps, stampedStatus, verdictsIn } from "./access-decision.ts";
import { isGranted, mayIssue, mayOf } from "./access-accounts.ts";
import { isInNetworks } from "../policy/kubernetes/cidr.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { forbiddenField, invalid, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError, forbidden } from "../apimachinery/status.ts";
import { anonymousUser, type UserInfo } from "../apimachinery/user.ts";
import type { SshPublicKey } from "../pki/ssh-public-key.ts";
import { decidedProfile, profileDefaults, type AccessProfile } from "../apis/access-profile.ts";
import { accessGroup, plainAddress, readKey, type AccessRequest } from "../apis/access-request.ts";
import { provesPossession } from "../trust/possession.ts";
import type { AccessCheck, AdmissionPlugin, AdmissionRequest } from "./admission.ts";

/** The stored objects, read again for each request. */
export interface AccessRequestLookups {
  /** The profile of this name, or the default profile for undefined; undefined where there is none. */
  readonly profileOf: (name: string | undefined) => AccessProfile | undefined;
  readonly requestOf: (name: string) => AccessRequest | undefined;
  /** The number of requests that wait for an answer. */
  readonly pending: () => number;
  /** How many of them have this address as source; absent where addresses are unknown. */
  readonly pendingFrom?: (address: string) => number;
  /** Pins of the CAs that machines may have seen. */
  readonly caPins: () => readonly string[];
}

export interface AccessRequestsOptions {
  readonly lookups: AccessRequestLookups;
  readonly may: AccessCheck;
  /** Counts one request from an address without a credential; false when there were too many. Absent where requests are counted before their bodies are read. */
  readonly take?: (address: string) => boolean;
  /** The maximum number of requests that wait for an answer. */
  readonly maxPending: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const maxCharacters = 32_768;

/**
 * Limits what anonymous users may create, and which users may decide: the API stamps evidence and decisions, only a user with the
 * permission writes a field of the status, and requests come from the networks of their profile, in limited numbers.
 */
export function accessRequestAdmission(options: AccessRequestsOptions): AdmissionPlugin {
  return {
    name: "PratiqueAccessRequest",
    concerns: ({ group }) => group === accessGroup,
    mutate: async (request, round) => {
      const { object, operation, subresource } = request;
      // A decision is stamped once; later changes by a webhook are the operator's choice.
      if (!isAccessRequest(request) || object === undefined || round.number > 0) return undefined;
      if (operation !== "UPDATE" || subresource !== "status") return undefined;
      return decided(options, request, object as AccessRequest);
    },
    validate: async (request) => {
      const { object, operation } = request;
      if (isAccessRequest(request) && operation === "CREATE" && object !== undefined) {
        await checkAsked(options, request, object as AccessRequest);
      }
    },
  };
}

function isAccessRequest({ resource }: AdmissionRequest): boolean {
  return resource.group === accessGroup && resource.plural === "accessrequests";
}

/** @throws StatusError TooManyRequests, Invalid, Forbidden for a rejected new request */
async function checkAsked(
  options: AccessRequestsOptions,
  request: AdmissionRequest,
  object: AccessRequest,
): Promise<void> {
  const { user, name } = request;
  const address = addressOf(request);
  if (user.username === anonymousUser && options.take?.(address) === false) throw tooManyAccessRequests();
  if (!(await mayIssue(options.may, user, name))) checkModest(request, object);
  const key = readKey(object);
  // Validation has reported a problem of the key.
  if (key === undefined) return;
  checkPending(options, address);
  const isProven = isPossessionProven(options, request, { key, proof: object.spec.proof });
  const profile = options.lookups.profileOf(object.spec.profile);
  if (profile !== undefined) checkProfile(profile, request, isProven);
}

/** @throws StatusError TooManyRequests; one address can use only a share of the limit. */
function checkPending({ lookups, maxPending }: AccessRequestsOptions, address: string): void {
  if (lookups.pending() >= maxPending) throw tooMany("that no approver has decided on yet");
  const share = Math.ceil(maxPending / shares);
  if ((lookups.pendingFrom?.(address) ?? 0) >= share)
    throw tooMany("from this address that no approver has decided on yet");
}

const shares = 4;

/** An object of a user without rights is small, and has no finalizer that delays its deletion. */
function checkModest(request: AdmissionRequest, object: ApiObject): void {
  const errors = [
    // Approvers select by labels, which a requester must not choose.
    ...modestErrors(object, "only approvers set labels; a machine describes itself in spec.claims"),
    ...Object.keys(object.metadata.annotations ?? {})
      .filter(isOurs)
      .map((key) => forbiddenField(`metadata.annotations[${key}]`, "it is written by the API and its people only")),
  ];
  if (errors.length > 0) throw invalidObject(request.resource, request.name, errors);
}

/** Fields that an object of a user without permissions must not have; `labelsWhy` is the message for labels. */
export function modestErrors(object: ApiObject, labelsWhy: string): readonly FieldError[] {
  const { finalizers = [], ownerReferences = [], labels = {} } = object.metadata;
  return [
    ...(JSON.stringify(object).length > maxCharacters
      ? [invalid("", `${maxCharacters} characters`, "the request is larger than this; ask with less")]
      : []),
    ...(finalizers.length > 0 ? [forbiddenField("metadata.finalizers", "a request has none when it is made")] : []),
    ...(ownerReferences.length > 0
      ? [forbiddenField("metadata.ownerReferences", "ownerReferences are not allowed")]
      : []),
    ...(Object.keys(labels).length > 0 ? [forbiddenField("metadata.labels", labelsWhy)] : []),
  ];
}

/** Whether an annotation has this group or another of the project. */
function isOurs(key: string): boolean {
  const [domain = ""] = key.split("/", 1);
  return key.includes("/") && (domain === ownDomain || domain.endsWith(`.${ownDomain}`));
}

const ownDomain = "pratique.dev";

/** The 429 for a machine without a credential, when it or all machines together send too many requests. */
export function tooManyAccessRequests(): StatusError {
  return tooMany("from this address or in all");
}

function tooMany(which: string): StatusError {
  return new StatusError("TooManyRequests", `there are too many access requests ${which}; try again later`, {
    details: { retryAfterSeconds: 10 },
  });
}

/** @throws StatusError Forbidden where the profile does not allow this request. */
function checkProfile({ spec, metadata }: AccessProfile, request: AdmissionRequest, isProven: boolean): void {
  const { sourceNetworks = [], requirePossession } = spec;
  const named = JSON.stringify(metadata.name ?? "");
  const address = addressOf(request);
  if (sourceNetworks.length > 0 && !isInNetworks(address, sourceNetworks)) {
    const why = `requests for profile ${named} are taken from its networks only, and this one came from ${address === "" ? "an unknown address" : address}`;
    throw forbidden(request.resource, request.name, why);
  }
  if (requirePossession === true && !isProven) {
    const why = `profile ${named} asks for a proof that the machine holds its key; use pratique request`;
    throw forbidden(request.resource, request.name, why);
  }
}

function addressOf({ source }: AdmissionRequest): string {
  return plainAddress(source?.address ?? "");
}

/** Whether the machine has proven possession of its key. @throws StatusError Forbidden for a proof that is invalid here */
function isPossessionProven(
  { lookups }: AccessRequestsOptions,
  { name, resource }: AdmissionRequest,
  { key, proof = "" }: { readonly key: SshPublicKey; readonly proof: string | undefined },
): boolean {
  if (proof === "") return false;
  const pins = lookups.caPins();
  const { fingerprint } = key;
  if (pins.some((caPin) => provesPossession(key, { name, fingerprint, caPin }, proof))) return true;
  const why = `its proof is not of this key, name and CA (${pins.join(" or ")}): if the machine saw another CA, its connection to this API was intercepted`;
  throw forbidden(resource, name, why);
}

/** The status with the decision stamped. @throws StatusError Forbidden, Invalid. */
async function decided(
  options: AccessRequestsOptions,
  request: AdmissionRequest,
  object: AccessRequest,
): Promise<ApiObject> {
  const { user, resource, name } = request;
  const profile = options.lookups.profileOf(object.spec.profile);
  const write = await statusWrite(options, request, { object, profile });
  const [taken] = oversteps(write);
  if (taken !== undefined) {
    throw forbidden(resource, name, `user ${JSON.stringify(user.username)} may decide, and not write status.${taken}`);
  }
  if (verdictsIn(write.stored, write.incoming).length > 0) await checkApprover(options, request, profile);
  const stamped = stampedStatus(write);
  if (stamped.kind === "refused") throw invalidObject(resource, name, [forbiddenField("status", stamped.why)]);
  if (stamped.verdict === "Approved") {
    const words = write.incoming.wordsCompared === true ? "compared" : "not compared";
    request.annotate("access.pratique.dev/words", words);
  }
  return { ...object, status: stamped.status };
}

async function statusWrite(
  options: AccessRequestsOptions,
  { user, name, oldObject, impersonator }: AdmissionRequest,
  { object, profile }: { readonly object: AccessRequest; readonly profile: AccessProfile | undefined },
): Promise<StatusWrite> {
  return {
    mayIssue: await mayIssue(options.may, user, name),
    stored: (oldObject as AccessRequest | undefined)?.status ?? {},
    incoming: object.status ?? {},
    user: user.username,
    impersonator: impersonator?.username,
    now: rfc3339(options.now()),
    approvers: profile && (profile.spec.approvers ?? profileDefaults.approvers),
    profile: profile && decidedProfile(profile),
  };
}

/** A decision requires the verb `approve` on the requested profile, besides writing the status. */
async function checkApprover(
  options: AccessRequestsOptions,
  request: AdmissionRequest,
  profile: AccessProfile | undefined,
): Promise<void> {
  const { user, resource, name } = request;
  const { name: profileName = "" } = profile?.metadata ?? {};
  if (await mayOf(options.may, user, { verb: "approve", resource: "accessprofiles", name: profileName })) {
    for (const one of [user, ...(request.impersonator === undefined ? [] : [request.impersonator])]) {
      if (!isMachine(options, one, { name, profile })) continue;
      const why = `user ${JSON.stringify(one.username)} is the account of an AccessRequest, and those decide on none`;
      throw forbidden(resource, name, why);
    }
    return;
  }
  const why = `user ${JSON.stringify(user.username)} may not decide on requests for ${profileName === "" ? "no profile" : `profile ${JSON.stringify(profileName)}`}: verb "approve" on accessprofiles.${accessGroup} is needed`;
  throw forbidden(resource, name, why);
}

/** Whether a user is the account that a request was granted, or that this one would be. */
function isMachine(
  { lookups }: AccessRequestsOptions,
  { username }: UserInfo,
  { name, profile }: { readonly name: string; readonly profile: AccessProfile | undefined },
): boolean {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(username) ?? [];
  if (namespace === undefined || account === undefined) return false;
  if (account === name && namespace === profile?.spec.namespace) return true;
  return isGranted(lookups.requestOf(account), namespace, account);
}
