/** What a family of Prometheus text looks like, whatever its values. */
export interface MetricFamily {
  readonly type: string;
  /** Without `le` and `quantile`; sorted. Undefined where no series was there. */
  readonly labels?: readonly string[];
  /** The upper bounds of a histogram, in order, as they stand there. */
  readonly buckets?: readonly string[];
}

type Mutable = { type: string; labels?: readonly string[]; buckets?: string[] };

/** The families of a page of metrics in the text format, by name. @throws TypeError for a line that is none of the format, or a series without its family. */
export function metricFamilies(text: string): ReadonlyMap<string, MetricFamily> {
  const families = new Map<string, Mutable>();
  for (const line of text.split("\n").filter((one) => one !== "" && !one.startsWith("# HELP "))) {
    const [, declared, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (declared === undefined || type === undefined) addSeries(families, line);
    else if (families.has(declared)) throw new TypeError(`${declared} is declared twice`);
    else families.set(declared, { type });
  }
  return families;
}

function addSeries(families: ReadonlyMap<string, Mutable>, line: string): void {
  const [, name = "", labelled = ""] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
  const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ""));
  if (family === undefined) throw new TypeError(`no family of ${line}`);
  const pairs = [...labelled.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  const labels = pairs.map(([, label = ""]) => label).filter((label) => label !== "le" && label !== "quantile");
  family.labels ??= labels.toSorted();
  if (family.type !== "histogram" || !name.endsWith("_bucket")) return;
  const bound = pairs.find(([, label]) => label === "le")?.[2] ?? "";
  family.buckets ??= [];
  if (!family.buckets.includes(bound)) family.buckets.push(bound);
}
