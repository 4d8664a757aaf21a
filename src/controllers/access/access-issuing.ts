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

/** What access is issued with. */
export interface Issuing {
  readonly client: Client;
  readonly options: Pick<AccessRequestOptions, "clock" | "random" | "ca" | "lifeOf">;
  /** Whether rights wait for an account of that name that were not given by this request. */
  readonly isBound: (account: ObjectKey, request: AccessRequest) => boolean;
  /** Whether the view has this role; one that it lacks may be younger than the view. */
  readonly hasRole: (resource: ResourceRef, key: ObjectKey) => boolean;
}

/** The status with the sealed answer, or with the reason why there is none. */
export async function answered(
  issuing: Issuing,
  request: AccessRequest,
  profile: AccessProfile,
): Promise<AccessRequestStatus> {
  const { options } = issuing;
  const status = request.status ?? {};
  const now = options.clock.now();
  const isApproved = condition("Approved", "Approved", `by ${approvers(status).join(", ")}`);
  // Nothing else may change where it was said before: the write would wake the request again.
  const refused = (reason: Reason, why: string, grant = status.grant): AccessRequestStatus => ({
    ...status,
    ...(grant === undefined ? {} : { grant }),
    conditions: withConditions({ request, now }, [isApproved, notIssued(reason, why)]),
  });
  const key = readKey(request);
  // A decision is about one key; whoever could change the request after it must not get what was granted to another.
  if (key === undefined || status.fingerprint !== key.fingerprint) {
    return refused("OtherKey", "its key is not the one that was decided on");
  }
  const { namespace } = profile.spec;
  const { name: serviceAccount } = accountKey(request, namespace);
  if (options.lifeOf?.({ namespace, serviceAccount })?.isRevoked === true) {
    const why = `the account ${namespace}/${serviceAccount} is revoked; ask under another name`;
    return refused("AccountRevoked", why);
  }
  // The name is the machine's choice: what was given to an account of that name was meant for somebody else.
  if (issuing.isBound(accountKey(request, namespace), request)) {
    const why = `roles are bound to a ServiceAccount ${request.metadata.name} in namespace ${namespace} already, which this request would come into; ask under another name`;
    return refused("NameBound", why);
  }
  const made = await madeFor(issuing, request, profile);
  if ("reason" in made) return refused(made.reason, made.message, made.grant);
  const { account, token, expiresAt, bootstrap } = made;
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

interface Made {
  readonly account: ApiObject;
  readonly token: string;
  readonly expiresAt: string;
  readonly bootstrap: BootstrapToken | undefined;
}

type NotMade = Obstacle & { readonly grant?: AccessRequestStatus["grant"] };

/** Account, rights and tokens, or why they cannot be made; what was made until then is noted, so that it is taken back with the request. */
async function madeFor(issuing: Issuing, request: AccessRequest, profile: AccessProfile): Promise<Made | NotMade> {
  const { client } = issuing;
  const { namespace } = profile.spec;
  const { name = "" } = request.metadata;
  let grant: AccessRequestStatus["grant"];
  try {
    // A binding may name a role that does not exist: the machine would hold a token and no right, and nothing would tell.
    await checkRoles(issuing, profile);
    const account = await ensureAccount(client, request, namespace);
    if (account === undefined) {
      const message = `namespace ${namespace} has a ServiceAccount ${name} that was not made for this request; it is left alone: ask under another name`;
      return { reason: "AccountTaken", message };
    }
    grant = { namespace, serviceAccount: name, uid: account.metadata.uid ?? "" };
    // Before the tokens: where a right cannot be given, each try would leave another bootstrap token behind.
    await granted(client, request, profile);
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

/** Roles before the bindings that name them; whatever depends on nothing else goes at once. */
async function granted(client: Client, request: AccessRequest, profile: AccessProfile): Promise<void> {
  const isRole = ({ resource }: GrantedObject): boolean => resource === roles;
  const all = grantsOf(request, profile);
  await Promise.all(all.filter(isRole).map((one) => ensure(client, request, one)));
  await Promise.all(all.filter((one) => !isRole(one)).map((one) => ensure(client, request, one)));
}

function approvers({ decisions = [] }: AccessRequestStatus): readonly string[] {
  return decisions.filter(({ verdict }) => verdict === "Approved").map(({ user }) => user);
}

/** The account of the request, made if there is none; undefined where the name belongs to something else. */
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
    // Its name holds the uid of the request: who takes it beforehand keeps the request from being answered, and gains nothing.
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

/** A bootstrap token of its own for the machine, where the profile hands one over. */
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
