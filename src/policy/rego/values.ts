import { compareTexts } from "../cel/equality.ts";
import { RegoError } from "./rego-error.ts";

/** Integers beyond 2^53 are bigints, all other numbers are not. */
export type RegoNumber = number | bigint;

/** A value of Rego. Composites are immutable; each has its size: the number of values in it, itself included. */
export type RegoValue = null | boolean | RegoNumber | string | RegoArray | RegoObject | RegoSet;

export interface RegoArray {
  readonly kind: "array";
  readonly items: readonly RegoValue[];
  readonly size: number;
}

/** The key of a value in a Map: scalars are their own, composites use their text. */
export type MapKey = null | boolean | RegoNumber | string;

export interface RegoSet {
  readonly kind: "set";
  readonly members: ReadonlyMap<MapKey, RegoValue>;
  readonly size: number;
  /** Caches: the members in order, and the text as a key. */
  sorted: readonly RegoValue[] | undefined;
  text: string | undefined;
}

export type RegoEntry = readonly [key: RegoValue, value: RegoValue];

export interface RegoObject {
  readonly kind: "object";
  readonly entries: ReadonlyMap<MapKey, RegoEntry>;
  readonly size: number;
  sorted: readonly RegoEntry[] | undefined;
  text: string | undefined;
}

/** The maximum size of one value, counted as if nothing were shared. */
const maxSize = 1_000_000;

/** The size of a value. A long text counts by its length. */
export function sizeOf(value: RegoValue): number {
  if (typeof value === "string") return 1 + (value.length >> 6);
  return typeof value === "object" && value !== null ? value.size : 1;
}

function bounded(size: number): number {
  if (size > maxSize) throw new RegoError("eval_cancel_error", "a value is larger than it may be");
  return size;
}

/** An array of these items. @throws RegoError `eval_cancel_error` when it is too large, as all constructors here do */
export function arrayOf(items: readonly RegoValue[]): RegoArray {
  let size = 1;
  for (const item of items) size += sizeOf(item);
  return { kind: "array", items, size: bounded(size) };
}

/** A set of values. */
export function setOf(values: Iterable<RegoValue>): RegoSet {
  const members = new Map<MapKey, RegoValue>();
  let size = 1;
  for (const value of values) {
    const key = keyOf(value);
    if (!members.has(key)) {
      members.set(key, value);
      size += sizeOf(value);
    }
  }
  return { kind: "set", members, size: bounded(size), sorted: undefined, text: undefined };
}

/** An object of entries; of several with one key the last is kept. */
export function objectOf(entries: Iterable<RegoEntry>): RegoObject {
  const map = new Map<MapKey, RegoEntry>();
  for (const entry of entries) map.set(keyOf(entry[0]), entry);
  let size = 1;
  for (const [key, value] of map.values()) size += sizeOf(key) + sizeOf(value);
  return { kind: "object", entries: map, size: bounded(size), sorted: undefined, text: undefined };
}

/** The key of a value. Texts that begin like the key of a composite are escaped. */
export function keyOf(value: RegoValue): MapKey {
  if (typeof value === "string") return value.charCodeAt(0) === 0 ? `\0s${value}` : value;
  if (typeof value !== "object" || value === null) return value;
  return `\0c${textOf(value)}`;
}

/** A text that two values share exactly when they are equal. */
function textOf(value: RegoValue): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  switch (value.kind) {
    case "array":
      return `[${value.items.map(textOf).join(",")}]`;
    case "set":
      return (value.text ??= `<${sortedMembers(value).map(textOf).join(",")}>`);
    case "object":
      return (value.text ??= `{${sortedEntries(value)
        .map(([key, member]) => `${textOf(key)}:${textOf(member)}`)
        .join(",")}}`);
  }
}

/** The member under a key; undefined where there is none. */
export function entryOf(object: RegoObject, key: RegoValue): RegoValue | undefined {
  return object.entries.get(keyOf(key))?.[1];
}

/** The members in the order of OPA. */
export function sortedMembers(set: RegoSet): readonly RegoValue[] {
  return (set.sorted ??= [...set.members.values()].sort(compareValues));
}

/** The entries in the order of OPA. */
export function sortedEntries(object: RegoObject): readonly RegoEntry[] {
  return (object.sorted ??= [...object.entries.values()].sort((a, b) => compareValues(a[0], b[0])));
}

const ranks = { null: 0, boolean: 1, number: 2, string: 3, array: 4, object: 5, set: 6 } as const;

/** The name of a type of Rego. */
export type RegoTypeName = keyof typeof ranks;

/** The type of a value. */
export function typeOf(value: RegoValue): RegoTypeName {
  if (value === null) return "null";
  if (typeof value === "object") return value.kind;
  return typeof value === "bigint" ? "number" : (typeof value as "boolean" | "number" | "string");
}

/** Whether a value is a composite of a kind. */
export function isKind<K extends "array" | "object" | "set">(
  value: RegoValue | undefined,
  kind: K,
): value is Extract<RegoValue, { readonly kind: K }> {
  return typeof value === "object" && value !== null && value.kind === kind;
}

/** The items of an array, or the members of a set in order. */
export function itemsOf(list: RegoArray | RegoSet): readonly RegoValue[] {
  return list.kind === "array" ? list.items : sortedMembers(list);
}

