import { createOrGet, hasReason } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import type { Reason } from "../../apimachinery/reasons.ts";
import { profileDefaults, type AccessProfile } from "../../apis/access-profile.ts";
import { readKey, sealBinding, type AccessRequest, type AccessRequestStatus } from "../../apis/access-request.ts";
import { sealAnswer } from "../../trust/seal.ts";
import { tokenSecret, tokenSecretName } from "../../trust/token-secret.ts";
import { formatToken, generateToken, type BootstrapToken } from "../../trust/token.ts";
import { clusterRoles, roles, secrets, serviceAccounts } from "../kinds.ts";
import { accountFor, accountKey, grantsOf, isMadeFor, markOf, type GrantedObject } from "./access-grant.ts";
import { obstacleOf, type Obstacle } from "./access-obstacle.ts";
import type { AccessRequestOptions } from "./access-request.ts";
import { condition, notIssued, withConditions } from "./access-request-policy.ts";

/** What issuing access needs. */
export interface Issuing {
  readonly client: Client;
  readonly options: Pick<AccessRequestOptions, "clock" | "random" | "ca" | "lifeOf">;
  /** Whether roles are bound to an account of that name that this request did not bind. */
  readonly isBound: (account: ObjectKey, request: AccessRequest) => boolean;
  /** Whether the informer cache has this role; a role that it lacks may be newer than the cache. */
  readonly hasRole: (resource: ResourceRef, key: ObjectKey) => boolean;
}

/** The status with the sealed answer, or with the reason why nothing was issued. */
export async function answered(
  issuing: Issuing,
  request: AccessRequest,
  profile: AccessProfile,
): Promise<AccessRequestStatus> {
  const { options } = issuing;
  const status = request.status ?? {};
  const now = options.clock.now();
  const isApproved = condition("Approved", "Approved", `by ${approvers(status).join(", ")}`);
  // An unchanged refusal must yield an equal status: each write triggers another reconcile.
  const refused = (reason: Reason, why: string, grant = status.grant): AccessRequestStatus => ({
    ...status,
    ...(grant === undefined ? {} : { grant }),
    conditions: withConditions({ request, now }, [isApproved, notIssued(reason, why)]),
  });
  const key = readKey(request);
  // A decision covers one key: a client that changes the request afterwards must not get what was granted to another.
  if (key === undefined || status.fingerprint !== key.fingerprint) {
    return refused("OtherKey", "its key is not the one that was decided on");
  }
  const { namespace } = profile.spec;
  const outcome = accountObstacle(issuing, request, namespace) ?? (await createAccess(issuing, request, profile));
  if ("reason" in outcome) return refused(outcome.reason, outcome.message, outcome.grant);
  const { account, token, expiresAt, bootstrap } = outcome;
  const answer = {
    token,
    ca: options.ca.pem,
    ...(bootstrap === undefined ? {} : { bootstrapToken: formatToken(bootstrap) }),
  };
  const sealed = await sealAnswer(key, answer, { binding: sealBinding(request), random: options.random });
  const text = [
    isApproved,
    condition("Issued", "Issued", `account ${namespace}/${request.metadata.name}, profile ${profile.metadata.name}`),
  ];
  return {
    ...status,
    ...sealed,
    ready: true,
    expiresAt,
    grant: {
      namespace,
      serviceAccount: request.metadata.name ?? "",
      uid: account.metadata.uid ?? "",
      ...(bootstrap === undefined ? {} : { bootstrapSecret: tokenSecretName(bootstrap.id) }),
    },
    conditions: withConditions({ request, now }, text),
  };
}

/** Why the account of the request may get nothing; undefined where it may. */
function accountObstacle(
  { options, isBound }: Issuing,
  request: AccessRequest,
  namespace: string,
): NotCreated | undefined {
  const account = accountKey(request, namespace);
  if (options.lifeOf?.({ namespace, serviceAccount: account.name })?.isRevoked === true) {
    const message = `the account ${namespace}/${account.name} is revoked; ask under another name`;
    return { reason: "AccountRevoked", message };
  }
  // The machine chooses the name: roles bound to an account of that name were meant for another machine.
  if (isBound(account, request)) {
    const message = `roles are bound to a ServiceAccount ${request.metadata.name} in namespace ${namespace} already, which this request would come into; ask under another name`;
    return { reason: "NameBound", message };
  }
  return undefined;
}

interface Created {
  readonly account: ApiObject;
  readonly token: string;
  readonly expiresAt: string;
  readonly bootstrap: BootstrapToken | undefined;
}

type NotCreated = Obstacle & { readonly grant?: AccessRequestStatus["grant"] };

