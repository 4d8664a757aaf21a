import { celFunction, libraryType, type CelFunction } from "../cel/environment.ts";
import { passCost } from "../cel/sizes.ts";
import { boundedInt, celFailure, type CelFailure, type CelOpaque, type CelValue } from "../cel/values.ts";

/** A version by semver.org 2.0; build metadata is checked when it is parsed and then ignored. */
export interface Semver {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly prerelease: readonly string[];
}

/** A version, or why the text is invalid. */
export type ParsedSemver = { readonly version: Semver } | { readonly problem: string };

const maxUint64 = (1n << 64n) - 1n;
const maxTextCharacters = 1_024;

/** Reads `1.2.3-alpha.1+build` strictly: all three numbers, no leading `v` and no leading zeros. Source: blang/semver v4 Parse. */
export function parseSemver(text: string): ParsedSemver {
  if (text === "") return { problem: "Version string empty" };
  if (text.length > maxTextCharacters) return { problem: "Version string too long" };
  const match = /^([^.]*)\.([^.]*)\.([^+-]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(text);
  return match === null ? { problem: "No Major.Minor.Patch elements found" } : versionOf(match);
}

function versionOf([, major = "", minor = "", patch = "", prerelease, build]: RegExpExecArray): ParsedSemver {
  const problem =
    numberProblem("Major", major) ??
    numberProblem("Minor", minor) ??
    numberProblem("Patch", patch) ??
    partsProblem(prerelease, prereleaseProblem) ??
    partsProblem(build, buildProblem);
  if (problem !== undefined) return { problem };
  const numbers = { major: BigInt(major), minor: BigInt(minor), patch: BigInt(patch) };
  return { version: { ...numbers, prerelease: prerelease === undefined ? [] : prerelease.split(".") } };
}

/**
 * Reads a version leniently: a leading `v` and leading zeros are dropped, missing minor and patch numbers are 0.
 * Source: apiserver cel/library semver, normalize.
 */
export function parseLooseSemver(text: string): ParsedSemver {
  if (text.length > maxTextCharacters) return { problem: "Version string too long" };
  const plain = text.startsWith("v") ? text.slice(1) : text;
  const [major = "", minor, ...rest] = plain.split(".");
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join(".")])];
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    return { problem: "short version cannot contain PreRelease/Build meta data" };
  }
  const filled = [...parts.map(withoutZeros), "0", "0"].slice(0, 3);
  return parseSemver(filled.join("."));
}

/** -1, 0 or 1 by precedence: a prerelease comes before its release. Source: semver.org section 11. */
export function compareSemvers(one: Semver, other: Semver): -1 | 0 | 1 {
  for (const field of ["major", "minor", "patch"] as const) {
    if (one[field] !== other[field]) return one[field] < other[field] ? -1 : 1;
  }
  if (one.prerelease.length === 0 || other.prerelease.length === 0) {
    return order(Number(other.prerelease.length > 0), Number(one.prerelease.length > 0));
  }
  for (const [index, part] of one.prerelease.entries()) {
    const theirs = other.prerelease[index];
    if (theirs === undefined) return 1;
    const result = comparePrereleases(part, theirs);
    if (result !== 0) return result;
  }
  return order(one.prerelease.length, other.prerelease.length);
}

function comparePrereleases(one: string, other: string): -1 | 0 | 1 {
  const [isNumber, otherIsNumber] = [/^[0-9]+$/.test(one), /^[0-9]+$/.test(other)];
  if (isNumber !== otherIsNumber) return isNumber ? -1 : 1;
  return isNumber ? order(BigInt(one), BigInt(other)) : order(one, other);
}

function order<T extends bigint | number | string>(one: T, other: T): -1 | 0 | 1 {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function numberProblem(name: string, text: string): string | undefined {
  const shown = JSON.stringify(text.slice(0, 64));
  if (!/^[0-9]+$/.test(text)) return `Invalid character(s) found in ${name.toLowerCase()} number ${shown}`;
  if (text.length > 1 && text.startsWith("0")) return `${name} number must not contain leading zeroes ${shown}`;
  return BigInt(text) > maxUint64 ? `strconv.ParseUint: parsing ${shown}: value out of range` : undefined;
}

function partsProblem(text: string | undefined, problemOf: (part: string) => string | undefined): string | undefined {
  for (const part of text?.split(".") ?? []) {
    const problem = problemOf(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function prereleaseProblem(part: string): string | undefined {
  if (part === "") return "Prerelease is empty";
  const shown = JSON.stringify(part.slice(0, 64));
  if (/^0[0-9]+$/.test(part)) return `Numeric PreRelease version must not contain leading zeroes ${shown}`;
  return /^[0-9A-Za-z-]+$/.test(part) ? undefined : `Invalid character(s) found in prerelease ${shown}`;
}

function buildProblem(part: string): string | undefined {
  if (part === "") return "Build meta data is empty";
  const shown = JSON.stringify(part.slice(0, 64));
  return /^[0-9A-Za-z-]+$/.test(part) ? undefined : `Invalid character(s) found in build meta data ${shown}`;
}

function withoutZeros(part: string): string {
  if (part.length < 2) return part;
  const trimmed = part.replace(/^0+/, "");
  return /^[0-9]/.test(trimmed) ? trimmed : `0${trimmed}`;
}

const semver = libraryType<Semver>("kubernetes.Semver", (one, other) => compareSemvers(one, other) === 0);

/** Versions: `semver('1.2.3')` and its functions. Source: apiserver cel/library semver. */
export const semverFunctions: readonly CelFunction[] = [
  ...fromText("semver", "kubernetes.Semver", (parsed) =>
    "problem" in parsed ? celFailure(parsed.problem) : semver.wrap(parsed.version),
  ),
  ...fromText("isSemver", "bool", (parsed) => "version" in parsed),
  ...(["major", "minor", "patch"] as const).map((field) =>
    celFunction(`<kubernetes.Semver>.${field}(): int`, (one: CelOpaque) => boundedInt(semver.unwrap(one)[field])),
  ),
  compared("isGreaterThan", "bool", (order) => order > 0),
  compared("isLessThan", "bool", (order) => order < 0),
  compared("compareTo", "int", (order) => order),
];

function fromText(
  name: string,
  result: string,
  answer: (parsed: ParsedSemver) => CelValue | CelFailure,
): readonly CelFunction[] {
  return [
    celFunction(`${name}(string): ${result}`, (text: string) => answer(parseSemver(text)), passCost),
    celFunction(
      `${name}(string, bool): ${result}`,
      (text: string, normalize: boolean) => answer(normalize ? parseLooseSemver(text) : parseSemver(text)),
      passCost,
    ),
  ];
}

function compared(name: string, result: string, answer: (order: -1 | 0 | 1) => CelValue): CelFunction {
  return celFunction(`<kubernetes.Semver>.${name}(kubernetes.Semver): ${result}`, (one: CelOpaque, other: CelOpaque) =>
    answer(compareSemvers(semver.unwrap(one), semver.unwrap(other))),
  );
}
