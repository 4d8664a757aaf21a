import { type AccessRecoveryView, lastProfile, recoveredCondition } from "./access-recovery.ts";
import {
  type AccessStep,
  accessStep,
  condition,
  profileFor,
  withConditions,
  withoutAnswer,
} from "./access-request-policy.ts";
import { keyOf } from "../../client/paths.ts";
import { sameUid } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import { getOrUndefined, hasReason } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import type { Reader } from "../../client/object-store.ts";
import type { RandomBytes } from "../../apimachinery/clock.ts";
import { isConditionTrue } from "../../apimachinery/conditions.ts";
import { jsonEqual } from "../../apimachinery/equal.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { serviceAccountUser } from "../../apimachinery/user.ts";
import { type AccessProfile, accessProfiles } from "../../apis/access-profile.ts";
import { type AccessRequest, type AccessRequestStatus, accessRequests } from "../../apis/access-request.ts";
import { type Controller, type Outcome, type Report, type Watch, done, retryOn } from "../controller.ts";
import { clusterRoles, namespaces, roles } from "../kinds.ts";
import { bindingKinds, isMadeFor, takeBack, withForgottenGrant } from "./access-grant.ts";
import { type Issuing, answered } from "./access-issuing.ts";
import { accessReports, obstacleIn, obstacleReport, waitsFor } from "./access-obstacle.ts";

const serviceAccount = "access-request-controller";

export interface AccessRequestOptions extends ControllerOptions {
  readonly random: RandomBytes;
  /** The CAs that machines must trust, in PEM, and their pins. */
  readonly ca: { readonly pem: string; readonly pins: readonly string[] };
  /** The state of the access that an earlier request granted; absent where only its first token is known. */
  readonly lifeOf?: AccessRecoveryView["lifeOf"] | undefined;
}

/**
 * Answers access requests: for an accepted request it creates the account, the bindings of its profile and a token, and seals token and
 * CA to the key of the machine. Removes everything that was created for a request that is denied, revoked, ended or deleted.
 */
export function accessRequest(options: AccessRequestOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const requests = reader({ resource: accessRequests });
  const profiles = reader({ resource: accessProfiles });
  const bindings = bindingKinds.map((resource) => reader({ resource }));
  const isBound = (subject: ObjectKey, request: AccessRequest): boolean =>
    bindings.some((kind) => kind.list().some((binding) => names(binding, subject) && !isMadeFor(request, binding)));
  const known = new Map([roles, clusterRoles].map((resource) => [resource, reader({ resource, metadataOnly: true })]));
  const hasRole: Issuing["hasRole"] = (resource, key) => known.get(resource)?.get(key) !== undefined;

  const withdraw = (request: AccessRequest): Promise<void> =>
    takeBack(client, request, (resource) => bindings[bindingKinds.indexOf(resource)]?.list() ?? []);
  const answering: Answering = { client, options, isBound, hasRole, requests, withdraw };

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const request = requests.get(key) as AccessRequest | undefined;
    if (request === undefined) return done;
    const step = accessStep({
      request,
      profile: profileFor(profiles.list() as readonly AccessProfile[], request.spec.profile),
      earlier: isOpen(request) ? othersOfKey(requests, request) : [],
      lifeOf: options.lifeOf ?? unknownLife,
      caPins: options.ca.pins,
      now: options.clock.now(),
    });
    return retryOn(take(answering, step, request), "Conflict", "NotFound");
  }

  return { name: "access-request", serviceAccount, watches: watchesOf(requests), concurrency: 32, reconcile };
}

interface Answering extends Issuing {
  readonly requests: Reader;
  /** Removes what was created for a request. */
  readonly withdraw: (request: AccessRequest) => Promise<void>;
}

async function take(answering: Answering, step: AccessStep, request: AccessRequest): Promise<Outcome> {
  const { client, withdraw } = answering;
  switch (step.kind) {
    case "wait":
      if (step.afterMs !== undefined) return { kind: "requeue", afterMs: step.afterMs, why: step.why };
      return statusOutcome(request, request.status ?? {});
    case "write":
      return write(client, request, step.status);
    case "close":
      await withdraw(await withForgottenGrant(client, request, step.namespace));
      return write(client, request, step.status);
    case "remove":
      await client.delete(accessRequests, keyOf(request), sameUid(request));
      return done;
    case "issue": {
      const superseded = await supersede(answering, request);
      // On its own: if a later step fails, this one has happened, and no later reconcile would report it.
      if (superseded !== undefined) {
        return { kind: "requeue", afterMs: 0, why: "an earlier access was removed", reports: superseded };
      }
      return writeOrTakeBack(answering, request, await answered(answering, request, step.profile));
    }
  }
}

