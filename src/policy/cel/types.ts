import type { ListIdentity } from "./equality.ts";

/** A named field of a declared object: its type, and its JSON key where that differs from the name (escaped names). */
export interface CelField {
  readonly type: CelType;
  readonly key?: string;
}

/**
 * A type of the Common Expression Language. `maxSize` is the maximum size of a value (characters, bytes, elements or entries) where a
 * schema declares it; estimates of cost read it, and equality of types ignores it. `parameter` occurs in signatures of functions only.
 * @see https://github.com/google/cel-spec/blob/master/doc/langdef.md
 */
export type CelType =
  | { readonly kind: "dyn" | "null" | "bool" | "int" | "uint" | "double" | "timestamp" | "duration" }
  | { readonly kind: "string" | "bytes"; readonly maxSize?: number }
  | { readonly kind: "type"; readonly of: CelType }
  | {
      readonly kind: "list";
      readonly element: CelType;
      readonly maxSize?: number;
      /** Of a declared list: what identifies its elements, so that their order is irrelevant. */
      readonly identity?: ListIdentity;
    }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType; readonly maxSize?: number }
  | {
      readonly kind: "object";
      readonly name: string;
      readonly fields: ReadonlyMap<string, CelField>;
      /** Fields beyond `fields` exist too, and are dyn. */
      readonly open?: boolean;
    }
  | { readonly kind: "opaque"; readonly name: string }
  | { readonly kind: "optional"; readonly of: CelType }
  | { readonly kind: "parameter"; readonly name: string };

/** Any value; its type is known at run time only. */
export const dynType: CelType = { kind: "dyn" };
/** The type of `null`. */
export const nullType: CelType = { kind: "null" };
/** `true` and `false`. */
export const boolType: CelType = { kind: "bool" };
/** Signed integers of 64 bits. */
export const intType: CelType = { kind: "int" };
/** Unsigned integers of 64 bits. */
export const uintType: CelType = { kind: "uint" };
/** Floating point numbers of 64 bits. */
export const doubleType: CelType = { kind: "double" };
/** Sequences of Unicode code points. */
export const stringType: CelType = { kind: "string" };
/** Sequences of octets. */
export const bytesType: CelType = { kind: "bytes" };
/** Points in time of the years 1 to 9999, in nanoseconds. */
export const timestampType: CelType = { kind: "timestamp" };
/** Spans of time, in nanoseconds. */
export const durationType: CelType = { kind: "duration" };

/** The type of lists of `element`. */
export function listType(element: CelType, maxSize?: number): CelType {
  return maxSize === undefined ? { kind: "list", element } : { kind: "list", element, maxSize };
}

/** The type of maps from `key` to `value`. */
export function mapType(key: CelType, value: CelType, maxSize?: number): CelType {
  return maxSize === undefined ? { kind: "map", key, value } : { kind: "map", key, value, maxSize };
}

/** The type of objects with the fields named, such as a schema declares them; `name` is what messages show. */
export function objectType(name: string, fields: Readonly<Record<string, CelType | CelField>>): CelType {
  const entries = Object.entries(fields).map(([field, given]): [string, CelField] => [
    field,
    "kind" in given ? { type: given } : given,
  ]);
  return { kind: "object", name, fields: new Map(entries) };
}

/** The type of objects whose fields are not declared: each exists and is dyn. */
export function openObjectType(name: string): CelType {
  return { kind: "object", name, fields: new Map(), open: true };
}

/** The type of values that are opaque outside of a library, such as `net.IP`. */
export function opaqueType(name: string): CelType {
  return { kind: "opaque", name };
}

/** The type of values of `of` that may be absent. */
export function optionalType(of: CelType): CelType {
  return { kind: "optional", of };
}

/** The type of types, whose instance is `of`. */
export function typeType(of: CelType): CelType {
  return { kind: "type", of };
}

/** A type parameter of a function: within one overload, every occurrence of a name is the same type. */
export function typeParameter(name: string): CelType {
  return { kind: "parameter", name };
}

/** The types that a type is composed of, such as a list's elements; none for most. */
export function innerTypes(type: CelType): readonly CelType[] {
  switch (type.kind) {
    case "list":
      return [type.element];
    case "map":
      return [type.key, type.value];
    case "optional":
    case "type":
      return [type.of];
    default:
      return [];
  }
}

/** A type with its inner types replaced; the same type when nothing changed. */
export function mapInnerTypes(type: CelType, change: (inner: CelType) => CelType): CelType {
  switch (type.kind) {
    case "list": {
      const element = change(type.element);
      return element === type.element ? type : { ...type, element };
    }
    case "map": {
      const key = change(type.key);
      const value = change(type.value);
      return key === type.key && value === type.value ? type : { ...type, key, value };
    }
    case "optional":
    case "type": {
      const of = change(type.of);
      return of === type.of ? type : { ...type, of };
    }
    default:
      return type;
  }
}

/** How messages show a type, as cel-go does: `list(string)`, `map(string, dyn)`, `optional_type(int)`. */
export function formatType(type: CelType): string {
  if ("name" in type) return type.name;
  const name = type.kind === "optional" ? "optional_type" : type.kind;
  const inner = innerTypes(type);
  return inner.length === 0 ? name : `${name}(${inner.map(formatType).join(", ")})`;
}

const plainTypes: ReadonlyMap<string, CelType> = new Map(
  [dynType, nullType, boolType, intType, uintType, doubleType, stringType, bytesType, timestampType, durationType].map(
    (type) => [type.kind, type],
  ),
);

const composedTypes: ReadonlyMap<string, (first: CelType, second: CelType) => CelType> = new Map([
  ["list", (element: CelType) => listType(element)],
  ["map", (key: CelType, value: CelType) => mapType(key, value)],
  ["optional", optionalType],
  ["type", typeType],
]);

/**
 * Parses the type of a signature: `int`, `list(string)`, `map(string, A)`. One capital letter is a type parameter; a name that the
 * language does not define is a type of a library.
 */
export function parseType(text: string): CelType {
  const plain = plainTypes.get(text);
  if (plain !== undefined) return plain;
  const [, outer = "", inner = ""] = /^(\w+)\((.+)\)$/.exec(text) ?? [];
  const compose = composedTypes.get(outer);
  if (compose === undefined) return text.length === 1 ? typeParameter(text) : opaqueType(text);
  const [first = dynType, second = dynType] = parseTypes(inner);
  return compose(first, second);
}

/** The types of a comma-separated list. */
export function parseTypes(text: string): readonly CelType[] {
  return (text.match(/[^,() ]+(?:\((?:[^()]|\([^()]*\))*\))?/g) ?? []).map(parseType);
}
