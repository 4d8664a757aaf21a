import { formatDuration, parseDuration } from "./duration.ts";
import type { CelFunction, CelOverload } from "./environment.ts";
import { formatDouble, parseDouble } from "./format-double.ts";
import { passCost } from "./sizes.ts";
import { formatTimestamp, parseTimestamp, splitSeconds, timestampOf } from "./timestamp.ts";
import { typeNameOf } from "./type-name.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  intType,
  stringType,
  timestampType,
  typeParameter,
  typeType,
  uintType,
  type CelType,
} from "./types.ts";
import {
  celDouble,
  celDuration,
  celFailure,
  celInt,
  celTypeValue,
  celUint,
  maxInt64,
  minInt64,
  maxUint64,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelTimestamp,
  type CelUint,
  type CelValue,
} from "./values.ts";

function from(type: CelType, result: CelType, apply: CelOverload["apply"]): CelOverload {
  const traversed = type.kind === "string" || type.kind === "bytes";
  return traversed ? { args: [type], result, apply, cost: passCost } : { args: [type], result, apply };
}

const same = (value: CelValue): CelValue => value;

/** A conversion to integers within bounds. */
function bounded(value: bigint, unsigned: boolean): CelInt | CelUint | CelFailure {
  if (unsigned) return value < 0n || value > maxUint64 ? celFailure("unsigned integer overflow") : celUint(value);
  return value < minInt64 || value > maxInt64 ? celFailure("integer overflow") : celInt(value);
}

/** Floating point numbers at the very bounds are refused: they may have been rounded from beyond. */
function truncated(double: CelDouble, unsigned: boolean): CelInt | CelUint | CelFailure {
  const { value } = double;
  const [min, max] = unsigned ? [-1, 2 ** 64] : [-(2 ** 63), 2 ** 63];
  const inside = value > min && value < max;
  if (inside) return bounded(BigInt(Math.trunc(value)), unsigned);
  return celFailure(unsigned ? "unsigned integer overflow" : "integer overflow");
}

function parseInteger(text: string, unsigned: boolean): CelInt | CelUint | CelFailure {
  const valid = text.length <= 40 && (unsigned ? /^\+?\d+$/ : /^[+-]?\d+$/).test(text);
  const problem = celFailure(`type conversion error from 'string' to '${unsigned ? "uint" : "int"}'`);
  if (!valid) return problem;
  const result = bounded(BigInt(text.replace(/^\+/, "")), unsigned);
  return typeof result === "object" && "error" in result ? problem : result;
}

const truths: ReadonlyMap<string, boolean> = new Map(
  [true, false].flatMap((truth): (readonly [string, boolean])[] =>
    (truth ? ["1", "t", "T", "true", "TRUE", "True"] : ["0", "f", "F", "false", "FALSE", "False"]).map((text) => [
      text,
      truth,
    ]),
  ),
);

function decode(bytes: Uint8Array): string | CelFailure {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return celFailure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const a = typeParameter("A");

/** The functions named like types, and `type`. */
export const conversions: readonly CelFunction[] = [
  {
    name: "int",
    overloads: [
      from(intType, intType, same),
      from(uintType, intType, (value: CelUint) => bounded(value.value, false)),
      from(doubleType, intType, (value: CelDouble) => truncated(value, false)),
      from(stringType, intType, (value: string) => parseInteger(value, false)),
      from(timestampType, intType, (value: CelTimestamp) => celInt(splitSeconds(value.nanos).seconds)),
      from(durationType, intType, (value: CelDuration) => celInt(value.nanos)),
    ],
  },
  {
    name: "uint",
    overloads: [
      from(uintType, uintType, same),
      from(intType, uintType, (value: CelInt) => bounded(BigInt(value), true)),
      from(doubleType, uintType, (value: CelDouble) => truncated(value, true)),
      from(stringType, uintType, (value: string) => parseInteger(value, true)),
    ],
  },
  {
    name: "double",
    overloads: [
      from(doubleType, doubleType, same),
      from(intType, doubleType, (value: CelInt) => celDouble(Number(value))),
      from(uintType, doubleType, (value: CelUint) => celDouble(Number(value.value))),
      from(stringType, doubleType, (value: string) => {
        const number = parseDouble(value);
        return number === undefined ? celFailure("type conversion error from 'string' to 'double'") : celDouble(number);
      }),
    ],
  },
  {
    name: "string",
    overloads: [
      from(stringType, stringType, same),
      from(boolType, stringType, String),
      from(intType, stringType, String),
      from(uintType, stringType, (value: CelUint) => String(value.value)),
      from(doubleType, stringType, (value: CelDouble) => formatDouble(value.value)),
      from(bytesType, stringType, decode),
      from(timestampType, stringType, formatTimestamp),
      from(durationType, stringType, formatDuration),
    ],
  },
  {
    name: "bytes",
    overloads: [
      from(bytesType, bytesType, same),
      from(stringType, bytesType, (value: string) => new TextEncoder().encode(value)),
    ],
  },
  {
    name: "bool",
    overloads: [
      from(boolType, boolType, same),
      from(
        stringType,
        boolType,
        (value: string) => truths.get(value) ?? celFailure("type conversion error from 'string' to 'bool'"),
      ),
    ],
  },
  {
    name: "timestamp",
    overloads: [
      from(timestampType, timestampType, same),
      from(stringType, timestampType, parseTimestamp),
      from(intType, timestampType, (value: CelInt) => timestampOf(BigInt(value) * 1_000_000_000n)),
    ],
  },
  {
    name: "duration",
    overloads: [
      from(durationType, durationType, same),
      from(stringType, durationType, parseDuration),
      from(intType, durationType, (value: CelInt): CelValue => durationFromNanos(value)),
    ],
  },
  {
    name: "type",
    overloads: [{ args: [a], result: typeType(a), apply: (value: CelValue) => celTypeValue(typeNameOf(value)) }],
  },
];

function durationFromNanos(nanos: CelInt): CelDuration {
  return celDuration(BigInt(nanos));
}
