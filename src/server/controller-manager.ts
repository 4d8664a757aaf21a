import { apiserverAccount } from "../controllers/kinds.ts";
import type { CredentialUse } from "../controllers/credentials/issued-credentials.ts";
import { runControllers, type RunningControllers } from "../controllers/runner.ts";
import { sharedInformers } from "../controllers/shared-informers.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { StatusError } from "../apimachinery/status.ts";
import { mastersGroup, serviceAccountUser, type UserInfo } from "../apimachinery/user.ts";
import type { ServingApproval } from "../controllers/certificates/serving-approving.ts";
import type { Registry } from "../registry/registry.ts";
import type { Turns } from "../registry/turns.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { hubControllers, type HubControllersOptions } from "./hub-controllers.ts";
import type { HubOptions } from "./hub-options.ts";
import type { inProcessClient } from "../registry/in-process-client.ts";
import type { ManagedClusters } from "./admission/managed-clusters.ts";
import type { Metrics } from "./metrics.ts";
import { restartableControl, type RestartableControl } from "./restartable-controllers.ts";
import type { Revocations } from "../revocation/revocations.ts";
import type { ServiceAccountIssuer } from "../ca/service-account-issuer.ts";
import { systemRandom } from "../host/system-random.ts";

/** What the controllers need of the parts made before. */
export interface ControlParts {
  readonly verbs: Registry;
  readonly turns: Turns;
  readonly clientOf: (user: UserInfo) => ReturnType<typeof inProcessClient>;
  readonly clock: Clock;
  readonly authorities: () => Authorities;
  readonly issuer: ServiceAccountIssuer;
  readonly revoked: Revocations;
  readonly credentialUse: CredentialUse;
  readonly statusOf: HubControllersOptions["statusOf"];
  readonly lifeOf: HubControllersOptions["lifeOf"];
  readonly nodeNames: HubControllersOptions["nodeNames"];
  readonly url: string;
  readonly metrics: Metrics;
  readonly servingApproval: ServingApproval | undefined;
  readonly clusters: ManagedClusters | undefined;
  readonly signal: AbortSignal;
}

/** Starts the controllers, each under the ServiceAccount of its own; a restart gives them the CAs of that moment. */
export function control(options: HubOptions, parts: ControlParts): RestartableControl {
  return restartableControl((signal) => started(options, parts, signal), parts.signal);
}

function started(options: HubOptions, parts: ControlParts, signal: AbortSignal): RunningControllers {
  const { clock, verbs, metrics } = parts;
  const clientFor = (account: string): ReturnType<typeof inProcessClient> =>
    parts.clientOf(
      account === apiserverAccount
        ? { username: apiserverAccount, groups: [mastersGroup] }
        : serviceAccountUser("kube-system", account),
    );
  const informers = sharedInformers({
    clientFor,
    clock,
    random: Math.random,
    onError: (account, resource, error) =>
      options.log(
        logEntry("WatchFailed", "the watch of a controller failed; the hub starts it again", {
          account,
          resource: resource.plural,
          error,
        }),
      ),
    signal,
  });
  const controllers = hubControllers({
    informers,
    clock,
    random: systemRandom,
    authorities: parts.authorities(),
    issuer: parts.issuer,
    server: parts.url,
    signingSeconds: options.clusterSigningDurationSeconds,
    resources: verbs.resources,
    turn: () => parts.turns.next("system:kube-controller-manager"),
    revocations: parts.revoked,
    credentialUse: parts.credentialUse,
    statusOf: parts.statusOf,
    lifeOf: parts.lifeOf,
    nodeNames: parts.nodeNames,
    approveNamesInUse: options.nodeAutoapproveNamesInUse ?? false,
    servingApproval: parts.servingApproval,
    clusters: parts.clusters,
  });
  return runControllers({
    controllers,
    informers,
    clock,
    observerOf: metrics.queueObserver,
    signal,
    count: metrics.controllerReported,
    log: (entry, thrown) => {
      if (thrown !== undefined) metrics.controllerFailed(String(entry["controller"]));
      // That writes are refused is said once, for the store, and not by each object that waits for one.
      if (thrown instanceof StatusError && thrown.reason === "InsufficientStorage") return;
      options.log(entry);
    },
  });
}
