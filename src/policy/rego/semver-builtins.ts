import { builtin, failed, type Builtin, type CallPlace } from "./builtin.ts";

interface Version {
  readonly numbers: readonly bigint[];
  readonly before: readonly string[];
}

const shape =
  /^v?(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})\.(0|[1-9]\d{0,18})(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const digits = /^\d+$/;
const maxInt64 = 2n ** 63n - 1n;

/** Reads a version as SemVer 2.0.0 has it, with or without `v`; undefined for what is none. */
function versionOf(text: string): Version | undefined {
  const match = text.length > 256 ? null : shape.exec(text);
  if (match === null) return undefined;
  const numbers = match.slice(1, 4).map(BigInt);
  const before = match[4]?.split(".") ?? [];
  const isWrong = numbers.some((number) => number > maxInt64) || before.some((part) => /^0\d+$/.test(part));
  return isWrong ? undefined : { numbers, before };
}

function compareParts(a: string, b: string): number {
  const [isNumber, isOther] = [digits.test(a), digits.test(b)];
  if (isNumber !== isOther) return isNumber ? -1 : 1;
  if (isNumber) return Number(BigInt(a) > BigInt(b)) - Number(BigInt(a) < BigInt(b));
  return Number(a > b) - Number(a < b);
}

function compare(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const other = b.numbers[at] ?? 0n;
    if (number !== other) return number > other ? 1 : -1;
  }
  if (a.before.length === 0 || b.before.length === 0) return Math.sign(b.before.length - a.before.length);
  for (const [at, part] of a.before.entries()) {
    const other = b.before[at];
    const order = other === undefined ? 1 : compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.before.length < b.before.length ? -1 : 0;
}

function required(text: string, operand: number, place: CallPlace): Version {
  const version = versionOf(text);
  if (version === undefined)
    throw failed(`operand ${operand}: string "${text.slice(0, 64)}" is not a valid SemVer`, place);
  return version;
}

/** Versions. */
export const semverBuiltins: readonly Builtin[] = [
  builtin("semver.compare", ["string", "string"], ([a, b], place) =>
    compare(required(a, 1, place), required(b, 2, place)),
  ),
  builtin("semver.is_valid", ["any"], ([text]) => typeof text === "string" && versionOf(text) !== undefined),
];
