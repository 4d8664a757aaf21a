import type { Clock } from "../apimachinery/clock.ts";
import type { HealthCheck, HealthChecks } from "../apiserver/health.ts";
import type { Registry } from "../registry/registry.ts";
import type { Store } from "../storage/store.ts";
import type { WatchCache } from "../storage/watch-cache.ts";
import { apiServicesCheck } from "../bootstrap/api-services.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import type { PortCertificates } from "../ca/port-certificates.ts";

/** The inputs of the checks. */
export interface HealthParts {
  readonly store: Pick<Store, "currentRevision" | "condition">;
  readonly cache: Pick<WatchCache, "list">;
  /** The served kinds. */
  readonly verbs: Pick<Registry, "resources">;
  readonly clock: Clock;
  /** Aborts when the hub stops. */
  readonly shutdown: AbortSignal;
  /** Whether the controllers have started. */
  readonly isReady: () => boolean;
}

/** Returns why clients do not accept the serving certificate. */
type Certificates = Pick<PortCertificates, "problem">;

/**
 * The checks of the health endpoints. A hub is alive if it can read its store and has its initial objects: a restart may fix a failure.
 * It is ready if it also runs controllers, accepts writes, and serves with a certificate that clients accept. Checks of kube-apiserver
 * have its names and order; `etcd` is the store of the hub.
 */
export function healthChecks(parts: HealthParts, certificates: Certificates): HealthChecks {
  const { store, cache, verbs, clock, shutdown, isReady } = parts;
  const readable = async (): Promise<void> => void (await store.currentRevision());
  const hasApiServices = apiServicesCheck(cache, verbs.resources);
  const atStart: readonly HealthCheck[] = [
    // The port opens after definitions are served and default roles are written.
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