/** Removes what was created for a request that was revoked or deleted meanwhile: no status records it. */
async function writeOrTakeBack(
  { client, withdraw }: Answering,
  request: AccessRequest,
  status: AccessRequestStatus,
): Promise<Outcome> {
  try {
    return await write(client, request, status);
  } catch (error) {
    if (!hasReason(error, "Conflict", "NotFound")) throw error;
    const now = await getOrUndefined<AccessRequest>(client, accessRequests, keyOf(request));
    const isOver = now?.metadata.uid !== request.metadata.uid || now?.status?.revoked === true;
    if (isOver) await withdraw({ ...request, status });
    throw error;
  }
}

function watchesOf(requests: Reader): readonly Watch[] {
  const keysWhere = (holds: (request: AccessRequest) => boolean): readonly ObjectKey[] =>
    (requests.list() as readonly AccessRequest[]).filter(holds).map(({ metadata }) => ({ name: metadata.name ?? "" }));
  return [
    { resource: accessRequests },
    // Requests that still wait; a change of the profile revokes nothing.
    { resource: accessProfiles, keys: () => keysWhere(({ status }) => status?.ready !== true) },
    ...bindingKinds.map((resource) => ({ resource, keys: () => [] })),
    // Objects that a profile names and that were missing.
    ...[namespaces, roles, clusterRoles].map((resource): Watch => ({
      resource,
      metadataOnly: true,
      keys: () => keysWhere((request) => waitsFor(request, resource.plural)),
    })),
  ];
}

/** A machine with a new access does not use an earlier one, and no other client may. Removes one earlier access and returns its report; undefined where none is left. */
async function supersede(
  { client, options, requests, withdraw }: Answering,
  request: AccessRequest,
): Promise<readonly Report[] | undefined> {
  if (!isConditionTrue(request.status?.conditions, recoveredCondition)) return undefined;
  const earlier = othersOfKey(requests, request).find(
    (one) => one.status?.accepted === true && one.status.grant && lastProfile(one) === lastProfile(request),
  );
  if (earlier === undefined) return undefined;
  await withdraw(earlier);
  const status = supersededStatus(earlier, { by: request, now: options.clock.now() });
  const { reports = [] } = await write(client, earlier, status);
  return reports;
}

/** Writes a changed status, and reports its changes. */
async function write(client: Client, request: AccessRequest, status: AccessRequestStatus): Promise<Outcome> {
  const reports = accessReports(request, status);
  if (!jsonEqual(status, request.status)) {
    await client.update(accessRequests, { ...request, status }, { subresource: "status" });
  }
  return statusOutcome(request, status, reports);
}

/** The outcome for a request: blocked while it is approved and cannot be answered. */
function statusOutcome(request: AccessRequest, status: AccessRequestStatus, reports: readonly Report[] = []): Outcome {
  const obstacle = obstacleIn(status);
  if (obstacle === undefined) return { kind: "done", reports };
  // The API may accept a rejected write later, without an event.
  const again = obstacle.reason === "IssuingFailed" ? "paused" : "woken";
  return { kind: "blocked", because: obstacleReport({ ...request, status }, obstacle), again, reports };
}

/** Whether a binding names the account, which may not exist. */
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

/** Whether a decision is left for which earlier requests count. */
function isOpen({ status = {} }: AccessRequest): boolean {
  return status.accepted !== true && status.denied !== true && status.revoked !== true;
}

const unknownLife: AccessRecoveryView["lifeOf"] = () => undefined;

function othersOfKey(requests: Reader, request: AccessRequest): readonly AccessRequest[] {
  const fingerprint = request.status?.fingerprint;
  if (fingerprint === undefined) return [];
  const { uid } = request.metadata;
  const all = requests.list() as readonly AccessRequest[];
  return all.filter(({ metadata, status }) => metadata.uid !== uid && status?.fingerprint === fingerprint);
}

/** The remaining status of a superseded request: who decided, and that it has ended. */
function supersededStatus(
  request: AccessRequest,
  { by, now }: { readonly by: AccessRequest; readonly now: number },
): AccessRequestStatus {
  const { grant: _grant, ...rest } = withoutAnswer(request.status ?? {});
  const over = condition("Expired", "Superseded", `its machine has come back as ${by.metadata.name}`);
  return { ...rest, conditions: withConditions({ request, now }, [over]) };
}
