import type { Resource } from "../resources/resource.ts";
import { familiesText, labelText } from "./metric-family.ts";

/** What is counted of watches. */
export interface WatchMetrics {
  /** The counter of one watch of a resource that is served: labels are written for each watch, and not for each event. */
  readonly watched: (resource: Pick<Resource, "group" | "version" | "plural">) => (events: number) => void;
  /** Prometheus text. */
  readonly text: () => string;
}

/** Counts from zero. Source: apiserver pkg/endpoints/metrics, WatchEvents. */
export function watchMetrics(): WatchMetrics {
  const totals = new Map<string, { count: number }>();
  return {
    watched: ({ group, version, plural }) => {
      const labels = labelText({ group, resource: plural, version });
      const total = totals.get(labels) ?? { count: 0 };
      totals.set(labels, total);
      return (events) => {
        total.count += events;
      };
    },
    text: () =>
      familiesText([
        {
          name: "apiserver_watch_events_total",
          type: "counter",
          help: "Events that were sent to watches, bookmarks among them.",
          samples: [...totals].map(([labels, { count }]) => [labels, count]),
        },
      ]),
  };
}
