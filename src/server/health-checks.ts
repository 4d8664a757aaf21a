import type { Clock } from "../apimachinery/clock.ts";
import type { HealthCheck, HealthChecks } from "../apiserver/health.ts";
import type { Registry } from "../registry/registry.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { apiServicesCheck } from "../bootstrap/api-services.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { PortCertificates } from "../ca/port-certificates.ts";

/** What the checks look at. */
export interface HealthParts {
  readonly store: Pick<Store, "currentRevision" | "condition">;
  readonly cache: Pick<WatchCache, "list">;
  /** Has the kinds that are served now. */
  readonly verbs: Pick<Registry, "resources">;
  readonly clock: Clock;
  /** Aborts when the hub stops. */
  readonly shutdown: AbortSignal;
  /** Whether the controllers have started. */
  readonly isReady: () => boolean;
}

/** Says why clients do not accept the serving certificate. */
type Certificates = Pick<PortCertificates, "problem">;

/**
 * The checks of the health endpoints. Alive is a hub that can read its store and has what it writes at its start: a restart may mend what
 * fails. Ready is one that also has controllers, accepts writes, and serves with a certificate that clients accept. What kube-apiserver
 * checks too has its name there, in its order; the store of the hub is its `etcd`.
 */
export function healthChecks(parts: HealthParts, certificates: Certificates): HealthChecks {
  const { store, cache, verbs, clock, shutdown, isReady } = parts;
  const readable = async (): Promise<void> => void (await store.currentRevision());
  const hasApiServices = apiServicesCheck(cache, verbs.resources);
  const atStart: readonly HealthCheck[] = [
    // The port opens after definitions are served and the default roles are written.
    { name: "poststarthook/crd-informer-synced", check: async () => undefined },
    { name: "poststarthook/rbac/bootstrap-roles", check: async () => undefined },
    { name: "autoregister-completion", check: async () => hasApiServices() },
  ];
  const etcd: HealthCheck = { name: "etcd", check: readable };
  const alive = [etcd, ...atStart];
  const controllers = failing("controllers", () => (isReady() ? undefined : "still starting"));
  return {
    healthz: [...alive, controllers],
    livez: alive,
    readyz: [
      etcd,
      { name: "etcd-readiness", check: readable },
      ...atStart,
      {
        name: "store-writes",
        check: async () => {
          const { refusal } = store.condition();
          if (refusal !== undefined) throw refusal;
        },
      },
      controllers,
      failing("serving-certificate", () => certificates.problem(clock.now())),
      failing("shutdown", () => (shutdown.aborted ? "process is shutting down" : undefined)),
    ],
  };
}

function failing(name: string, why: () => string | undefined): HealthCheck {
  return {
    name,
    check: async () => {
      const reason = why();
      if (reason !== undefined) throw new HubError("options", reason);
    },
  };
}
