import type { Client } from "../client/client.ts";
import { failureMessage } from "../client/api-errors.ts";
import type { RemoteClient } from "../client/remote.ts";
import { accessProfile } from "../controllers/access/access-profile.ts";
import { accessRequest, type AccessRequestOptions } from "../controllers/access/access-request.ts";
import { leaderTimings, leadWhileElected } from "../controllers/leader-election.ts";
import { registrationControllers } from "../controllers/clusters/registration.ts";
import { servingApproving, systemResolver } from "../controllers/certificates/serving-approving.ts";
import type { Controller } from "../controllers/controller.ts";
import { runControllers } from "../controllers/runner.ts";
import { sharedInformers, type SharedInformers } from "../controllers/shared-informers.ts";
import { serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { parseCsr } from "../pki/csr.ts";
import { clusterRevocations } from "./watched-revocations.ts";
import type { ControllerPlan } from "./controller-plan.ts";
import type { World } from "./world.ts";

export interface ControllerManager {
  readonly client: RemoteClient;
  readonly plan: ControllerPlan;
  readonly world: World;
  readonly signal: AbortSignal;
  /** With a Lease, the controllers run only while this process has it. */
  readonly lease: { readonly namespace: string; readonly name: string } | undefined;
}

/** Runs the controllers of the plan against any Kubernetes until `signal` aborts; with a Lease, only while it is the leader. */
export async function runControllerManager(manager: ControllerManager): Promise<void> {
  const { plan, world, lease, signal } = manager;
  if (plan.ca !== undefined)
    world.log(logEntry("TrustBundleSelected", "answers to machines contain this CA", { pins: plan.ca.pins }));
  if (lease === undefined) await runUnlessOutdated(manager, signal);
  else await elected({ ...manager, lease });
}

/** Runs the controllers until `signal` aborts; only once the revocations are synced, and again when the cluster starts to serve them. */
async function runUnlessOutdated(manager: ControllerManager, signal: AbortSignal): Promise<void> {
  const { client, world } = manager;
  const { clock, log } = world;
  while (!signal.aborted) {
    const revoked = await clusterRevocations({ client, clock, log, signal });
    if (revoked === undefined) return;
    await run(manager, revoked.isRevoked, AbortSignal.any([signal, revoked.outdated]));
  }
}

type IsRevoked = (user: UserInfo) => boolean;

/** Runs the controllers until `signal` aborts and no work is in progress. */
async function run(
  { client, plan, world }: ControllerManager,
  isRevoked: IsRevoked,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = world;
  const informers = sharedInformers({
    // All controllers use one account: that of the kubeconfig.
    clientFor: () => client,
    clock,
    random: Math.random,
    onError: (_account, { plural }, error) =>
      log(
        logEntry("WatchFailed", "a watch failed; the controller starts it again", {
          resource: plural,
          error: failureMessage(error),
        }),
      ),
    signal,
  });
  const controllers = controllersOf(plan, { world, informers, isRevoked });
  const { ready, stopped } = runControllers({ controllers, informers, clock, signal, log });
  await ready;
  if (!signal.aborted) {
    const names = controllers.map(({ name }) => name).join(",");
    log(logEntry("ControllersStarted", "controllers started", { controllers: names }));
  }
  await stopped;
}

interface Parts {
  readonly world: World;
  readonly informers: SharedInformers;
  readonly isRevoked: IsRevoked;
}

function controllersOf(
  { ca, serving, clusters }: ControllerPlan,
  { world: { clock, random }, informers, isRevoked }: Parts,
): readonly Controller[] {
  return [
    ...(ca === undefined
      ? []
      : [
          accessRequest({ informers, clock, random, ca, lifeOf: lifeBy(isRevoked) }),
          accessProfile({ informers, clock }),
        ]),
    ...(serving === undefined
      ? []
      : [servingApproving({ ...serving, informers, clock, parse: parseCsr, isRevoked, resolver: systemResolver() })]),
    ...(clusters === undefined
      ? []
      : registrationControllers({ informers, clock, parse: parseCsr, rules: clusters, revokes: false, isRevoked })),
  ];
}

/** Tokens that machines renewed are not recorded here. */
function lifeBy(isRevoked: IsRevoked): NonNullable<AccessRequestOptions["lifeOf"]> {
  return ({ namespace, serviceAccount }) => ({ isRevoked: isRevoked(serviceAccountUser(namespace, serviceAccount)) });
}

type Election = ControllerManager & {
  readonly client: Client;
  readonly lease: NonNullable<ControllerManager["lease"]>;
};

async function elected(manager: Election): Promise<void> {
  const { client, world, lease, signal } = manager;
  const { clock, log } = world;
  const identity = `${world.hostname}_${Buffer.from(world.random(8)).toString("hex")}`;
  log(
    logEntry("LeaderElectionStarted", "attempting to acquire leader lease", {
      lease: `${lease.namespace}/${lease.name}`,
      identity,
    }),
  );
  await leadWhileElected({
    client,
    clock,
    random: Math.random,
    lease,
    identity,
    timings: leaderTimings,
    lead: (term) => runUnlessOutdated(manager, term),
    log,
    signal,
  });
}
