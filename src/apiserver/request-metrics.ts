import type { RequestInfo } from "./request-info.ts";
import type { Resource } from "../apis/resource.ts";
import { counter, familiesText, histogram, labelText, type Sample } from "../metrics/family.ts";

/** One finished request. */
export interface FinishedRequest {
  readonly info: RequestInfo;
  readonly code: number;
  readonly ms: number;
  /** How much of that was a wait for a seat. */
  readonly waitedMs: number;
  /** Length of the body that was sent, compressed where it was; 0 for what streams. */
  readonly bytes: number;
}

/** A request under way. */
export interface TrackedRequest {
  /** It is a watch, and streams from now on. */
  readonly streaming: () => void;
  readonly end: () => void;
}

/** Sums over requests: a plain addition per request, and text only on a scrape. */
export interface RequestMetrics {
  readonly observe: (request: FinishedRequest) => void;
  /** Counts a request from its seat until it ends. */
  readonly track: (info: RequestInfo) => TrackedRequest;
  /** In the Prometheus text format, with a newline at the end. */
  readonly text: () => string;
}

/** The metric names of request verbs in Kubernetes. Source: apiserver pkg/endpoints/metrics. */
const verbNames: Readonly<Record<string, string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETECOLLECTION",
  head: "GET",
  post: "POST",
  put: "PUT",
  options: "OPTIONS",
};
const other = "other";
const mutating: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE", "DELETECOLLECTION"]);
const knownSubresources: ReadonlySet<string> = new Set(
  "status scale approval finalize token eviction binding log exec attach portforward proxy ephemeralcontainers resize accept".split(
    " ",
  ),
);
/** Paths of their own series; all others are one. */
const knownPaths: ReadonlySet<string> = new Set(
  "/healthz /livez /readyz /version /metrics /api /apis /openapi/v2 /openapi/v3 /openid/v1/jwks /.well-known/openid-configuration".split(
    " ",
  ),
);
/** Source: apiserver pkg/endpoints/metrics, requestLatencies. */
const durationBounds: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** Source: apiserver pkg/endpoints/metrics, requestSliLatencies. */
const sliBounds: readonly number[] = durationBounds.filter((bound) => bound >= 0.05);
/** Source: apiserver pkg/endpoints/metrics, responseSizes. */
const sizeBounds: readonly number[] = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/**
 * Sums from zero, under the names and labels of kube-apiserver. Verbs, groups, resources, subresources and paths come from clients,
 * anonymous ones too: unknown ones share one series, so that clients cannot add series. `isResource` returns whether a kind is served.
 */
export function requestMetrics(isResource: IsResource): RequestMetrics {
  const all: Series[] = [];
  const seriesOf = seriesTree(all);
  const inflight = { mutating: 0, readOnly: 0 };
  const durations = histogram({
    name: "apiserver_request_duration_seconds",
    help: "Response latency distribution in seconds; watches are not in it.",
    bounds: durationBounds,
  });
  const sli = histogram({
    name: "apiserver_request_sli_duration_seconds",
    help: "Response latency distribution in seconds without the wait for a place; watches are not in it.",
    bounds: sliBounds,
  });
  const sizes = histogram({
    name: "apiserver_response_sizes",
    help: "Response size distribution in bytes, of what is read.",
    bounds: sizeBounds,
  });
  return {
    observe: ({ info, code, ms, waitedMs, bytes }) => {
      const series = seriesOf(boundedParts(info, isResource));
      series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1);
      if (series.verb !== "WATCH") {
        durations.observe(series.requestLabels, ms / 1000);
        sli.observe(series.labels, (ms - waitedMs) / 1000);
      }
      if (series.verb === "GET" || series.verb === "LIST") sizes.observe(series.labels, bytes);
    },
    track: (info) => {
      const series = seriesOf(boundedParts(info, isResource));
      const kind = mutating.has(series.verb) ? "mutating" : "readOnly";
      let state: "executing" | "streaming" | "ended" = "executing";
      inflight[kind] += 1;
      return {
        streaming: () => {
          if (state !== "executing") return;
          state = "streaming";
          inflight[kind] -= 1;
          series.open = (series.open ?? 0) + 1;
        },
        end: () => {
          if (state === "executing") inflight[kind] -= 1;
          if (state === "streaming") series.open = (series.open ?? 0) - 1;
          state = "ended";
        },
      };
    },
    text: () => countsText(all, inflight) + durations.text() + sli.text() + sizes.text(),
  };
}

