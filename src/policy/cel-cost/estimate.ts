import { dynType, formatType, type CelType } from "../cel/types.ts";

/** What is known beforehand of a part of an expression, at worst: what it costs, how much its value holds, and of which type it is. */
export interface Estimate {
  readonly cost: number;
  /** Characters, bytes, elements or entries; infinite where nothing bounds them. */
  readonly size: number;
  /** With sizes inside wherever they are known. */
  readonly type: CelType;
}

/** The most that a value of no declared type can hold: a request has at most 3 MiB, two bytes of which are quotes. */
export const requestSize: number = 3 * 1024 * 1024 - 2;

/** How much a value of a declared type holds at worst. Kubernetes counts scalars as nothing, and times by their text. */
export function declaredSize(type: CelType): number {
  if (isSized(type)) return type.maxSize ?? Infinity;
  if (type.kind === "optional") return declaredSize(type.of);
  return scalarSizes.get(type.kind) ?? 0;
}

const scalarSizes: ReadonlyMap<CelType["kind"], number> = new Map([
  ["dyn", requestSize],
  ["timestamp", 32],
  ["duration", 32],
  ["parameter", Infinity],
]);

/** How much a value of a type holds at worst that an expression made itself. */
export function computedSize(type: CelType): number {
  return Math.max(1, type.kind === "timestamp" || type.kind === "duration" ? 1 : declaredSize(type));
}

/** The type, bounded by `size` where values of it have one. */
export function sized(type: CelType, size: number): CelType {
  return isSized(type) ? { ...type, maxSize: size } : type;
}

function isSized(type: CelType): type is Extract<CelType, { readonly maxSize?: number }> {
  return ["string", "bytes", "list", "map"].includes(type.kind);
}

/** The type without what is known of sizes. Declared objects keep theirs, since only a declaration makes them. */
export function unsized(type: CelType): CelType {
  switch (type.kind) {
    case "string":
    case "bytes":
      return { kind: type.kind };
    case "list":
      return { kind: "list", element: unsized(type.element) };
    case "map":
      return { kind: "map", key: unsized(type.key), value: unsized(type.value) };
    case "optional":
      return { kind: "optional", of: unsized(type.of) };
    default:
      return type;
  }
}

/** A type that bounds whatever either bounds. Types that differ otherwise are bounded by nothing. */
export function widest(one: CelType, other: CelType): CelType {
  if (one === other) return one;
  const maxSize = Math.max(declaredSize(one), declaredSize(other));
  if (one.kind === "list" && other.kind === "list")
    return { kind: "list", element: widest(one.element, other.element), maxSize };
  if (one.kind === "map" && other.kind === "map")
    return { kind: "map", key: widest(one.key, other.key), value: widest(one.value, other.value), maxSize };
  if (one.kind === "optional" && other.kind === "optional") return { kind: "optional", of: widest(one.of, other.of) };
  const isSame = one.kind === other.kind && (one.kind !== "object" || formatType(one) === formatType(other));
  return isSame ? sized(one, maxSize) : dynType;
}

/** What lies inside a list or the values of a map; anything where that is not known. */
export function insideOf(type: CelType): CelType {
  if (type.kind === "list") return type.element;
  if (type.kind === "optional") return insideOf(type.of);
  return type.kind === "map" ? type.value : dynType;
}

/** One times the other, neither of which is below zero. Nothing times without bound is nothing, and never no number. */
export function product(one: number, other: number): number {
  return one === 0 || other === 0 ? 0 : one * other;
}
