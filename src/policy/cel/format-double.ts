/** A floating point number as Go's `strconv.FormatFloat(value, 'g', -1, 64)` writes it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  const scientific = value.toExponential();
  const split = scientific.indexOf("e");
  const exponent = Number(scientific.slice(split + 1));
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${scientific.slice(0, split)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A finite floating point number without an exponent, in as few digits as tell it from others. */
export function plainDouble(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return Object.is(value, -0) ? "-0" : text;
  const [digits = "", exponent = "0"] = Math.abs(value).toExponential().split("e");
  const shown = digits.replace(".", "");
  const scale = Number(exponent);
  const magnitude = scale < 0 ? `0.${"0".repeat(-scale - 1)}${shown}` : shown.padEnd(scale + 1, "0");
  return value < 0 ? `-${magnitude}` : magnitude;
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const infinite = /^[+-]?(?:inf|infinity)$/i;

/** The floating point number that a text stands for, as Go's `strconv.ParseFloat` reads it; undefined when it stands for none. */
export function parseDouble(text: string): number | undefined {
  if (text.length > 400) return undefined;
  if (/^nan$/i.test(text)) return Number.NaN;
  if (infinite.test(text)) return text.startsWith("-") ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const value = decimal.test(text) ? Number(text) : undefined;
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}
