import { Counter, Gauge, Histogram, Registry as MetricsRegistry, collectDefaultMetrics } from "prom-client";
import type { RequestInfo } from "../http/request-info.ts";

/** What the hub counts; few labels, since each series costs memory and scrape time. */
export interface Metrics {
  readonly observeRequest: (seen: { readonly info: RequestInfo; readonly code: number; readonly ms: number }) => void;
  readonly controllerFailed: (controller: string) => void;
  readonly text: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Metrics under the names that Kubernetes gives them where it has such a metric. `read` is asked at each scrape. */
export function hubMetrics(read: {
  readonly revision: () => number;
  readonly connections: () => number;
  readonly inflight: () => number;
}): Metrics {
  const registry = new MetricsRegistry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: "apiserver_request_total",
    help: "Requests by verb, resource and HTTP code.",
    labelNames: ["verb", "resource", "code"],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: "apiserver_request_duration_seconds",
    help: "Seconds from the headers to the end of the answer, watches excluded.",
    labelNames: ["verb"],
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [registry],
  });
  const failures = new Counter({
    name: "pratique_controller_errors_total",
    help: "Reconciliations that ended in an error and were put back, by controller.",
    labelNames: ["controller"],
    registers: [registry],
  });
  gauge(registry, {
    name: "pratique_store_revision",
    help: "The newest revision that this hub serves.",
    read: read.revision,
  });
  gauge(registry, { name: "pratique_connections", help: "TLS connections open now.", read: read.connections });
  gauge(registry, {
    name: "apiserver_current_inflight_requests",
    help: "Requests under way, watches excluded.",
    read: read.inflight,
  });
  return {
    observeRequest: ({ info, code, ms }) => {
      requests.inc({ verb: info.verb, resource: info.isResource ? info.resource : "", code: String(code) });
      if (info.verb !== "watch") seconds.observe({ verb: info.verb }, ms / 1000);
    },
    controllerFailed: (controller) => failures.inc({ controller }),
    text: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
}

function gauge(
  registry: MetricsRegistry,
  { name, help, read }: { readonly name: string; readonly help: string; readonly read: () => number },
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
