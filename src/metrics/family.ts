/** One series: its labels as Prometheus writes them, without braces, and its value. */
export type Sample = readonly [labels: string, value: number];

/** A metric with its series at a scrape. */
export interface Family {
  readonly name: string;
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly samples: readonly Sample[];
}

/** How many values are within each bound, the last beyond all bounds; not cumulative. */
export interface Buckets {
  readonly labels: string;
  readonly buckets: readonly number[];
  readonly sum: number;
}

/** `a="1",b="2"`, in the order of the keys. */
export function labelText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(",");
}

/** Families as Prometheus text, with a newline at the end. */
export function familiesText(families: readonly Family[]): string {
  const lines = families.flatMap(({ name, type, help, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${labels === "" ? name : `${name}{${labels}}`} ${value}`),
  ]);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** A counter that is added to, one series for each set of labels. */
export interface Counted {
  /** Adds to one series, 1 by default; with 0, one that has no value yet is shown as 0. */
  readonly add: (labels: string, by?: number) => void;
  /** Prometheus text, with a newline at the end. */
  readonly text: () => string;
}

/** A counter without series. */
export function counter(name: string, help: string): Counted {
  const series = new Map<string, number>();
  return {
    add: (labels, by = 1) => void series.set(labels, (series.get(labels) ?? 0) + by),
    text: () => familiesText([{ name, type: "counter", help, samples: [...series] }]),
  };
}

/** A histogram as Prometheus text, with a newline at the end. */
export function histogramText(family: {
  readonly name: string;
  readonly help: string;
  readonly bounds: readonly number[];
  readonly series: Iterable<Buckets>;
}): string {
  const { name, help, bounds } = family;
  const lines = [...family.series].flatMap(({ labels, buckets, sum }) => {
    let count = 0;
    const cumulative = buckets.map((one, at) => {
      count += one;
      const le = `le="${boundText(bounds[at])}"`;
      return `${name}_bucket{${labels === "" ? le : `${labels},${le}`}} ${count}`;
    });
    const braces = labels === "" ? "" : `{${labels}}`;
    return [...cumulative, `${name}_sum${braces} ${sum}`, `${name}_count${braces} ${count}`];
  });
  return `${[`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines].join("\n")}\n`;
}

/** As Go writes it, since series are joined by the text of their bounds. */
function boundText(bound: number | undefined): string {
  if (bound === undefined) return "+Inf";
  const isPlain = bound === 0 || (bound >= 1e-4 && bound < 1e6);
  return isPlain ? String(bound) : bound.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

/** A histogram that is added to, one series for each set of labels. */
export interface Histogram {
  readonly observe: (labels: string, value: number) => void;
  /** Adds to one series, which is found once: for frequent observations. It is shown from its first value on. */
  readonly observerOf: (labels: string) => (value: number) => void;
  /** `labelsOf` writes the labels when the series is new. */
  readonly text: (labelsOf?: (labels: string) => string) => string;
}

/** A histogram with these upper bounds. */
export function histogram(family: {
  readonly name: string;
  readonly help: string;
  readonly bounds: readonly number[];
}): Histogram {
  const { bounds } = family;
  const series = new Map<string, Summed>();
  const seriesOf = (labels: string): Summed => {
    let one = series.get(labels);
    if (one === undefined) {
      one = { labels, buckets: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 };
      series.set(labels, one);
    }
    return one;
  };
  return {
    observe: (labels, value) => add(seriesOf(labels), bounds, value),
    observerOf: (labels) => {
      let one: Summed | undefined;
      return (value) => add((one ??= seriesOf(labels)), bounds, value);
    },
    text: (labelsOf = (labels) => labels) =>
      histogramText({
        ...family,
        series: [...series.values()].map((one) => ({ ...one, labels: labelsOf(one.labels) })),
      }),
  };
}

/** From a millisecond to 16 seconds. Source: apiserver pkg/endpoints/filters/metrics.go, for authentication and authorization. */
const decisionBounds: readonly number[] = Array.from({ length: 15 }, (_, at) => 2 ** at / 1000);

/** Decisions about requests by their result: how many there were, and how long they took. */
export interface Decisions<Result extends string> {
  readonly observe: (result: Result, seconds: number) => void;
  /** Both as Prometheus text. */
  readonly counts: () => string;
  readonly durations: () => string;
}

/** Decisions with these results, counted from zero; the names and helps are those of both families. */
export function decisions<Result extends string>(
  results: readonly Result[],
  { counts, durations }: Readonly<Record<"counts" | "durations", Pick<Family, "name" | "help">>>,
): Decisions<Result> {
  const taken = histogram({ ...durations, bounds: decisionBounds });
  const counted = counter(counts.name, counts.help);
  const series = new Map(
    results.map((result) => {
      const labels = `result="${result}"`;
      counted.add(labels, 0);
      return [result, { labels, took: taken.observerOf(labels) }];
    }),
  );
  return {
    observe: (result, seconds) => {
      const one = series.get(result);
      if (one === undefined) return;
      counted.add(one.labels);
      one.took(seconds);
    },
    counts: counted.text,
    durations: () => taken.text(),
  };
}

interface Summed {
  readonly labels: string;
  readonly buckets: number[];
  sum: number;
}

/** Runs several times in each request, so it allocates nothing. */
function add(series: Summed, bounds: readonly number[], value: number): void {
  let at = 0;
  while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1;
  series.buckets[at] = (series.buckets[at] ?? 0) + 1;
  series.sum += value;
}

/** Source: apiserver pkg/admission/metrics, newAdmissionMetrics. */
const quantiles: readonly number[] = [0.5, 0.9, 0.99];
const maxAgeMs = 5 * 3600 * 1000;
/** How many of the newest values of a series its quantiles cover. */
const maxKept = 1024;

/** A summary that is added to, one series for each set of labels. */
export interface Summary {
  readonly observe: (labels: string, value: number) => void;
  /** Prometheus text, with a newline at the end. */
  readonly text: () => string;
}

interface Series {
  readonly values: Float64Array;
  /** The time of each value, in milliseconds. */
  readonly times: Float64Array;
  count: number;
  sum: number;
}

/**
 * A summary whose quantiles are exact over the newest 1024 values of the last five hours; `now` in milliseconds of a clock that is not set
 * back. Without a value in that time a quantile is NaN, as in client_golang.
 */
export function summary(family: { readonly name: string; readonly help: string }, now: () => number): Summary {
  const { name, help } = family;
  const all = new Map<string, Series>();
  return {
    observe: (labels, value) => {
      let series = all.get(labels);
      if (series === undefined) all.set(labels, (series = newSeries()));
      const at = series.count % maxKept;
      series.values[at] = value;
      series.times[at] = now();
      series.count += 1;
      series.sum += value;
    },
    text: () => {
      const since = now() - maxAgeMs;
      const lines = [...all].flatMap(([labels, series]) => {
        const sorted = recent(series, since);
        return [
          ...quantiles.map((quantile) => {
            const value = sorted[Math.max(0, Math.ceil(quantile * sorted.length) - 1)] ?? Number.NaN;
            return `${name}{${labels},quantile="${quantile}"} ${value}`;
          }),
          `${name}_sum{${labels}} ${series.sum}`,
          `${name}_count{${labels}} ${series.count}`,
        ];
      });
      return `${[`# HELP ${name} ${help}`, `# TYPE ${name} summary`, ...lines].join("\n")}\n`;
    },
  };
}

function newSeries(): Series {
  return { values: new Float64Array(maxKept), times: new Float64Array(maxKept), count: 0, sum: 0 };
}

function recent({ values, times, count }: Series, since: number): Float64Array {
  return values
    .subarray(0, Math.min(count, maxKept))
    .filter((_, at) => (times[at] ?? 0) >= since)
    .toSorted();
}
