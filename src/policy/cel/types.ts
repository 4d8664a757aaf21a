/** A named field of a declared object: its type, and the JSON key it stands under when that differs from the name (escaped names). */
export interface CelField {
  readonly type: CelType;
  readonly key?: string;
}

/**
 * A type of the Common Expression Language. `maxSize` bounds what a value can hold (characters, bytes, elements or entries) where a
 * schema says so; estimates of cost read it, and equality of types ignores it. `parameter` occurs in the tables of functions alone.
 * @see https://github.com/google/cel-spec/blob/master/doc/langdef.md
 */
export type CelType =
  | { readonly kind: "dyn" | "null" | "bool" | "int" | "uint" | "double" | "timestamp" | "duration" }
  | { readonly kind: "string" | "bytes"; readonly maxSize?: number }
  | { readonly kind: "type"; readonly of: CelType }
  | { readonly kind: "list"; readonly element: CelType; readonly maxSize?: number }
  | { readonly kind: "map"; readonly key: CelType; readonly value: CelType; readonly maxSize?: number }
  | { readonly kind: "object"; readonly name: string; readonly fields: ReadonlyMap<string, CelField> }
  | { readonly kind: "opaque"; readonly name: string }
  | { readonly kind: "optional"; readonly of: CelType }
  | { readonly kind: "parameter"; readonly name: string };

/** Any value; what is known of it is known when it is evaluated. */
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

/** The type of values that only the functions of a library look into, such as `net.IP`. */
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

/** A type parameter of a function: within one overload, every occurrence of a name stands for the same type. */
export function typeParameter(name: string): CelType {
  return { kind: "parameter", name };
}

/** How messages show a type, as cel-go does: `list(string)`, `map(string, dyn)`, `google.protobuf.Timestamp`. */
export function formatType(type: CelType): string {
  switch (type.kind) {
    case "list":
      return `list(${formatType(type.element)})`;
    case "map":
      return `map(${formatType(type.key)}, ${formatType(type.value)})`;
    case "optional":
      return `optional_type(${formatType(type.of)})`;
    case "type":
      return `type(${formatType(type.of)})`;
    case "object":
    case "opaque":
    case "parameter":
      return type.name;
    case "timestamp":
      return "timestamp";
    case "duration":
      return "duration";
    case "null":
      return "null";
    case "dyn":
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "string":
    case "bytes":
      return type.kind;
  }
}
