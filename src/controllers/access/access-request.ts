import type { Clock, RandomBytes } from "../../core/clock.ts";
import type { Client } from "../../client/client.ts";
import { isConditionTrue } from "../../core/conditions.ts";
import type { ApiObject, ObjectKey } from "../../core/object.ts";
import { serviceAccountUser } from "../../core/user.ts";
import { accessProfiles, profileDefaults, type AccessProfile } from "../../resources/access-profile.ts";
import {
  accessRequests,
  readKey,
  sealBinding,
  type AccessRequest,
  type AccessRequestStatus,
} from "../../resources/access-request.ts";
import { sealAnswer } from "../../trust/seal.ts";
import { tokenSecret, tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import { formatToken, generateToken, type BootstrapToken } from "../../trust/token.ts";
import {
  accountFor,
  accountKey,
  grantsOf,
  isMadeFor,
  markOf,
  requestLabel,
  type GrantedObject,
} from "./access-grant.ts";
import {
  accessStep,
  condition,
  notIssued,
  profileFor,
  withConditions,
  type AccessStep,
} from "./access-request-policy.ts";
import { recoveredCondition, type AccessRecoveryView } from "./access-recovery.ts";
import { hasReason } from "../api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { clusterRoleBindings, roleBindings, roles, secrets, serviceAccounts } from "../kinds.ts";
import type { SharedInformers } from "../shared-informers.ts";

const serviceAccount = "access-request-controller";

export interface AccessRequestOptions {
  readonly informers: SharedInformers;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** The CAs that machines are to trust, in PEM, and their pins. */
  readonly ca: { readonly pem: string; readonly pins: readonly string[] };
  /** How the access stands that an earlier request gave; absent where nobody knows of more than its first token. */
  readonly lifeOf?: AccessRecoveryView["lifeOf"] | undefined;
}

/**
 * Answers access requests: once a request is accepted, makes its account, the bindings of its profile and a token, and seals token
 * and CA to the machine's key. What is denied, revoked or over loses everything that was made for it; what is deleted takes it along.
 */
export function accessRequest(options: AccessRequestOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const requests = reader({ resource: accessRequests });
  const profiles = reader({ resource: accessProfiles });
  const bindings = bindingKinds.map((resource) => reader({ resource }));
  const isBound = (subject: ObjectKey, request: AccessRequest): boolean =>
    bindings.some((kind) => kind.list().some((binding) => names(binding, subject) && !isMadeFor(request, binding)));

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const request = requests.get(key) as AccessRequest | undefined;
    if (request === undefined) return done;
    const step = accessStep({
      request,
      profile: profileFor(profiles.list() as readonly AccessProfile[], request.spec.profile),
      earlier: earlierOf(request),
      lifeOf: options.lifeOf ?? unknownLife,
      caPins: options.ca.pins,
      now: options.clock.now(),
    });
    try {
      return await take(step, request);
    } catch (error) {
      // Somebody else wrote first; what they wrote wakes this request again.
      if (hasReason(error, "Conflict", "NotFound")) return { kind: "retry", why: error.message };
      throw error;
    }
  }

  function earlierOf(request: AccessRequest): readonly AccessRequest[] {
    return isOpen(request) ? othersOfKey(requests.list() as readonly AccessRequest[], request) : [];
  }

  /** A machine that has come back does not use what it was given before, and nobody else shall. */
  async function supersede(request: AccessRequest): Promise<void> {
    if (!isConditionTrue(request.status?.conditions, recoveredCondition)) return;
    for (const earlier of othersOfKey(requests.list() as readonly AccessRequest[], request)) {
      const { accepted, grant, decisions = [] } = earlier.status ?? {};
      const ours = request.status?.decisions?.at(-1)?.profile?.name;
      if (accepted !== true || grant === undefined || decisions.at(-1)?.profile?.name !== ours) continue;
      await takeBack(client, earlier);
      await write(client, earlier, supersededStatus(earlier, { by: request, now: options.clock.now() }));
    }
  }

  async function take(step: AccessStep, request: AccessRequest): Promise<Outcome> {
    const { name = "", uid = "" } = request.metadata;
    switch (step.kind) {
      case "wait":
        return step.afterMs === undefined ? done : { kind: "requeue", afterMs: step.afterMs, why: step.why };
      case "write":
        await write(client, request, step.status);
        return done;
      case "close":
        await takeBack(client, request);
        await write(client, request, step.status);
        return done;
      case "remove":
        await client.delete(accessRequests, { name }, { preconditions: { uid } });
        return done;
      case "issue":
        await supersede(request);
        await write(client, request, await answered({ client, options, isBound }, request, step.profile));
        return done;
    }
  }

  return {
    name: "access-request",
    serviceAccount,
    watches: [
      { resource: accessRequests },
      {
        resource: accessProfiles,
        // Those that still wait for something; a profile's change takes nothing back that was granted.
        keys: () =>
          (requests.list() as readonly AccessRequest[])
            .filter(({ status }) => status?.ready !== true)
            .map(({ metadata }) => ({ name: metadata.name ?? "" })),
      },
      ...bindingKinds.map((resource) => ({ resource, keys: () => [] })),
    ],
    concurrency: 32,
    reconcile,
  };
}

async function write(client: Client, request: AccessRequest, status: AccessRequestStatus): Promise<void> {
  await client.update(accessRequests, { ...request, status }, { subresource: "status" });
}

