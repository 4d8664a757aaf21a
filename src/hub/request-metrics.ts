import type { RequestInfo } from "../http/request-info.ts";

/** One finished request. */
export interface FinishedRequest {
  readonly info: RequestInfo;
  readonly code: number;
  readonly ms: number;
}

/** Sums over requests: a plain addition for each of them, and text only when somebody scrapes. */
export interface RequestMetrics {
  readonly observe: (request: FinishedRequest) => void;
  /** In the Prometheus text format, with a newline at the end. */
  readonly text: () => string;
}

interface Sum {
  readonly labels: string;
  count: number;
}

interface Durations {
  /** How many fell under each bound, the last being everything beyond; not cumulative. */
  readonly buckets: number[];
  seconds: number;
}

const counterName = "apiserver_request_total";
const histogramName = "apiserver_request_duration_seconds";
const bounds: readonly number[] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];
/** All verbs of requests, for resources and for other paths. */
const knownVerbs: ReadonlySet<string> = new Set(
  "get list watch create update patch delete deletecollection head post put options".split(" "),
);
const other = "other";

/**
 * Sums from zero. Verbs and resources come from clients, anonymous ones too: those that are not known are one, so that nobody can add
 * sums at will. `isResource` tells whether a plural is served.
 */
export function requestMetrics(isResource: (plural: string) => boolean): RequestMetrics {
  const sums = new Map<string, Sum>();
  const durations = new Map<string, Durations>();
  return {
    observe: (request) => {
      const verb = knownVerbs.has(request.info.verb) ? request.info.verb : other;
      const { resource } = request.info;
      const named = resource === "" || isResource(resource) ? resource : other;
      sumFor(sums, { verb, resource: named, code: request.code }).count += 1;
      if (verb === "watch") return;
      const ofVerb = durationsFor(durations, verb);
      const at = bounds.findIndex((bound) => request.ms <= bound * 1000);
      const bucket = at < 0 ? bounds.length : at;
      ofVerb.buckets[bucket] = (ofVerb.buckets[bucket] ?? 0) + 1;
      ofVerb.seconds += request.ms / 1000;
    },
    text: () => `${counterText(sums)}\n${histogramText(durations)}\n`,
  };
}

function sumFor(
  sums: Map<string, Sum>,
  { verb, resource, code }: { readonly verb: string; readonly resource: string; readonly code: number },
): Sum {
  const key = `${verb} ${resource} ${code}`;
  const known = sums.get(key);
  if (known !== undefined) return known;
  const sum = { labels: labelText(verb, resource, code), count: 0 };
  sums.set(key, sum);
  return sum;
}

function durationsFor(durations: Map<string, Durations>, verb: string): Durations {
  const known = durations.get(verb);
  if (known !== undefined) return known;
  const fresh = { buckets: Array.from({ length: bounds.length + 1 }, () => 0), seconds: 0 };
  durations.set(verb, fresh);
  return fresh;
}

function labelText(verb: string, resource: string, code: number): string {
  return `verb=${JSON.stringify(verb)},resource=${JSON.stringify(resource)},code="${code}"`;
}

function counterText(sums: ReadonlyMap<string, Sum>): string {
  const lines = [...sums.values()].map(({ labels, count }) => `${counterName}{${labels}} ${count}`);
  return [
    `# HELP ${counterName} Requests by verb, resource and HTTP code.`,
    `# TYPE ${counterName} counter`,
    ...lines,
    "",
  ].join("\n");
}

function histogramText(durations: ReadonlyMap<string, Durations>): string {
  const lines = [...durations].flatMap(([verb, { buckets, seconds }]) => {
    const label = `verb=${JSON.stringify(verb)}`;
    let count = 0;
    const cumulative = buckets.map((one, at) => {
      count += one;
      return `${histogramName}_bucket{${label},le="${bounds[at] ?? "+Inf"}"} ${count}`;
    });
    return [...cumulative, `${histogramName}_sum{${label}} ${seconds}`, `${histogramName}_count{${label}} ${count}`];
  });
  const help = "Seconds from the headers to the end of the answer, watches excluded.";
  return [`# HELP ${histogramName} ${help}`, `# TYPE ${histogramName} histogram`, ...lines, ""].join("\n");
}
