import { opaqueType, type CelType } from "../cel/types.ts";
import { celOpaque, type CelOpaque } from "../cel/values.ts";

/** A type of values that only this library looks into. */
export interface LibraryType<T> {
  readonly type: CelType;
  /** A value of the type. */
  readonly wrap: (value: T) => CelOpaque;
  /** What a value of the type holds; the checker has made sure of the type. */
  readonly unwrap: (value: CelOpaque) => T;
}

/** The type `name`, whose values are equal when `equal` says so. */
export function libraryType<T>(name: string, equal: (one: T, other: T) => boolean): LibraryType<T> {
  const unwrap = (value: CelOpaque): T => value.value as T;
  return {
    type: opaqueType(name),
    wrap: (value) => celOpaque(name, value, (other) => equal(value, unwrap(other))),
    unwrap,
  };
}
