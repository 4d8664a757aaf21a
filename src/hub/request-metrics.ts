import type { RequestInfo } from "../http/request-info.ts";
import { familiesText, histogram, labelText, type Sample } from "./metric-family.ts";

/** One finished request. */
export interface FinishedRequest {
  readonly info: RequestInfo;
  readonly code: number;
  readonly ms: number;
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

/**
 * Sums from zero, under the names and labels of kube-apiserver. Verbs, groups, resources, subresources and paths come from clients,
 * anonymous ones too: those that are not known are one, so that clients cannot add series. `isResource` tells whether a kind is served.
 */
export function requestMetrics(
  isResource: (group: string, version: string, plural: string) => boolean,
): RequestMetrics {
  const totals = new Map<string, number>();
  const open = new Map<string, number>();
  const inflight = { mutating: 0, readOnly: 0 };
  const durations = histogram({
    name: "apiserver_request_duration_seconds",
    help: "Response latency distribution in seconds; watches are not in it.",
    bounds: durationBounds,
  });
  const partsOf = (info: RequestInfo): Parts => boundedParts(info, isResource);
  return {
    observe: ({ info, code, ms }) => {
      const parts = partsOf(info);
      add(totals, labelText({ code: String(code), ...requestLabels(parts) }), 1);
      if (parts.verb !== "WATCH") durations.observe(labelText(requestLabels(parts)), ms / 1000);
    },
    track: (info) => {
      const parts = partsOf(info);
      const kind = mutating.has(parts.verb) ? "mutating" : "readOnly";
      const watch = labelText(longRunningLabels(parts));
      let state: "executing" | "streaming" | "ended" = "executing";
      inflight[kind] += 1;
      return {
        streaming: () => {
          if (state !== "executing") return;
          state = "streaming";
          inflight[kind] -= 1;
          add(open, watch, 1);
        },
        end: () => {
          if (state === "executing") inflight[kind] -= 1;
          if (state === "streaming") add(open, watch, -1);
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
          samples: [...totals],
        },
        {
          name: "apiserver_current_inflight_requests",
          type: "gauge",
          help: "Requests that are executed now, by kind; watches that stream are not in it.",
          samples: Object.entries(inflight).map(([kind, count]): Sample => [labelText({ request_kind: kind }), count]),
        },
        { name: "apiserver_longrunning_requests", type: "gauge", help: "Watches that are open.", samples: [...open] },
      ]) + durations.text(),
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

function longRunningLabels({
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

function add(sums: Map<string, number>, key: string, by: number): void {
  sums.set(key, (sums.get(key) ?? 0) + by);
}
