import { arrayAt, fieldsAt, isFields, numberAt, stringAt, type Fields } from "../apis/json-fields.ts";

/** The issuer of tokens in Secrets. */
export const legacyIssuer = "kubernetes/serviceaccount";

/** The allowed clock skew, in milliseconds; an object whose deletionTimestamp is older than this counts as deleted. */
export const leewayMs = 60_000;

/** One object: a later object of the same name has another uid. */
export interface NamedObject {
  readonly name: string;
  readonly uid: string;
}

/** The claims of a bound token about its ServiceAccount, and about the object whose deletion invalidates it. */
export interface TokenSubject {
  readonly namespace: string;
  readonly serviceAccount: NamedObject;
  readonly pod?: NamedObject;
  readonly secret?: NamedObject;
  /** The node it is bound to, or with a pod the node that this one runs on; its uid is empty where the node is unknown. */
  readonly node?: NamedObject;
}

/** A token to issue. All times are in whole seconds since the epoch. */
export interface TokenOrder extends TokenSubject {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly id: string;
  /** When its holder should have requested another one, though it is still valid. */
  readonly warnAfter?: number;
}

/** The claims of a bound token. @see kubernetes pkg/serviceaccount/claims.go */
export function boundClaims(order: TokenOrder): Fields {
  const { namespace, serviceAccount, pod, secret, node, issuedAt, warnAfter } = order;
  return {
    aud: order.audiences,
    exp: order.expiresAt,
    iat: issuedAt,
    iss: order.issuer,
    jti: order.id,
    "kubernetes.io": {
      namespace,
      ...(node === undefined ? {} : { node: node.uid === "" ? { name: node.name } : node }),
      ...(pod === undefined ? {} : { pod }),
      ...(secret === undefined ? {} : { secret }),
      serviceaccount: serviceAccount,
      ...(warnAfter === undefined ? {} : { warnafter: warnAfter }),
    },
    nbf: issuedAt,
    sub: subjectOf(namespace, serviceAccount.name),
  };
}

/** The claims of a bound token, with times in seconds. */
export interface BoundClaims extends TokenSubject {
  readonly audiences: readonly string[];
  readonly expiresAt: number;
  readonly notBefore: number;
  readonly issuedAt: number;
  readonly id: string;
}

/** The claims of a bound token whose signature is verified, or undefined where one is missing, malformed or contradicts another. */
export function parseBoundClaims(claims: Fields): BoundClaims | undefined {
  const own = fieldsAt(claims, "kubernetes.io");
  const namespace = stringAt(own, "namespace");
  const serviceAccount = namedAt(own, "serviceaccount");
  const audiences = audiencesOf(claims);
  const [expiresAt, notBefore, issuedAt] = ["exp", "nbf", "iat"].map((name) => timeAt(claims, name));
  if (namespace === "" || serviceAccount === undefined || serviceAccount.uid === "") return undefined;
  if (stringAt(claims, "sub") !== subjectOf(namespace, serviceAccount.name)) return undefined;
  if (expiresAt === undefined || notBefore === undefined || issuedAt === undefined) return undefined;
  const bound = boundAt(own);
  if (audiences === undefined || bound === undefined) return undefined;
  return {
    namespace,
    serviceAccount,
    ...bound,
    audiences,
    expiresAt,
    notBefore,
    issuedAt,
    id: stringAt(claims, "jti"),
  };
}

function audiencesOf(claims: Fields): readonly string[] | undefined {
  const listed = arrayAt(claims, "aud");
  const audiences = listed.filter((one) => typeof one === "string");
  return audiences.length === 0 || audiences.length !== listed.length ? undefined : audiences;
}

/** The objects a token is bound to; undefined where one is named but malformed, since it cannot be checked then. */
function boundAt(own: Fields): Pick<TokenSubject, "pod" | "secret" | "node"> | undefined {
  const named = ["pod", "secret", "node"].filter((field) => Object.hasOwn(own, field));
  const bound = named.map((field) => [field, namedAt(own, field)] as const);
  return bound.some(([, found]) => found === undefined) ? undefined : Object.fromEntries(bound);
}

/** The claims of a token from a Secret. It names no audience and does not expire. */
export interface LegacyClaims {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: NamedObject;
}

const legacyPrefix = "kubernetes.io/serviceaccount/";

/** The claims of a new token for a Secret. */
export function legacyClaims({ namespace, secret, serviceAccount }: LegacyClaims): Fields {
  return {
    iss: legacyIssuer,
    [`${legacyPrefix}namespace`]: namespace,
    [`${legacyPrefix}secret.name`]: secret,
    [`${legacyPrefix}service-account.name`]: serviceAccount.name,
    [`${legacyPrefix}service-account.uid`]: serviceAccount.uid,
    sub: subjectOf(namespace, serviceAccount.name),
  };
}

/** The claims of a token from a Secret whose signature is verified, or undefined where one is missing or contradicts another. */
export function parseLegacyClaims(claims: Fields): LegacyClaims | undefined {
  const [namespace = "", secret = "", name = "", uid = ""] = [
    "namespace",
    "secret.name",
    "service-account.name",
    "service-account.uid",
  ].map((claim) => stringAt(claims, `${legacyPrefix}${claim}`));
  if (namespace === "" || secret === "" || name === "" || uid === "") return undefined;
  if (stringAt(claims, "sub") !== subjectOf(namespace, name)) return undefined;
  return { namespace, secret, serviceAccount: { name, uid } };
}

function subjectOf(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

function namedAt(own: Fields, field: string): NamedObject | undefined {
  const name = stringAt(own, field, "name");
  return !isFields(own[field]) || name === "" ? undefined : { name, uid: stringAt(own, field, "uid") };
}

function timeAt(claims: Fields, name: string): number | undefined {
  const found = numberAt(claims, name);
  return found !== undefined && Number.isFinite(found) ? found : undefined;
}
