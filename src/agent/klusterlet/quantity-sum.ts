const binary: readonly string[] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const nano = 1_000_000_000n;

interface Amount {
  /** In billionths. */
  readonly nanos: bigint;
  readonly isBinary: boolean;
}

/**
 * The sum of quantities as Kubernetes writes it: in the format of the first that is not zero, with the largest suffix that leaves a whole
 * number. What is no quantity counts for nothing. @see apimachinery api/resource Quantity
 */
export function quantitySum(texts: readonly string[]): string {
  const amounts = texts.flatMap((text) => {
    const amount = amountOf(text);
    return amount === undefined ? [] : [amount];
  });
  const nanos = amounts.reduce((sum, amount) => sum + amount.nanos, 0n);
  const isBinary = amounts.find((amount) => amount.nanos !== 0n)?.isBinary ?? false;
  return isBinary && nanos % nano === 0n ? inBinary(nanos / nano) : inDecimal(nanos);
}

function amountOf(text: string): Amount | undefined {
  const parts = /^(\d{1,30})(?:\.(\d{0,30}))?(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,2})?$/.exec(text);
  if (parts === null) return undefined;
  const [, whole = "", fraction = "", suffix = ""] = parts;
  const digits = BigInt(`${whole}${fraction}`);
  const power = binary.indexOf(suffix);
  const scaled = power > 0 ? digits * 1024n ** BigInt(power) * nano : digits * nano;
  const exponent = (power > 0 ? 0 : (decimal[suffix] ?? Number(suffix.slice(1)))) - fraction.length;
  const nanos = exponent >= 0 ? scaled * 10n ** BigInt(exponent) : roundedUp(scaled, 10n ** BigInt(-exponent));
  return { nanos, isBinary: power > 0 };
}

function roundedUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor;
}

function inBinary(value: bigint): string {
  let power = 0;
  let rest = value;
  while (rest !== 0n && rest % 1024n === 0n && power < binary.length - 1) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${binary[power] ?? ""}`;
}

function inDecimal(nanos: bigint): string {
  const suffixes = Object.entries(decimal).toSorted(([, a], [, b]) => b - a);
  for (const [suffix, exponent] of suffixes) {
    const unit = 10n ** BigInt(exponent + 9);
    if (nanos % unit === 0n && (nanos !== 0n || suffix === "")) return `${nanos / unit}${suffix}`;
  }
  return `${nanos}n`;
}