/** Account, rights and tokens, or why they cannot be created; `grant` names what was created before the failure, to be deleted with the request. */
async function createAccess(
  issuing: Issuing,
  request: AccessRequest,
  profile: AccessProfile,
): Promise<Created | NotCreated> {
  const { client } = issuing;
  const { namespace } = profile.spec;
  const { name = "" } = request.metadata;
  let grant: AccessRequestStatus["grant"];
  try {
    // A binding may name a role that does not exist: the machine would get a token without any right, and no error.
    await checkRoles(issuing, profile);
    const account = await ensureAccount(client, request, namespace);
    if (account === undefined) {
      const message = `namespace ${namespace} has a ServiceAccount ${name} that was not made for this request; it is left alone: ask under another name`;
      return { reason: "AccountTaken", message };
    }
    grant = { namespace, serviceAccount: name, uid: account.metadata.uid ?? "" };
    // Before the tokens: where a binding cannot be created, each retry would leave another bootstrap token behind.
    await createGrants(client, request, profile);
    const [token, bootstrap] = await Promise.all([
      freshToken(client, request, profile),
      bootstrapTokenFor(issuing, request, profile),
    ]);
    return { account, ...token, bootstrap };
  } catch (error) {
    const obstacle = obstacleOf(error, profile);
    if (obstacle === undefined) throw error;
    return grant === undefined ? obstacle : { ...obstacle, grant };
  }
}

/** @throws StatusError NotFound for a role that does not exist */
async function checkRoles({ client, hasRole }: Issuing, { spec }: AccessProfile): Promise<void> {
  for (const { kind, name } of spec.roles ?? []) {
    const resource = kind === "Role" ? roles : clusterRoles;
    const key = kind === "Role" ? { namespace: spec.namespace, name } : { name };
    if (!hasRole(resource, key)) await client.get(resource, key);
  }
}

/** Creates roles first, then the bindings that name them; independent objects are created concurrently. */
async function createGrants(client: Client, request: AccessRequest, profile: AccessProfile): Promise<void> {
  const isRole = ({ resource }: GrantedObject): boolean => resource === roles;
  const all = grantsOf(request, profile);
  await Promise.all(all.filter(isRole).map((one) => ensure(client, request, one)));
  await Promise.all(all.filter((one) => !isRole(one)).map((one) => ensure(client, request, one)));
}

function approvers({ decisions = [] }: AccessRequestStatus): readonly string[] {
  return decisions.filter(({ verdict }) => verdict === "Approved").map(({ user }) => user);
}

/** The account of the request, created if absent; undefined where an account of that name was not created for this request. */
async function ensureAccount(
  client: Client,
  request: AccessRequest,
  namespace: string,
): Promise<ApiObject | undefined> {
  const { object, created } = await createOrGet(client, serviceAccounts, accountFor(request, namespace));
  return created || isMadeFor(request, object) ? object : undefined;
}

async function ensure(client: Client, request: AccessRequest, { resource, object }: GrantedObject): Promise<void> {
  try {
    await client.create(resource, object);
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
    // The name contains the uid of the request: a client that creates it first blocks the request, and gains nothing.
    const { namespace, name = "" } = object.metadata;
    const there = await client.get(resource, namespace === undefined ? { name } : { namespace, name });
    if (!isMadeFor(request, there)) throw error;
  }
}

async function freshToken(
  client: Client,
  request: AccessRequest,
  { spec }: AccessProfile,
): Promise<{ readonly token: string; readonly expiresAt: string }> {
  const reply = await client.create<TokenReply>(
    serviceAccounts,
    {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: accountKey(request, spec.namespace),
      spec: {
        expirationSeconds: spec.tokenSeconds ?? profileDefaults.tokenSeconds,
        ...(spec.audiences === undefined || spec.audiences.length === 0 ? {} : { audiences: spec.audiences }),
      },
    },
    { subresource: "token" },
  );
  return { token: reply.status.token, expiresAt: reply.status.expirationTimestamp };
}

interface TokenReply extends ApiObject {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** A new bootstrap token for the machine; undefined where the profile has none. */
async function bootstrapTokenFor(
  { client, options }: Issuing,
  request: AccessRequest,
  { spec }: AccessProfile,
): Promise<BootstrapToken | undefined> {
  if (spec.bootstrapToken === undefined) return undefined;
  const token = generateToken(options.random);
  const secret = tokenSecret({
    token,
    ttlSeconds: spec.bootstrapToken.ttlSeconds ?? profileDefaults.bootstrapTtlSeconds,
    usages: ["authentication", "signing"],
    ...(spec.bootstrapToken.groups === undefined ? {} : { groups: spec.bootstrapToken.groups }),
    description: `for access request ${request.metadata.name}`,
    now: options.clock.now(),
  });
  await client.create(secrets, { ...secret, metadata: { ...secret.metadata, ...markOf(request) } });
  return token;
}
