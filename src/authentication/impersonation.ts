import { anonymousUser, serviceAccountUser, unauthenticatedGroup, type UserInfo } from "../apimachinery/user.ts";
import { badRequest } from "../apimachinery/status.ts";
import { headerText } from "./header-text.ts";
import { addAuthenticatedGroup } from "./authenticated.ts";

/** The user that a request impersonates. No part of it is authorized yet. */
export interface Impersonation {
  readonly username: string;
  /** The ServiceAccount of the user name, if it is one. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string } | undefined;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  /** Keys are lower-case before decoding; in the order of their first header. */
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

/** One thing that the real user must be allowed to do; the shape of an authorizer's Attributes. */
export interface ImpersonationCheck {
  readonly user: UserInfo;
  readonly verb: "impersonate";
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly path: undefined;
}

const headerPrefix = "impersonate-";
const extraPrefix = "impersonate-extra-";
const authenticationGroup = "authentication.k8s.io";

/** Whether a header is an Impersonate header; such headers are never passed on. */
export function isImpersonationHeader(name: string): boolean {
  return name.length > headerPrefix.length && name.slice(0, headerPrefix.length).toLowerCase() === headerPrefix;
}

/**
 * Reads the Impersonate headers from raw headers as Node passes them: names and values in turn. Undefined when there
 * is none. @throws StatusError BadRequest when there is no user to impersonate, or more than one user or uid.
 */
export function parseImpersonation(rawHeaders: readonly string[]): Impersonation | undefined {
  const headers = impersonationHeaders(rawHeaders);
  if (headers.length === 0) return undefined;
  const valuesOf = (name: string): string[] => headers.filter((one) => one.name === name).map((one) => one.value);
  const groups = valuesOf("impersonate-group");
  const uid = single("Impersonate-Uid", valuesOf("impersonate-uid"));
  const username = single("Impersonate-User", valuesOf("impersonate-user"));
  const extra = new Map<string, string[]>();
  for (const { name, value } of headers.filter((one) => one.name.startsWith(extraPrefix))) {
    const key = decodedKey(name.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), value]);
  }
  if (username === undefined) {
    const requested = [
      ...groups.map((group) => `group ${JSON.stringify(group)}`),
      ...(uid === undefined ? [] : [`uid ${JSON.stringify(uid)}`]),
      ...[...extra.keys()].map((key) => `extra ${JSON.stringify(key)}`),
    ];
    throw badRequest(`requested [${requested.join(", ")}] without impersonating a user`);
  }
  return { username, serviceAccount: serviceAccountOf(username), groups, uid, extra };
}

/**
 * What `requester` must be allowed before the impersonation takes effect, in order; the first denial is an ordinary 403. A
 * ServiceAccount is checked as one and not as a user. @see apiserver/pkg/endpoints/filters
 */
export function impersonationChecks(requester: UserInfo, wanted: Impersonation): readonly ImpersonationCheck[] {
  const check = (what: Partial<ImpersonationCheck> & { readonly resource: string }): ImpersonationCheck => ({
    user: requester,
    verb: "impersonate",
    group: "",
    version: "",
    subresource: "",
    namespace: "",
    name: "",
    path: undefined,
    ...what,
  });
  const authentication = { group: authenticationGroup, version: "v1" };
  const extras = [...wanted.extra].flatMap(([key, values]) => values.map((value) => ({ key, value })));
  return [
    wanted.serviceAccount === undefined
      ? check({ resource: "users", name: wanted.username })
      : check({ resource: "serviceaccounts", ...wanted.serviceAccount }),
    ...wanted.groups.map((name) => check({ resource: "groups", name })),
    ...(wanted.uid === undefined ? [] : [check({ ...authentication, resource: "uids", name: wanted.uid })]),
    ...extras.map(({ key, value }) =>
      check({ ...authentication, resource: "userextras", subresource: key, name: value }),
    ),
  ];
}

/**
 * The user of the request after every check has passed: a ServiceAccount without groups of its own gets its fixed ones,
 * anonymous gets `system:unauthenticated`, and all others `system:authenticated`.
 */
export function impersonatedUser(wanted: Impersonation): UserInfo {
  const account = wanted.serviceAccount;
  const user: UserInfo = {
    username: wanted.username,
    ...(wanted.uid === undefined ? {} : { uid: wanted.uid }),
    groups:
      account !== undefined && wanted.groups.length === 0
        ? serviceAccountUser(account.namespace, account.name).groups
        : wanted.groups,
    ...(wanted.extra.size === 0 ? {} : { extra: Object.fromEntries(wanted.extra) }),
  };
  if (user.username === anonymousUser && !user.groups.includes(unauthenticatedGroup)) {
    return { ...user, groups: [...user.groups, unauthenticatedGroup] };
  }
  return addAuthenticatedGroup(user);
}

interface Header {
  /** In lower case. */
  readonly name: string;
  readonly value: string;
}

function impersonationHeaders(rawHeaders: readonly string[]): readonly Header[] {
  const headers: Header[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const known = name === "impersonate-user" || name === "impersonate-group" || name === "impersonate-uid";
    if (known || name.startsWith(extraPrefix)) headers.push({ name, value: headerText(rawHeaders[at + 1] ?? "") });
  }
  return headers;
}

/** A request with an empty or a second impersonated identity must not run under its own or under a guessed one. */
function single(header: string, values: readonly string[]): string | undefined {
  const [value, another] = values;
  if (value === "" || another !== undefined) throw badRequest(`${header} must be given once and not be empty`);
  return value;
}

function decodedKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Kubernetes uses a key that cannot be decoded unchanged.
    return key;
  }
}

const serviceAccountPattern =
  /^system:serviceaccount:([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?):([a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)$/;

/** The ServiceAccount of a user name, or undefined. */
export function serviceAccountOf(username: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = username.length > 400 ? [] : (serviceAccountPattern.exec(username) ?? []);
  return namespace === undefined || name === undefined || name.length > 253 ? undefined : { namespace, name };
}
