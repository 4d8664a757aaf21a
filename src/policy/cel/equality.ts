import { isJsonArray, isJsonObject, ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { occupy, type CelMeter } from "./frame.ts";
import {
  fromJson,
  kindOf,
  type CelDouble,
  type CelDuration,
  type CelMap,
  type CelOpaque,
  type CelOptional,
  type CelValue,
} from "./values.ts";

/**
 * Whether two values are equal. Numbers are compared across their types; values of different types are otherwise unequal.
 * @throws CelLimitError when the values compared are larger than the meter allows
 */
export function celEquals(one: unknown, other: unknown, meter: CelMeter): boolean {
  if (one === other) return true;
  if (typeof one === "string" || typeof one === "boolean" || one === null) return false;
  const comparison = compareNumbers(fromJson(one), fromJson(other));
  if (comparison !== undefined) return comparison === 0;
  return isObject(one) && isObject(other) && equalComposites(one, other, meter);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function equalComposites(one: object, other: object, meter: CelMeter): boolean {
  if (one instanceof Uint8Array) return other instanceof Uint8Array && Buffer.compare(one, other) === 0;
  occupy(meter, 1);
  if (!isJsonArray(one)) return equalObjects(one, other, meter);
  if (!isJsonArray(other) || one.length !== other.length) return false;
  occupy(meter, one.length);
  if (identityOf(one) !== undefined)
    return equalAsIdentified(one, other, (left, right) => celEquals(left, right, meter));
  return one.every((element, at) => celEquals(element, other[at], meter));
}

function equalObjects(one: object, other: object, meter: CelMeter): boolean {
  const kind = kindOf(one);
  if (isMap(one)) return isMap(other) && equalMaps(one, other, meter);
  if (kind !== kindOf(other)) return false;
  switch (kind) {
    case "timestamp":
    case "duration":
      return (one as { nanos: bigint }).nanos === (other as { nanos: bigint }).nanos;
    case "type":
      return (one as { name: string }).name === (other as { name: string }).name;
    case "optional":
      return equalOptionals(one as CelOptional, other as CelOptional, meter);
    case "opaque": {
      const [left, right] = [one as CelOpaque, other as CelOpaque];
      return left.name === right.name && left.equals(right);
    }
    default:
      return false;
  }
}

function equalOptionals(one: CelOptional, other: CelOptional, meter: CelMeter): boolean {
  if (one.value === undefined || other.value === undefined) return one.value === other.value;
  return celEquals(one.value, other.value, meter);
}

/** Whether a value is a map: of JSON, or with keys of any type. */
export function isMap(value: unknown): value is JsonObject | CelMap {
  if (typeof value !== "object" || value === null || Array.isArray(value) || value instanceof Uint8Array) return false;
  const kind = kindOf(value);
  return kind === undefined || kind === "map";
}

/** Whether a map has keys of any type, rather than being an object of JSON. */
export function isCelMap(map: JsonObject | CelMap): map is CelMap {
  return kindOf(map) === "map";
}

/** The name of the type of an object that the expression created; undefined for maps. */
export function messageOf(map: JsonObject | CelMap): string | undefined {
  return isCelMap(map) ? map.message : undefined;
}

function equalMaps(one: JsonObject | CelMap, other: JsonObject | CelMap, meter: CelMeter): boolean {
  if (messageOf(one) !== messageOf(other)) return false;
  const keys = mapKeys(one);
  occupy(meter, keys.length);
  if (keys.length !== mapSize(other)) return false;
  for (const key of keys) {
    const found = mapGet(other, key);
    if (found === undefined || !celEquals(mapGet(one, key), found, meter)) return false;
  }
  return true;
}

/** How many entries a map has. */
export function mapSize(map: JsonObject | CelMap): number {
  return isCelMap(map) ? map.entries.size : Object.keys(map).length;
}

/** The keys of a map, in its order. */
export function mapKeys(map: JsonObject | CelMap): readonly CelValue[] {
  return isCelMap(map) ? Array.from(map.entries.values(), ([key]) => key) : Object.keys(map);
}

/** The raw member under a key; undefined when there is none. */
export function mapGet(map: JsonObject | CelMap, key: CelValue): unknown {
  if (isCelMap(map)) return map.entries.get(mapKey(key))?.[1];
  return typeof key === "string" && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** The look-up key: equal numbers of any type are one key. Undefined for a value that cannot be a key. */
export function mapKey(key: CelValue): string | number | bigint | boolean | undefined {
  if (typeof key === "string" || typeof key === "number" || typeof key === "bigint" || typeof key === "boolean")
    return key;
  const kind = kindOf(key);
  if (kind === "uint") return integerKey((key as { readonly value: bigint }).value);
  if (kind !== "double") return undefined;
  const { value } = key as CelDouble;
  return Number.isInteger(value) ? integerKey(BigInt(value)) : undefined;
}

function integerKey(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A number of any type as a JavaScript number or bigint; undefined when the value is no number. */
function numeric(value: CelValue): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") return value;
  const kind = kindOf(value);
  return kind === "double" || kind === "uint" ? (value as { readonly value: number | bigint }).value : undefined;
}

/** Below, at or above zero as the first number is less, equal or greater; NaN when one is not a number; undefined for others. */
export function compareNumbers(one: CelValue, other: CelValue): number | undefined {
  const left = numeric(one);
  if (left === undefined) return undefined;
  const right = numeric(other);
  if (right === undefined) return undefined;
  if (typeof left !== typeof right) return order(Number(left), Number(right));
  return order(left, right);
}

/** As in cel-go, integers are converted to floating point before such a comparison; large ones lose their last digits. */
function order(left: number | bigint, right: number | bigint): number {
  return left < right ? -1 : left > right ? 1 : left <= right ? 0 : Number.NaN;
}

/**
 * The order of two values: below, at or above zero; NaN for a value that is not a number; undefined for values without
 * order.
 */
export function compareValues(one: CelValue, other: CelValue): number | undefined {
  if (typeof one === "string" && typeof other === "string") return compareTexts(one, other);
  if (typeof one === "boolean" && typeof other === "boolean") return Number(one) - Number(other);
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other);
  const kind = kindOf(one);
  if ((kind !== "duration" && kind !== "timestamp") || kind !== kindOf(other)) return compareNumbers(one, other);
  const [left, right] = [(one as CelDuration).nanos, (other as CelDuration).nanos];
  return Number(left > right) - Number(left < right);
}

/** Orders text by code points; UTF-16 units would put astral characters below the private ones. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let at = 0;
  while (at < length && one.charCodeAt(at) === other.charCodeAt(at)) at++;
  if (at === length) return one.length - other.length;
  const rank = (unit: number): number => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit);
  return rank(one.charCodeAt(at)) - rank(other.charCodeAt(at));
}

/**
 * What identifies the elements of a list: their whole value in a set, the named fields in a map. The order of such lists
 * is irrelevant, and adding one to another merges them. Source: Kubernetes x-kubernetes-list-type.
 */
export type ListIdentity = "set" | readonly string[];

const identity: unique symbol = Symbol("listIdentity");

/** A copy of a list that carries the identity of its elements. */
export function withIdentity(list: readonly unknown[], of: ListIdentity): readonly unknown[] {
  return Object.defineProperty([...list], identity, { value: of });
}

/** What identifies the elements of a list, or undefined for an ordinary list. */
export function identityOf(list: readonly unknown[]): ListIdentity | undefined {
  return (list as { readonly [identity]?: ListIdentity })[identity];
}

/** Whether each element of one list is equal to one of another list of the same length. */
function equalAsIdentified(
  one: readonly unknown[],
  other: readonly unknown[],
  equal: (one: unknown, other: unknown) => boolean,
): boolean {
  const find = finder(other, identityOf(one) ?? "set", equal);
  return one.every((element) => {
    const at = find(element);
    return at !== undefined && equal(element, other[at]);
  });
}

/** The first list, followed by the elements that only the second has; of elements with the same keys, those of the second. */
export function joinIdentified(
  one: readonly unknown[],
  other: readonly unknown[],
  equal: (one: unknown, other: unknown) => boolean,
): readonly unknown[] {
  const of = identityOf(one) ?? "set";
  const joined = [...one];
  const find = finder(one, of, equal);
  for (const element of other) {
    const at = find(element);
    if (at === undefined) joined.push(element);
    else joined[at] = element;
  }
  return withIdentity(joined, of);
}

type Find = (element: unknown) => number | undefined;

/** The index of an element in a list. Elements that have no key are compared with all others. */
function finder(list: readonly unknown[], of: ListIdentity, equal: (one: unknown, other: unknown) => boolean): Find {
  const places = new Map<string, number>();
  for (const [index, element] of list.entries()) {
    const key = keyOf(element, of);
    if (key !== undefined && !places.has(key)) places.set(key, index);
  }
  return (element) => {
    const key = keyOf(element, of);
    if (key !== undefined) return places.get(key);
    const index = list.findIndex((one) => equal(one, element));
    return index < 0 ? undefined : index;
  };
}

function keyOf(element: unknown, of: ListIdentity): string | undefined {
  if (of === "set") return isScalar(element) ? JSON.stringify(element) : undefined;
  if (!isJsonObject(element)) return undefined;
  const values = of.map((name) => ownValue(element, name));
  return values.every(isScalar) ? JSON.stringify(values) : undefined;
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}
