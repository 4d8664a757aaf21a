import type { CelFunction, CelOverload } from "../cel/environment.ts";
import { boolType, intType, stringType, type CelType } from "../cel/types.ts";
import { celFailure, celInt, maxInt64, type CelFailure, type CelOpaque, type CelValue } from "../cel/values.ts";
import { libraryType } from "./library-type.ts";
import { compareSemvers, parseLooseSemver, parseSemver, type ParsedSemver, type Semver } from "./semver.ts";
import { textCost } from "./text-cost.ts";

const semver = libraryType<Semver>("kubernetes.Semver", (one, other) => compareSemvers(one, other) === 0);

/** Versions: `semver('1.2.3')` and what can be asked of one. Source: apiserver cel/library semver. */
export const semverFunctions: readonly CelFunction[] = [
  {
    name: "semver",
    overloads: fromText(semver.type, (parsed) =>
      "problem" in parsed ? celFailure(parsed.problem) : semver.wrap(parsed.version),
    ),
  },
  { name: "isSemver", overloads: fromText(boolType, (parsed) => "version" in parsed) },
  number("major", ({ major }) => major),
  number("minor", ({ minor }) => minor),
  number("patch", ({ patch }) => patch),
  compared("isGreaterThan", boolType, (order) => order > 0),
  compared("isLessThan", boolType, (order) => order < 0),
  compared("compareTo", intType, (order) => order),
];

function fromText(result: CelType, answer: (parsed: ParsedSemver) => CelValue | CelFailure): readonly CelOverload[] {
  return [
    { args: [stringType], result, cost: textCost, apply: (text: string) => answer(parseSemver(text)) },
    {
      args: [stringType, boolType],
      result,
      cost: textCost,
      apply: (text: string, normalize: boolean) => answer(normalize ? parseLooseSemver(text) : parseSemver(text)),
    },
  ];
}

function number(name: string, field: (version: Semver) => bigint): CelFunction {
  const apply = (one: CelOpaque): CelValue | CelFailure => {
    const value = field(semver.unwrap(one));
    return value > maxInt64 ? celFailure("integer overflow") : celInt(value);
  };
  return { name, member: true, overloads: [{ args: [semver.type], result: intType, apply }] };
}

function compared(name: string, result: CelType, answer: (order: -1 | 0 | 1) => CelValue): CelFunction {
  const apply = (one: CelOpaque, other: CelOpaque): CelValue =>
    answer(compareSemvers(semver.unwrap(one), semver.unwrap(other)));
  return { name, member: true, overloads: [{ args: [semver.type, semver.type], result, apply }] };
}