function countsText(all: readonly Series[], inflight: Readonly<Record<string, number>>): string {
  return familiesText([
    {
      name: "apiserver_request_total",
      type: "counter",
      help: "Requests by verb, resource and HTTP code.",
      samples: all.flatMap(({ byCode, requestLabels }) =>
        [...byCode].map(([code, count]): Sample => [`code="${code}",${requestLabels}`, count]),
      ),
    },
    {
      name: "apiserver_current_inflight_requests",
      type: "gauge",
      help: "Requests that are executed now, by kind; watches that stream are not in it.",
      samples: Object.entries(inflight).map(([kind, count]): Sample => [labelText({ request_kind: kind }), count]),
    },
    {
      name: "apiserver_longrunning_requests",
      type: "gauge",
      help: "Watches that are open.",
      samples: all.flatMap(({ labels, open }): readonly Sample[] => (open === undefined ? [] : [[labels, open]])),
    },
  ]);
}

type IsResource = (group: string, version: string, plural: string) => boolean;

/** The counts of requests with equal labels; the labels are written once. */
interface Series {
  readonly verb: string;
  /** Without `dry_run`. */
  readonly labels: string;
  readonly requestLabels: string;
  readonly byCode: Map<number, number>;
  /** Watches that are open; absent before the first. */
  open: number | undefined;
}

interface Branch {
  readonly branches: Map<string, Branch>;
  series: Series | undefined;
}

/** Finds the series of parts without joining them to text; each new one is added to `all`. */
function seriesTree(all: Series[]): (parts: Parts) => Series {
  const root: Branch = { branches: new Map(), series: undefined };
  return (parts) => {
    const { verb, group, version, resource, scope, subresource } = parts;
    let branch = root;
    for (const key of [verb, resource, group, version, scope, subresource]) {
      let next = branch.branches.get(key);
      if (next === undefined) branch.branches.set(key, (next = { branches: new Map(), series: undefined }));
      branch = next;
    }
    if (branch.series === undefined) all.push((branch.series = newSeries(parts)));
    return branch.series;
  };
}

function newSeries(parts: Parts): Series {
  const { component, ...others } = parts;
  return {
    verb: parts.verb,
    labels: labelText(parts),
    requestLabels: labelText({ component, dry_run: "", ...others }),
    byCode: new Map(),
    open: undefined,
  };
}

/** The labels of a request, in the order in which they are written. */
type Parts = Readonly<
  Record<"component" | "group" | "resource" | "scope" | "subresource" | "verb" | "version", string>
>;

function boundedParts(info: RequestInfo, isResource: IsResource): Parts {
  const verb = verbNames[info.verb] ?? other;
  if (!info.isResource) {
    const subresource = knownPaths.has(info.path) ? info.path : "";
    return { component: "", group: "", resource: "", scope: "", subresource, verb, version: "" };
  }
  const scope = scopeOf(info);
  const part = info.subresource;
  const subresource = part === "" || knownSubresources.has(part) ? part : other;
  const { group, resource, version } = isResource(info.group, info.version, info.resource) ? info : unknownResource;
  return { component: "apiserver", group, resource, scope, subresource, verb, version };
}

const unknownResource = { group: "", resource: other, version: "" } as const;

/** Source: apiserver pkg/endpoints/metrics, CleanScope. */
function scopeOf({ name, verb, namespace }: RequestInfo): string {
  if (name !== "" || verb === "create") return "resource";
  return namespace === "" ? "cluster" : "namespace";
}

/** What is counted of watches. */
export interface WatchMetrics {
  /** The counter of one watch of a served resource, called with events as they are sent: labels are written per watch, and not per event. */
  readonly watched: (
    resource: Pick<Resource, "group" | "version" | "plural">,
  ) => (events: readonly Pick<Buffer, "length">[]) => void;
  /** Counts a watch that was ended because its client read too slowly. */
  readonly terminated: (resource: Pick<Resource, "group" | "plural">) => void;
  /** Prometheus text. */
  readonly text: () => string;
}

const eventSizeBounds: readonly number[] = [1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072];

/** Counts from zero. Source: apiserver pkg/endpoints/metrics, WatchEvents and WatchEventsSizes; storage/cacher/metrics, TerminatedWatchersCounter. */
export function watchMetrics(): WatchMetrics {
  const totals = counter("apiserver_watch_events_total", "Events that were sent to watches, bookmarks among them.");
  const terminated = counter(
    "apiserver_terminated_watchers_total",
    "Watches that were ended because their client read too slowly.",
  );
  const sizes = histogram({
    name: "apiserver_watch_events_sizes",
    help: "Watch event size distribution in bytes, as sent.",
    bounds: eventSizeBounds,
  });
  return {
    watched: ({ group, version, plural }) => {
      const labels = labelText({ group, resource: plural, version });
      totals.add(labels, 0);
      const observe = sizes.observerOf(labels);
      return (events) => {
        totals.add(labels, events.length);
        for (const { length } of events) observe(length);
      };
    },
    terminated: ({ group, plural }) => terminated.add(labelText({ group, resource: plural })),
    text: () => totals.text() + terminated.text() + sizes.text(),
  };
}