/** The subset of members whose keys match. */
export function keepMembers({ members }: RegoSet, fits: (key: MapKey) => boolean): RegoSet {
  return setOf([...members].filter(([key]) => fits(key)).map(([, member]) => member));
}

/** The object of the entries whose keys match. */
export function keepEntries({ entries }: RegoObject, fits: (key: MapKey) => boolean): RegoObject {
  return objectOf([...entries].filter(([key]) => fits(key)).map(([, entry]) => entry));
}

/** The order of all values: null, booleans, numbers, strings by code points, arrays, objects, sets. */
export function compareValues(a: RegoValue, b: RegoValue): number {
  if (a === b) return 0;
  const type = typeOf(a);
  const order = ranks[type] - ranks[typeOf(b)];
  if (order !== 0) return order;
  if (type === "string") return compareTexts(a as string, b as string);
  if (type === "array") return compareLists((a as RegoArray).items, (b as RegoArray).items);
  if (type === "set") return compareLists(sortedMembers(a as RegoSet), sortedMembers(b as RegoSet));
  if (type === "object") return compareObjects(a as RegoObject, b as RegoObject);
  return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0;
}

/** Whether two values are the same. */
export function isEqual(a: RegoValue, b: RegoValue): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  return a === b || (a.kind === b.kind && a.size === b.size && compareValues(a, b) === 0);
}

function compareLists(a: readonly RegoValue[], b: readonly RegoValue[]): number {
  for (const [at, item] of a.entries()) {
    const other = b[at];
    if (other === undefined) return 1;
    const order = compareValues(item, other);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareObjects(a: RegoObject, b: RegoObject): number {
  const [ours, theirs] = [sortedEntries(a), sortedEntries(b)];
  for (const [at, [key, value]] of ours.entries()) {
    const other = theirs[at];
    if (other === undefined) return 1;
    const order = compareValues(key, other[0]) || compareValues(value, other[1]);
    if (order !== 0) return order;
  }
  return ours.length - theirs.length;
}

/** The canonical form of a number: an integer that a double represents exactly is no bigint. */
export function normalNumber(value: RegoNumber): RegoNumber {
  if (typeof value === "number") return value === 0 ? 0 : value;
  return value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

const numberText = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/;
/** Maximum number of digits of an integer. */
const maxDigits = 5000;

/** The number of a text in the form of JSON; undefined when it is out of bounds. */
export function numberOf(text: string): RegoNumber | undefined {
  const value = Number(text);
  if (Number.isSafeInteger(value) && !/[.eE]/.test(text)) return normalNumber(value);
  const match = numberText.exec(text);
  if (match === null) return undefined;
  return exactInteger(match) ?? (Number.isFinite(value) ? normalNumber(value) : undefined);
}

/** The integer of a number in decimal form; undefined for no integer, or one too long. */
function exactInteger([, sign = "", whole = "", fraction = "", power = "0"]: RegExpExecArray): RegoNumber | undefined {
  const behind = fraction.replace(/0+$/, "");
  const digits = whole + behind;
  const exponent = Number(power) - behind.length;
  const isWhole = exponent >= 0 || digits.endsWith("0");
  return isWhole ? integerOf(digits, exponent, sign) : undefined;
}

/** Digits with zeros appended, or removed; undefined for no integer, or one too long. */
function integerOf(digits: string, exponent: number, sign: string): RegoNumber | undefined {
  const end = digits.length + exponent;
  if (digits.length > maxDigits || end > maxDigits) return undefined;
  if (exponent < 0 && !/^0*$/.test(digits.slice(Math.max(0, end)))) return undefined;
  const text = exponent < 0 ? digits.slice(0, Math.max(0, end)) : digits + "0".repeat(exponent);
  const value = BigInt(text === "" ? "0" : text);
  return normalNumber(sign === "-" ? -value : value);
}

/** Whether the number has no fraction. */
export function isInteger(value: RegoNumber): boolean {
  return typeof value === "bigint" || Number.isInteger(value);
}

const maxInteger = 1n << 4096n;

/** An operation of arithmetic, for doubles and for integers. */
export interface Operation {
  readonly doubles: (a: number, b: number) => number;
  readonly integers: (a: bigint, b: bigint) => bigint;
}

/** `a + b`. */
export const addition: Operation = { doubles: (a, b) => a + b, integers: (a, b) => a + b };
/** `a * b`. */
export const multiplication: Operation = { doubles: (a, b) => a * b, integers: (a, b) => a * b };

/** The result of an operation, exact for integers; undefined when it is out of bounds. */
export function exact({ doubles, integers }: Operation, a: RegoNumber, b: RegoNumber): RegoNumber | undefined {
  if (typeof a === "number" && typeof b === "number") {
    const quick = doubles(a, b);
    if (Number.isSafeInteger(quick) || !Number.isInteger(a) || !Number.isInteger(b))
      return Number.isFinite(quick) ? normalNumber(quick) : undefined;
  }
  if (!isInteger(a) || !isInteger(b)) return normalNumber(doubles(Number(a), Number(b)));
  return boundedInteger(integers(BigInt(a), BigInt(b)));
}

function boundedInteger(value: bigint): RegoNumber | undefined {
  return value > maxInteger || -value > maxInteger ? undefined : normalNumber(value);
}