const bindingKinds = [roleBindings, clusterRoleBindings] as const;

/** Whether a binding names the account, which need not be there. */
function names(binding: ApiObject, { namespace = "", name }: ObjectKey): boolean {
  const { subjects } = binding as { readonly subjects?: readonly Subject[] };
  const user = serviceAccountUser(namespace, name).username;
  return (subjects ?? []).some((one) =>
    one.kind === "ServiceAccount" ? one.name === name && one.namespace === namespace : one.name === user,
  );
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** Whether there is something to decide for which earlier requests count. */
function isOpen({ status = {} }: AccessRequest): boolean {
  return status.accepted !== true && status.denied !== true && status.revoked !== true;
}

const unknownLife: AccessRecoveryView["lifeOf"] = () => undefined;

function othersOfKey(all: readonly AccessRequest[], request: AccessRequest): readonly AccessRequest[] {
  const fingerprint = request.status?.fingerprint;
  if (fingerprint === undefined) return [];
  const { uid } = request.metadata;
  return all.filter(({ metadata, status }) => metadata.uid !== uid && status?.fingerprint === fingerprint);
}

/** What stays of a request after which its machine has come back: who decided, and that it is over. */
function supersededStatus(
  request: AccessRequest,
  { by, now }: { readonly by: AccessRequest; readonly now: number },
): AccessRequestStatus {
  const {
    key: _k,
    token: _t,
    ca: _c,
    bootstrapToken: _b,
    seal: _s,
    ready: _r,
    grant: _g,
    ...rest
  } = request.status ?? {};
  const over = condition("Expired", "Superseded", `its machine has come back as ${by.metadata.name}`);
  return { ...rest, conditions: withConditions({ request, now }, [over]) };
}

interface Issuing {
  readonly client: Client;
  readonly options: AccessRequestOptions;
  /** Whether rights wait for an account of that name that were not given by this request. */
  readonly isBound: (account: ObjectKey, request: AccessRequest) => boolean;
}

/** The status with the sealed answer, or with the reason why there is none. */
async function answered(
  issuing: Issuing,
  request: AccessRequest,
  profile: AccessProfile,
): Promise<AccessRequestStatus> {
  const { client, options } = issuing;
  const status = request.status ?? {};
  const now = options.clock.now();
  const refused = (reason: string, why: string): AccessRequestStatus => ({
    ...status,
    conditions: withConditions({ request, now }, [notIssued(reason, why)]),
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
  const account = await ensureAccount(client, request, namespace);
  if (account === undefined) {
    const why = `namespace ${namespace} has a ServiceAccount ${request.metadata.name} that was not made for this request; it is left alone: ask under another name`;
    return refused("AccountTaken", why);
  }
  const [{ token, expiresAt }, bootstrap] = await Promise.all([
    freshToken(client, request, profile),
    bootstrapTokenFor(issuing, request, profile),
    granted(client, request, profile),
  ]);
  const answer = {
    token,
    ca: options.ca.pem,
    ...(bootstrap === undefined ? {} : { bootstrapToken: formatToken(bootstrap) }),
  };
  const sealed = await sealAnswer(key, answer, { binding: sealBinding(request), random: options.random });
  const said = [
    condition("Approved", "Approved", `by ${approvers(status).join(", ")}`),
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
    conditions: withConditions({ request, now }, said),
  };
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
  try {
    return await client.create(serviceAccounts, accountFor(request, namespace));
  } catch (error) {
    if (!hasReason(error, "AlreadyExists")) throw error;
  }
  const there = await client.get(serviceAccounts, accountKey(request, namespace));
  return isMadeFor(request, there) ? there : undefined;
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

/** Removes everything that was made for the request; the account first, so that its tokens end at once. */
async function takeBack(client: Client, request: AccessRequest): Promise<void> {
  const { namespace, bootstrapSecret } = request.status?.grant ?? {};
  if (namespace !== undefined) {
    await removeOwn(client, request, { resource: serviceAccounts, key: accountKey(request, namespace) });
    for (const resource of [roleBindings, roles]) await removeAll(client, request, { resource, namespace });
  }
  await removeAll(client, request, { resource: clusterRoleBindings });
  if (bootstrapSecret !== undefined) {
    const key = { namespace: tokenSecretNamespace, name: bootstrapSecret };
    await missingIsFine(client.delete(secrets, key));
  }
}

interface Place {
  readonly resource: GrantedObject["resource"];
  readonly key: ObjectKey;
}

async function removeAll(
  client: Client,
  request: AccessRequest,
  { resource, namespace }: { readonly resource: GrantedObject["resource"]; readonly namespace?: string },
): Promise<void> {
  const labelSelector = `${requestLabel}=${request.metadata.uid ?? ""}`;
  const { items } = await client.list(resource, { labelSelector, ...(namespace === undefined ? {} : { namespace }) });
  for (const { metadata } of items) {
    const name = metadata.name ?? "";
    await removeOwn(client, request, { resource, key: namespace === undefined ? { name } : { namespace, name } });
  }
}

async function removeOwn(client: Client, request: AccessRequest, { resource, key }: Place): Promise<void> {
  const there = await missingIsFine(client.get(resource, key));
  if (there === undefined || !isMadeFor(request, there)) return;
  await missingIsFine(client.delete(resource, key, { preconditions: { uid: there.metadata.uid ?? "" } }));
}

async function missingIsFine<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (hasReason(error, "NotFound")) return undefined;
    throw error;
  }
}
