import type { LevelCounts } from "../apiserver/flow-control/inflight-limiter.ts";
import type { SendBuffers } from "../apiserver/connections/send-buffers.ts";
import type { AuditCounts } from "../audit/audit-backends.ts";
import { familiesText, labelText, type Family } from "../metrics/family.ts";

/** What each level of priority does now, and whom it has refused, as Prometheus text. Source: apiserver pkg/util/flowcontrol/metrics. */
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

/** What is encoded for clients that have not read it yet, as Prometheus text. */
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

/** Requests of all schemas of a level are counted together, under the name of the level. */
function levelLabels({ level }: LevelCounts): string {
  return labelText({ flow_schema: level, priority_level: level });
}
