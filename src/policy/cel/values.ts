import { isJsonArray, type JsonObject } from "../../apimachinery/json-value.ts";

/**
 * The key under which a value that JSON cannot express carries its kind. A symbol, so that no object from JSON can imitate
 * one.
 */
export const celKind: unique symbol = Symbol("celKind");

/**
 * A signed integer of 64 bits: a number when it is a safe integer, otherwise a bigint. Never the other way round, so that equal
 * integers are identical, and integers of JSON need no conversion.
 */
export type CelInt = number | bigint;

/** A floating point number. Boxed, because a bare number is an integer. */
export interface CelDouble {
  readonly [celKind]: "double";
  readonly value: number;
}

/** An unsigned integer of 64 bits. */
export interface CelUint {
  readonly [celKind]: "uint";
  readonly value: bigint;
}

/** A point in time: nanoseconds since 1970 in UTC. */
export interface CelTimestamp {
  readonly [celKind]: "timestamp";
  readonly nanos: bigint;
}

/** A span of time in nanoseconds. */
export interface CelDuration {
  readonly [celKind]: "duration";
  readonly nanos: bigint;
}

/** A type as a value, such as `int` or `type(x)`. */
export interface CelTypeValue {
  readonly [celKind]: "type";
  readonly name: string;
}

/** A value that may be absent: `value` is undefined then. */
export interface CelOptional {
  readonly [celKind]: "optional";
  readonly value: CelValue | undefined;
}

/** A map whose keys need not be strings. Entries are found by `mapKey`, in the order of insertion. */
export interface CelMap {
  readonly [celKind]: "map";
  readonly entries: ReadonlyMap<unknown, readonly [key: CelValue, value: CelValue]>;
  /** The type's name, of an object that the expression created by `name{…}`; its keys are the names of its fields. */
  readonly message?: string;
}

/** A value of a library. `equals` is called only with another value of the same type `name`. */
export interface CelOpaque {
  readonly [celKind]: "opaque";
  readonly name: string;
  readonly value: unknown;
  readonly equals: (other: CelOpaque) => boolean;
}

/** What a function returns instead of a value when it fails; `error` is the message for the user. */
export interface CelFailure {
  readonly [celKind]: "failure";
  readonly error: string;
}

/**
 * A value at run time. Lists are arrays and string-keyed maps may be plain objects, whose members are raw JSON: pass each through
 * `fromJson` before use. `undefined` is never a value.
 */
export type CelValue =
  | null
  | boolean
  | CelInt
  | string
  | Uint8Array
  | readonly unknown[]
  | JsonObject
  | CelDouble
  | CelUint
  | CelTimestamp
  | CelDuration
  | CelTypeValue
  | CelOptional
  | CelMap
  | CelOpaque;

/** A floating point number as a value. */
export function celDouble(value: number): CelDouble {
  return { [celKind]: "double", value };
}

/** An unsigned integer as a value; the caller has checked that it fits 64 bits. */
export function celUint(value: bigint): CelUint {
  return { [celKind]: "uint", value };
}

/** A point in time as a value; the caller has checked its range. */
export function celTimestamp(nanos: bigint): CelTimestamp {
  return { [celKind]: "timestamp", nanos };
}

/** A span of time as a value; the caller has checked its range. */
export function celDuration(nanos: bigint): CelDuration {
  return { [celKind]: "duration", nanos };
}

/** A type as a value. */
export function celTypeValue(name: string): CelTypeValue {
  return { [celKind]: "type", name };
}

/** A present value, or with undefined an absent one. */
export function celOptional(value: CelValue | undefined): CelOptional {
  return { [celKind]: "optional", value };
}

/** A value of a library: its type's name, its content, and its equality. */
export function celOpaque(name: string, value: unknown, equals: (other: CelOpaque) => boolean): CelOpaque {
  return { [celKind]: "opaque", name, value, equals };
}

/** A failed evaluation, as a function of a library returns it. */
export function celFailure(error: string): CelFailure {
  return { [celKind]: "failure", error };
}

/** The kind of a special value, or undefined for plain JSON and for any value that is no object. */
export function kindOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return (value as { readonly [celKind]?: string })[celKind];
}

/** Whether a function failed. */
export function isCelFailure(value: unknown): value is CelFailure {
  return kindOf(value) === "failure";
}

/** The least and the greatest signed integer of 64 bits, and the greatest unsigned one. */
export const minInt64: bigint = -(2n ** 63n);
export const maxInt64: bigint = 2n ** 63n - 1n;
export const maxUint64: bigint = 2n ** 64n - 1n;

/** A bigint in the one form of integers. The caller has checked that it fits 64 bits. */
export function celInt(value: bigint): CelInt {
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

/** A signed integer of 64 bits, or a failure for one out of range. */
export function boundedInt(value: bigint): CelInt | CelFailure {
  return value < minInt64 || value > maxInt64 ? celFailure("integer overflow") : celInt(value);
}

/** An unsigned integer of 64 bits, or a failure for one out of range. */
export function boundedUint(value: bigint): CelUint | CelFailure {
  return value < 0n || value > maxUint64 ? celFailure("unsigned integer overflow") : celUint(value);
}

/** A raw member of JSON as a value: integral numbers are integers, others floating point. Values of CEL are returned unchanged. */
export function fromJson(raw: unknown): CelValue {
  if (typeof raw !== "number" || Number.isSafeInteger(raw)) return raw === undefined ? null : (raw as CelValue);
  if (Number.isInteger(raw) && Math.abs(raw) < 2 ** 63) return celInt(BigInt(raw));
  return celDouble(raw);
}

/** The kinds of special values whose types are not named like them. */
const typeNames: Readonly<Record<string, string>> = {
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
  optional: "optional_type",
};

const scalarTypeNames: Readonly<Record<string, string>> = { boolean: "bool", string: "string" };

/** The name of a value's type, as `type` and messages show it. */
export function typeNameOf(value: CelValue): string {
  if (value === null) return "null_type";
  if (typeof value !== "object") return scalarTypeNames[typeof value] ?? "int";
  if (value instanceof Uint8Array) return "bytes";
  if (isJsonArray(value)) return "list";
  const kind = kindOf(value) ?? "map";
  if (kind === "opaque") return (value as CelOpaque).name;
  return (kind === "map" ? (value as Partial<CelMap>).message : typeNames[kind]) ?? kind;
}
