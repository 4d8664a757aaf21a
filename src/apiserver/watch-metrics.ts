import type { Resource } from "../apis/resource.ts";
import { familiesText, histogram, labelText } from "../metrics/family.ts";

/** What is counted of watches. */
export interface WatchMetrics {
  /** The counter of one watch of a resource that is served, given events as they are sent: labels are written for each watch, and not for each event. */
  readonly watched: (
    resource: Pick<Resource, "group" | "version" | "plural">,
  ) => (events: readonly Pick<Buffer, "length">[]) => void;
  /** Counts a watch that was ended because its client read too slowly. */
  readonly terminated: (resource: Pick<Resource, "group" | "plural">) => void;
  /** Prometheus text. */
  readonly text: () => string;
}

const sizeBounds: readonly number[] = [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];

/** Counts from zero. Source: apiserver pkg/endpoints/metrics, WatchEvents and WatchEventsSizes; storage/cacher/metrics, TerminatedWatchersCounter. */
export function watchMetrics(): WatchMetrics {
  const sizes = histogram({
    name: "apiserver_watch_events_sizes",
    help: "Watch event size distribution in bytes, as sent.",
    bounds: sizeBounds,
  });
  const totals = new Map<string, { count: number }>();
  const terminated = new Map<string, number>();
  return {
    watched: ({ group, version, plural }) => {
      const labels = labelText({ group, resource: plural, version });
      const total = totals.get(labels) ?? { count: 0 };
      totals.set(labels, total);
      const observe = sizes.observerOf(labels);
      return (events) => {
        total.count += events.length;
        for (const { length } of events) observe(length);
      };
    },
    terminated: ({ group, plural }) => {
      const labels = labelText({ group, resource: plural });
      terminated.set(labels, (terminated.get(labels) ?? 0) + 1);
    },
    text: () =>
      familiesText([
        {
          name: "apiserver_watch_events_total",
          type: "counter",
          help: "Events that were sent to watches, bookmarks among them.",
          samples: [...totals].map(([labels, { count }]) => [labels, count]),
        },
        {
          name: "apiserver_terminated_watchers_total",
          type: "counter",
          help: "Watches that were ended because their client read too slowly.",
          samples: [...terminated],
        },
      ]) + sizes.text(),
  };
}
