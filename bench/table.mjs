// Results for people.

/** A table of results, one line each. */
export function resultTable(results) {
  const head = [
    "measured",
    "here",
    "Kubernetes",
    "ratio",
    "of best",
    "to reach",
    "reached",
    "p50 / p99 here",
    "p50 / p99 there",
    "CPU/op here, there",
  ];
  const rows = results.map((result) => [
    result.name,
    amount(result.pratique, result.unit),
    amount(result.kubernetes, result.unit),
    result.ratio === undefined ? "" : `${result.ratio}×`,
    result.bestRatio === undefined ? "" : `${result.bestRatio}×`,
    result.target,
    result.reached === undefined ? "" : result.reached ? "yes" : "NO",
    latency(result.ours),
    latency(result.theirs),
    [result.ours, result.theirs]
      .filter((side) => side !== undefined)
      .map((side) => `${side.cpuMicros} µs`)
      .join(", "),
  ]);
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) =>
    `${cells
      .map((cell, column) => cell.padEnd(widths[column]))
      .join("  ")
      .trimEnd()}\n`;
  return [head, widths.map((width) => "-".repeat(width)), ...rows].map(line).join("");
}

function amount(value, unit) {
  if (value === undefined) return "";
  return unit === "/s" ? `${value.toLocaleString("en")}/s` : `${value.toLocaleString("en")} ${unit}`;
}

function latency(side) {
  return side === undefined
    ? ""
    : `${side.p50Ms} / ${side.p99Ms} ms${side.errors === 0 ? "" : `, ${side.errors} errors`}`;
}
