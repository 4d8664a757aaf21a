import type { RequestInfo } from "./request-info.ts";
import { familiesText, histogram, labelText, type Sample } from "../metrics/family.ts";

/** One finished request. */
export interface FinishedRequest {
  readonly info: RequestInfo;
  readonly code: number;
  readonly ms: number;
  /** How much of that was a wait for a place. */
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

/** Sums over requests: a plain addition for each of them, and text only when it is asked for. */
export interface RequestMetrics {
  readonly observe: (request: FinishedRequest) => void;
  /** Counts a request that has its place until it ends. */
  readonly track: (info: RequestInfo) => TrackedRequest;
  /** In the Prometheus text format, with a newline at the end. */
  readonly text: () => string;
}

/** What Kubernetes calls the verbs of requests there. Source: apiserver pkg/endpoints/metrics. */
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
 * anonymous ones too: those that are not known are one, so that clients cannot add series. `isResource` tells whether a kind is served.
 */
export function requestMetrics(
  isResource: (group: string, version: string, plural: string) => boolean,
): RequestMetrics {
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
  const seriesFor = (info: RequestInfo): Series => seriesOf(boundedParts(info, isResource));
  return {
    observe: ({ info, code, ms, waitedMs, bytes }) => {
      const series = seriesFor(info);
      series.byCode.set(code, (series.byCode.get(code) ?? 0) + 1);
      if (series.verb !== "WATCH") {
        durations.observe(series.requestLabels, ms / 1000);
        sli.observe(series.labels, (ms - waitedMs) / 1000);
      }
      if (series.verb === "GET" || series.verb === "LIST") sizes.observe(series.labels, bytes);
    },
    track: (info) => {
      const series = seriesFor(info);
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
    text: () =>
      familiesText([
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
      ]) +
      durations.text() +
      sli.text() +
      sizes.text(),
  };
}

/** What is counted of requests that are alike; its labels are written once. */
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

/** Finds the series of parts without making text of them; each new one is added to `all`. */
function seriesTree(all: Series[]): (parts: Parts) => Series {
  const root = newBranch();
  return (parts) => {
    const { verb, group, version, resource, scope, subresource } = parts;
    let branch = root;
    for (const key of [verb, resource, group, version, scope, subresource]) {
      let next = branch.branches.get(key);
      if (next === undefined) branch.branches.set(key, (next = newBranch()));
      branch = next;
    }
    if (branch.series === undefined) all.push((branch.series = newSeries(parts)));
    return branch.series;
  };
}

function newBranch(): Branch {
  return { branches: new Map(), series: undefined };
}

function newSeries(parts: Parts): Series {
  return {
    verb: parts.verb,
    labels: labelText(labelsOf(parts)),
    requestLabels: labelText(requestLabels(parts)),
    byCode: new Map(),
    open: undefined,
  };
}

interface Parts {
  readonly component: string;
  readonly group: string;
  readonly resource: string;
  readonly scope: string;
  readonly subresource: string;
  readonly verb: string;
  readonly version: string;
}

function requestLabels({
  component,
  group,
  resource,
  scope,
  subresource,
  verb,
  version,
}: Parts): Readonly<Record<string, string>> {
  return { component, dry_run: "", group, resource, scope, subresource, verb, version };
}

function labelsOf({
  component,
  group,
  resource,
  scope,
  subresource,
  verb,
  version,
}: Parts): Readonly<Record<string, string>> {
  return { component, group, resource, scope, subresource, verb, version };
}

function boundedParts(
  info: RequestInfo,
  isResource: (group: string, version: string, plural: string) => boolean,
): Parts {
  const verb = verbNames[info.verb] ?? other;
  const unnamed = { group: "", resource: "", version: "" };
  if (!info.isResource) {
    const subresource = knownPaths.has(info.path) ? info.path : "";
    return { component: "", ...unnamed, scope: "", subresource, verb };
  }
  const { group, version, resource, subresource } = info;
  const named = isResource(group, version, resource) ? { group, resource, version } : { ...unnamed, resource: other };
  const known = subresource === "" || knownSubresources.has(subresource) ? subresource : other;
  return { component: "apiserver", ...named, scope: scopeOf(info), subresource: known, verb };
}

/** Source: apiserver pkg/endpoints/metrics, CleanScope. */
function scopeOf({ name, verb, namespace }: RequestInfo): string {
  if (name !== "" || verb === "create") return "resource";
  return namespace === "" ? "cluster" : "namespace";
}
