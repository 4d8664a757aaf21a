import { Counter, Gauge, Registry as MetricsRegistry, collectDefaultMetrics } from "../metrics/library.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import type { LevelCounts } from "../apiserver/flow-control/inflight-limiter.ts";
import type { AuditCounts } from "../audit/audit-backends.ts";
import { requestMetrics, type FinishedRequest, type RequestMetrics } from "../apiserver/request-metrics.ts";
import { workQueueMetrics, type WorkQueueMetrics } from "../controllers/workqueue-metrics.ts";
import type { SendBuffers } from "../apiserver/connections/send-buffers.ts";
import { familiesText, labelText, type Family } from "../metrics/family.ts";

/** The metrics of the hub; few labels, since each series costs memory and scrape time. */
export interface Metrics {
  readonly observeRequest: (request: FinishedRequest) => void;
  readonly trackRequest: RequestMetrics["track"];
  readonly controllerFailed: (controller: string) => void;
  readonly queueObserver: WorkQueueMetrics["of"];
  /** A report of a controller about an object. */
  readonly controllerReported: (controller: string, reason: Reason) => void;
  readonly text: () => Promise<{ readonly contentType: string; readonly body: string }>;
}

/** Metrics under the names of Kubernetes where it has such a metric. `read` is called at each scrape. */
export function hubMetrics(read: {
  readonly revision: () => number;
  readonly connections: () => number;
  /** Whether a resource is served. */
  readonly isResource: (group: string, version: string, plural: string) => boolean;
  /** Other metrics, each as Prometheus text, in the order of the response. */
  readonly texts: readonly (() => string | Promise<string>)[];
}): Metrics {
  const registry = new MetricsRegistry();
  collectDefaultMetrics({ register: registry });
  const requests = requestMetrics(read.isResource);
  const queues = workQueueMetrics(() => performance.now());
  const failures = new Counter({
    name: "pratique_controller_errors_total",
    help: "Reconciliations that ended in an error and were put back, by controller.",
    labelNames: ["controller"],
    registers: [registry],
  });
  const reported = new Counter({
    name: "pratique_controller_events_total",
    help: "Decisions, issued credentials and obstacles that controllers reported, by controller and reason.",
    labelNames: ["controller", "reason"],
    registers: [registry],
  });
  gauge(registry, {
    name: "pratique_store_revision",
    help: "The newest revision that this hub serves.",
    read: read.revision,
  });
  gauge(registry, { name: "pratique_connections", help: "TLS connections open now.", read: read.connections });
  return {
    observeRequest: requests.observe,
    trackRequest: requests.track,
    queueObserver: queues.of,
    controllerFailed: (controller) => failures.inc({ controller }),
    controllerReported: (controller, reason) => reported.inc({ controller, reason }),
    text: async () => {
      const texts = [await registry.metrics(), requests.text(), queues.text()];
      for (const text of read.texts) texts.push(await text());
      return { contentType: registry.contentType, body: texts.join("\n") };
    },
  };
}

function gauge(
  registry: MetricsRegistry,
  { name, help, read }: { readonly name: string; readonly help: string; readonly read: () => number },
): void {
  const made = new Gauge({
    name,
    help,
    registers: [],
    collect() {
      this.set(read());
    },
  });
  registry.registerMetric(made);
}

/** Requests in flight and rejected requests of each priority level, as Prometheus text. Source: apiserver pkg/util/flowcontrol/metrics. */
export function fairnessText(levels: readonly LevelCounts[]): string {
  const perLevel = (valueOf: (counts: LevelCounts) => number): Family["samples"] =>
    levels.map((counts) => [levelLabels(counts), valueOf(counts)]);
  return familiesText([
    {
      name: "apiserver_flowcontrol_current_executing_requests",
      type: "gauge",
      help: "Requests that hold a place, by level.",
      samples: perLevel(({ executing }) => executing),
    },
    {
      name: "apiserver_flowcontrol_current_inqueue_requests",
      type: "gauge",
      help: "Requests that wait for a place, by level.",
      samples: perLevel(({ waiting }) => waiting),
    },
    {
      name: "apiserver_flowcontrol_rejected_requests_total",
      type: "counter",
      help: "Requests that got no place, by level and reason.",
      samples: levels.flatMap(({ level, refused }) =>
        Object.entries(refused).map(
          ([reason, count]) => [labelText({ flow_schema: level, priority_level: level, reason }), count] as const,
        ),
      ),
    },
    {
      name: "pratique_request_bodies",
      type: "gauge",
      help: "Requests whose body is being read, by level.",
      samples: perLevel(({ reading }) => reading),
    },
    {
      name: "pratique_open_watches",
      type: "gauge",
      help: "Watches that are open, by level.",
      samples: perLevel(({ watches }) => watches),
    },
  ]);
}

/** Bytes encoded for clients that have not read them yet, as Prometheus text. */
export function unreadText({ bytes, abandoned }: Pick<SendBuffers, "bytes" | "abandoned">): string {
  return familiesText([
    {
      name: "pratique_unread_response_bytes",
      type: "gauge",
      help: "Bytes of large answers and watches that are encoded and wait for their client.",
      samples: [["", bytes()]],
    },
    {
      name: "pratique_abandoned_responses_total",
      type: "counter",
      help: "Answers and watches that were ended because their client read nothing for a minute.",
      samples: [["", abandoned()]],
    },
  ]);
}

/** Audit events so far, as Prometheus text. Source: apiserver pkg/audit/metrics.go. */
export function auditText({ events, lost }: AuditCounts): string {
  return familiesText([
    { name: "apiserver_audit_event_total", type: "counter", help: "Audit events made.", samples: [["", events]] },
    {
      name: "apiserver_audit_error_total",
      type: "counter",
      help: "Audit events that were lost, by backend.",
      samples: lost.map(({ plugin, count }) => [`plugin="${plugin}"`, count]),
    },
  ]);
}

/** Requests of all flow schemas of a level are counted together, under the name of the level. */
function levelLabels({ level }: LevelCounts): string {
  return labelText({ flow_schema: level, priority_level: level });
}
