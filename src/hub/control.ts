import { apiserverAccount } from "../controllers/kinds.ts";
import { runControllers } from "../controllers/runner.ts";
import { sharedInformers } from "../controllers/shared-informers.ts";
import type { Clock } from "../core/clock.ts";
import { mastersGroup, serviceAccountUser, type UserInfo } from "../core/user.ts";
import type { ServingApproval } from "../controllers/serving-approving.ts";
import type { CertificateAuthority } from "../pki/ca.ts";
import type { Registry } from "../registry/registry.ts";
import { errorText } from "./error-text.ts";
import { hubControllers, systemRandom } from "./hub-controllers.ts";
import type { HubOptions } from "./hub-options.ts";
import type { inProcessClient } from "./in-process-client.ts";
import type { Metrics } from "./metrics.ts";
import type { ServiceAccountIssuer } from "./service-account-issuer.ts";

/** What the controllers need of the parts made before. */
export interface ControlParts {
  readonly verbs: Registry;
  readonly clientOf: (user: UserInfo) => ReturnType<typeof inProcessClient>;
  readonly clock: Clock;
  readonly authority: CertificateAuthority;
  readonly issuer: ServiceAccountIssuer;
  readonly url: string;
  readonly metrics: Metrics;
  readonly servingApproval: ServingApproval | undefined;
  readonly signal: AbortSignal;
}

/** Starts the controllers, each under the ServiceAccount of its own. */
export function control(options: HubOptions, parts: ControlParts): ReturnType<typeof runControllers> {
  const { clock, signal, verbs, metrics } = parts;
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
      options.log({
        level: "warn",
        message: "a controller's watch broke and is started again",
        account,
        resource: resource.plural,
        error: errorText(error),
      }),
    signal,
  });
  const controllers = hubControllers({
    informers,
    clock,
    random: systemRandom,
    authority: parts.authority,
    issuer: parts.issuer,
    server: parts.url,
    signingSeconds: options.clusterSigningDurationSeconds,
    resources: verbs.resources,
    servingApproval: parts.servingApproval,
  });
  return runControllers({
    controllers,
    informers,
    clock,
    signal,
    log: ({ error, ...entry }) => {
      if (error !== undefined) metrics.controllerFailed(entry.controller);
      options.log(error === undefined ? entry : { ...entry, error: errorText(error) });
    },
  });
}
