/** Source: apiserver pkg/admission/metrics, newAdmissionMetrics. */
const quantiles: readonly number[] = [0.5, 0.9, 0.99];
const maxAgeMs = 5 * 3600 * 1000;
/** Of how many of the newest values of a series quantiles are told. */
const maxKept = 1024;

/** A summary that is added to, one series for each set of labels. */
export interface Summary {
  readonly observe: (labels: string, value: number) => void;
  /** Prometheus text, with a newline at the end. */
  readonly text: () => string;
}

interface Series {
  readonly values: Float64Array;
  /** When each was added, in milliseconds. */
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
