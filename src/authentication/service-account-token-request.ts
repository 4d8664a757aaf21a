import { rfc3339 } from "../apimachinery/clock.ts";
import { invalid, invalidObject, type FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { badRequest, conflict, notFound } from "../apimachinery/status.ts";
import { numberAt, stringAt } from "../apis/json-fields.ts";
import { tokenRequests, type BoundObjectReference, type TokenRequest } from "../apis/service-account.ts";
import type { NamedObject, TokenOrder, TokenSubject } from "./service-account-claims.ts";
import type { ObjectLookup } from "./service-account-token.ts";

/** The rules for issuing tokens. */
export interface TokenRules {
  readonly issuer: string;
  /** The audiences of the API: the default for a request without audiences. */
  readonly audiences: readonly string[];
  /** The maximum lifetime of a token; undefined means no limit. */
  readonly maxExpirationSeconds: number | undefined;
  /** Whether tokens that kubelets request for pods are valid for longer than requested, for programs that read theirs only once. */
  readonly extendExpiration: boolean;
}

const defaultSeconds = 3600;
/** The lifetime that marks the default request of a kubelet for a pod. Source: pkg/serviceaccount WarnOnlyBoundTokenExpirationPeriod. */
const projectedSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;
const unnamed = { name: "", namespace: "", uid: "" };

/**
 * The request with its defaults set, and validated as far as possible without other objects.
 * @throws StatusError Invalid
 * @see kubernetes pkg/registry/core/serviceaccount/storage/token.go
 */
export function completedTokenRequest(
  request: ApiObject,
  account: ApiObject,
  { audiences, now }: { readonly audiences: readonly string[]; readonly now: number },
): TokenRequest {
  const { name, namespace } = { ...unnamed, ...account.metadata };
  checkPlace(request, { name, namespace });
  const { status: _answer, ...rest } = request;
  const spec = (request["spec"] ?? {}) as Partial<TokenRequest["spec"]>;
  const wanted = spec.audiences ?? [];
  const completed = {
    ...rest,
    metadata: { ...request.metadata, name, namespace, creationTimestamp: rfc3339(now) },
    spec: {
      audiences: wanted.length === 0 ? audiences : wanted,
      expirationSeconds: numberAt(spec, "expirationSeconds") ?? defaultSeconds,
      boundObjectRef: spec.boundObjectRef ?? null,
    },
  } as TokenRequest;
  const errors = [...(tokenRequests.validate?.(completed) ?? []), ...audienceErrors(completed.spec.audiences)];
  if (errors.length > 0) throw invalidObject(tokenRequests, "", errors);
  return completed;
}

/** The API reads at most 16,384 characters of a token, and audiences take four thirds of their length in it. */
const maxAudienceCharacters = 8192;

function audienceErrors(audiences: readonly string[]): readonly FieldError[] {
  const characters = audiences.reduce((sum, audience) => sum + JSON.stringify(audience).length + 1, 0);
  if (characters <= maxAudienceCharacters) return [];
  const why = `may have at most ${maxAudienceCharacters} characters in all, has ${characters}: the API would not read the token`;
  return [invalid("spec.audiences", `<${audiences.length} audiences>`, why)];
}

function checkPlace(request: ApiObject, at: { readonly name: string; readonly namespace: string }): void {
  for (const field of ["name", "namespace"] as const) {
    const given = request.metadata[field] ?? "";
    if (given === "" || given === at[field]) continue;
    const why = `must match the service account ${field} if specified`;
    throw invalidObject(tokenRequests, at.name, [invalid(`metadata.${field}`, given, why)]);
  }
}

/** The result of a completed request. */
export interface PlannedToken {
  readonly order: TokenOrder;
  /** The lifetime in the response; an extended token is valid for longer. */
  readonly expirationSeconds: number;
  readonly warnings: readonly string[];
}

export interface PlanOptions {
  readonly rules: TokenRules;
  readonly lookup: ObjectLookup;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A new UUID. */
  readonly id: string;
}

/**
 * The token to issue for a completed request.
 * @throws StatusError Conflict where a uid is not the present object's, BadRequest for an object that no token can be bound to, NotFound
 */
export function plannedToken(request: TokenRequest, account: ApiObject, options: PlanOptions): PlannedToken {
  const { rules, now, id } = options;
  const { name, namespace, uid } = { ...unnamed, ...account.metadata };
  checkUid(request, { name, uid });
  const subject = { namespace, serviceAccount: { name, uid } };
  const { boundObjectRef, audiences, expirationSeconds: requestedSeconds = defaultSeconds } = request.spec;
  const binding = bindingOf(boundObjectRef ?? undefined, subject, options.lookup);
  const seconds = Math.min(requestedSeconds, rules.maxExpirationSeconds ?? requestedSeconds);
  const isOfPod = binding.pod !== undefined && seconds === projectedSeconds;
  const isExtended = rules.extendExpiration && isOfPod && audiences.every((one) => rules.audiences.includes(one));
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = issuedAt + (isExtended ? extendedSeconds : seconds);
  const warning = isExtended ? { warnAfter: issuedAt + seconds } : {};
  return {
    order: { ...subject, ...binding, issuer: rules.issuer, audiences, issuedAt, expiresAt, id, ...warning },
    expirationSeconds: seconds,
    warnings:
      seconds < requestedSeconds
        ? [`requested expiration of ${requestedSeconds} seconds shortened to ${seconds} seconds`]
        : [],
  };
}

function checkUid(request: TokenRequest, { name, uid }: NamedObject): void {
  const given = request.metadata.uid ?? "";
  if (given === "" || given === uid) return;
  const why = `the UID in the token request (${given}) does not match the UID of the service account (${uid})`;
  throw conflict({ group: tokenRequests.group, plural: tokenRequests.kind }, name, why);
}

type Binding = Pick<TokenSubject, "pod" | "secret" | "node">;

const bindable = {
  Pod: { kind: "Pod", plural: "pods", field: "pod" },
  Secret: { kind: "Secret", plural: "secrets", field: "secret" },
  Node: { kind: "Node", plural: "nodes", field: "node" },
} as const;
type Bindable = (typeof bindable)[keyof typeof bindable];

function bindingOf(ref: BoundObjectReference | undefined, subject: TokenSubject, lookup: ObjectLookup): Binding {
  if (ref === undefined) return {};
  const { kind, plural, field } = bindableKind(ref);
  const { name, uid: wanted } = { ...unnamed, ...ref };
  if (name === "") throw badRequest("Name parameter required.");
  const object = lookup(kind, kind === "Node" ? "" : subject.namespace, name);
  if (object === undefined) throw notFound({ group: "", plural }, name);
  if (kind === "Pod") checkPod(object, subject);
  const uid = object.metadata.uid ?? "";
  if (wanted !== "" && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", plural: kind }, name, why);
  }
  return { ...(kind === "Pod" ? nodeOf(object, lookup) : {}), [field]: { name, uid } };
}

function bindableKind({ kind = "", apiVersion = "" }: BoundObjectReference): Bindable {
  const { group, version } = groupVersionOf(apiVersion);
  const known = group === "" && Object.hasOwn(bindable, kind) ? bindable[kind as keyof typeof bindable] : undefined;
  if (known !== undefined) return known;
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
}

function checkPod(pod: ApiObject, { serviceAccount: { name } }: TokenSubject): void {
  if (stringAt(pod, "spec", "serviceAccountName") === name) return;
  throw badRequest(
    `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
  );
}

/** The node that a pod runs on; an unregistered one has a name only. */
function nodeOf(pod: ApiObject, lookup: ObjectLookup): { readonly node?: NamedObject } {
  const name = stringAt(pod, "spec", "nodeName");
  return name === "" ? {} : { node: { name, uid: lookup("Node", "", name)?.metadata.uid ?? "" } };
}

/** Both are empty where the text is not a group and version, as in Go. */
function groupVersionOf(apiVersion: string): { readonly group: string; readonly version: string } {
  const [first = "", second, more] = apiVersion.split("/");
  if (second === undefined) return { group: "", version: first };
  return more === undefined ? { group: first, version: second } : { group: "", version: "" };
}
