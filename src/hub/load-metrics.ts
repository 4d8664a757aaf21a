import type { LevelCounts } from "../http/request-places.ts";
import type { AuditCounts } from "./audit-backends.ts";

interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

/** What each level of priority does now, and whom it has refused, as Prometheus text. Source: apiserver pkg/util/flowcontrol/metrics. */
export function fairnessText(levels: readonly LevelCounts[]): string {
  const perLevel = (valueOf: (counts: LevelCounts) => number): Family["samples"] =>
    levels.map((counts) => [`priority_level="${counts.level}"`, valueOf(counts)]);
  return text([
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
          ([reason, count]) => [`priority_level="${level}",reason="${reason}"`, count] as const,
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
      name: "apiserver_longrunning_requests",
      type: "gauge",
      help: "Watches that are open, by level.",
      samples: perLevel(({ watches }) => watches),
    },
  ]);
}

/** Audit events so far, as Prometheus text. Source: apiserver pkg/audit/metrics.go. */
export function auditText({ events, lost }: AuditCounts): string {
  return text([
    { name: "apiserver_audit_event_total", type: "counter", help: "Audit events made.", samples: [["", events]] },
    {
      name: "apiserver_audit_error_total",
      type: "counter",
      help: "Audit events that were lost, by backend.",
      samples: lost.map(({ plugin, count }) => [`plugin="${plugin}"`, count]),
    },
  ]);
}

function text(families: readonly Family[]): string {
  const lines = families.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${labels === "" ? name : `${name}{${labels}}`} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}
