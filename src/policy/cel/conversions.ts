import { formatDuration, parseDuration, formatTimestamp, parseTimestamp, splitSeconds, timestampOf } from "./time.ts";
import { celFunction, type CelFunction } from "./environment.ts";
import { formatDouble, parseDouble } from "./format.ts";
import { passCost } from "./sizes.ts";
import {
  typeNameOf,
  boundedInt,
  boundedUint,
  celDouble,
  celDuration,
  celFailure,
  celInt,
  celTypeValue,
  isCelFailure,
  type CelDouble,
  type CelDuration,
  type CelFailure,
  type CelInt,
  type CelTimestamp,
  type CelUint,
  type CelValue,
} from "./values.ts";

/** Floating point numbers at the very bounds are rejected: they may have been rounded from beyond. */
function truncated({ value }: CelDouble): CelInt | CelFailure {
  const inside = value > -(2 ** 63) && value < 2 ** 63;
  return inside ? celInt(BigInt(Math.trunc(value))) : celFailure("integer overflow");
}

function truncatedUnsigned({ value }: CelDouble): CelUint | CelFailure {
  const inside = value > -1 && value < 2 ** 64;
  return inside ? boundedUint(BigInt(Math.trunc(value))) : celFailure("unsigned integer overflow");
}

/** The integer that a text of the given form means, limited by `bounded`. */
function parseInteger<T>(text: string, form: RegExp, bounded: (value: bigint) => T | CelFailure): T | undefined {
  const found = text.length <= 40 && form.test(text) ? bounded(BigInt(text.replace(/^\+/, ""))) : undefined;
  return isCelFailure(found) ? undefined : found;
}

const truths = ["1", "t", "T", "true", "TRUE", "True"];
const falsehoods = ["0", "f", "F", "false", "FALSE", "False"];

function parseBool(text: string): boolean | undefined {
  return truths.includes(text) ? true : falsehoods.includes(text) ? false : undefined;
}

function decode(bytes: Uint8Array): string | CelFailure {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return celFailure("invalid UTF-8 in bytes, cannot convert to string");
  }
}

function parsing(type: string, parse: (text: string) => CelValue | undefined): CelFunction {
  const problem = celFailure(`type conversion error from 'string' to '${type}'`);
  return celFunction(`${type}(string): ${type}`, (text: string) => parse(text) ?? problem, passCost);
}

/** The functions named like types, and `type`. */
export const conversions: readonly CelFunction[] = [
  ...["int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration"].map((type) =>
    celFunction(`${type}(${type}): ${type}`, (value: CelValue) => value, passCost),
  ),
  celFunction("int(uint): int", ({ value }: CelUint) => boundedInt(value)),
  celFunction("int(double): int", truncated),
  parsing("int", (text) => parseInteger(text, /^[+-]?\d+$/, boundedInt)),
  celFunction("int(timestamp): int", ({ nanos }: CelTimestamp) => celInt(splitSeconds(nanos).seconds)),
  celFunction("int(duration): int", ({ nanos }: CelDuration) => celInt(nanos)),
  celFunction("uint(int): uint", (value: CelInt) => boundedUint(BigInt(value))),
  celFunction("uint(double): uint", truncatedUnsigned),
  parsing("uint", (text) => parseInteger(text, /^\+?\d+$/, boundedUint)),
  celFunction("double(int): double", (value: CelInt) => celDouble(Number(value))),
  celFunction("double(uint): double", ({ value }: CelUint) => celDouble(Number(value))),
  parsing("double", (text) => {
    const number = parseDouble(text);
    return number === undefined ? undefined : celDouble(number);
  }),
  celFunction("string(bool): string", String),
  celFunction("string(int): string", String),
  celFunction("string(uint): string", ({ value }: CelUint) => String(value)),
  celFunction("string(double): string", ({ value }: CelDouble) => formatDouble(value)),
  celFunction("string(bytes): string", decode, passCost),
  celFunction("string(timestamp): string", formatTimestamp),
  celFunction("string(duration): string", formatDuration),
  celFunction("bytes(string): bytes", (text: string) => new TextEncoder().encode(text), passCost),
  parsing("bool", parseBool),
  celFunction("timestamp(string): timestamp", parseTimestamp, passCost),
  celFunction("timestamp(int): timestamp", (value: CelInt) => timestampOf(BigInt(value) * 1_000_000_000n)),
  celFunction("duration(string): duration", parseDuration, passCost),
  celFunction("duration(int): duration", (value: CelInt) => celDuration(BigInt(value))),
  celFunction("type(A): type(A)", (value: CelValue) => celTypeValue(typeNameOf(value))),
];
