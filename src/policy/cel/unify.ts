import type { CelType } from "./types.ts";

/** What stands for the type parameters met so far, by name. Replaced, never changed, so that a failed attempt leaves no trace. */
export type Substitution = ReadonlyMap<string, CelType>;

/** Follows parameters to what stands for them, at every depth. */
export function substitute(known: Substitution, type: CelType): CelType {
  switch (type.kind) {
    case "parameter": {
      const found = known.get(type.name);
      return found === undefined ? type : substitute(known, found);
    }
    case "list": {
      const element = substitute(known, type.element);
      return element === type.element ? type : { ...type, element };
    }
    case "map": {
      const key = substitute(known, type.key);
      const value = substitute(known, type.value);
      return key === type.key && value === type.value ? type : { ...type, key, value };
    }
    case "optional":
    case "type": {
      const of = substitute(known, type.of);
      return of === type.of ? type : { ...type, of };
    }
    case "dyn":
    case "null":
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "timestamp":
    case "duration":
    case "string":
    case "bytes":
    case "object":
    case "opaque":
      return type;
  }
}

/** Whether two types are the same, sizes aside. */
export function sameType(one: CelType, other: CelType): boolean {
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  if (one.kind === "list" && other.kind === "list") return sameType(one.element, other.element);
  if (one.kind === "map" && other.kind === "map")
    return sameType(one.key, other.key) && sameType(one.value, other.value);
  if (one.kind === "optional" && other.kind === "optional") return sameType(one.of, other.of);
  if (one.kind === "type" && other.kind === "type") return sameType(one.of, other.of);
  if ("name" in one && "name" in other) return one.name === other.name;
  return true;
}

/** The substitution under which a value of `given` may stand where `wanted` is asked for; undefined when there is none. */
export function unify(known: Substitution, given: CelType, wanted: CelType): Substitution | undefined {
  if (given === wanted) return known;
  if (wanted.kind === "parameter") {
    const bound = bind(known, given, wanted.name);
    if (bound !== undefined || known.has(wanted.name)) return bound;
  }
  if (given.kind === "parameter") return bind(known, wanted, given.name);
  if (given.kind === "dyn" || wanted.kind === "dyn") return known;
  if (given.kind === "null") return acceptsNull(wanted) ? known : undefined;
  if (wanted.kind === "null") return acceptsNull(given) ? known : undefined;
  if (given.kind === "list" && wanted.kind === "list") return unify(known, given.element, wanted.element);
  if (given.kind === "optional" && wanted.kind === "optional") return unify(known, given.of, wanted.of);
  if (given.kind === "map" && wanted.kind === "map") {
    const keys = unify(known, given.key, wanted.key);
    return keys === undefined ? undefined : unify(keys, given.value, wanted.value);
  }
  if (given.kind === "type" && wanted.kind === "type") return known;
  return sameType(given, wanted) ? known : undefined;
}

function bind(known: Substitution, type: CelType, name: string): Substitution | undefined {
  if (type.kind === "parameter" && type.name === name) return known;
  const found = known.get(name);
  if (found === undefined) return occurs(known, type, name) ? undefined : new Map(known).set(name, type);
  if (sameType(type, found)) return known;
  const next = unify(known, type, found);
  if (next === undefined) return undefined;
  const general = moreGeneral(type, found);
  return general === found || occurs(next, general, name) ? next : new Map(next).set(name, general);
}

function occurs(known: Substitution, type: CelType, name: string): boolean {
  switch (type.kind) {
    case "parameter": {
      if (type.name === name) return true;
      const found = known.get(type.name);
      return found !== undefined && occurs(known, found, name);
    }
    case "list":
      return occurs(known, type.element, name);
    case "map":
      return occurs(known, type.key, name) || occurs(known, type.value, name);
    case "optional":
    case "type":
      return occurs(known, type.of, name);
    case "dyn":
    case "null":
    case "bool":
    case "int":
    case "uint":
    case "double":
    case "timestamp":
    case "duration":
    case "string":
    case "bytes":
    case "object":
    case "opaque":
      return false;
  }
}

function acceptsNull(type: CelType): boolean {
  return ["null", "object", "opaque", "timestamp", "duration", "optional"].includes(type.kind);
}

/** Of two types that fit each other, the one that says less. */
export function moreGeneral(one: CelType, other: CelType): CelType {
  return isAtLeastAsGeneral(one, other) ? one : other;
}

function isAtLeastAsGeneral(one: CelType, other: CelType): boolean {
  if (one.kind === "dyn" || one.kind === "parameter") return true;
  if (one.kind === "null") return false;
  if (other.kind === "null") return true;
  if (one.kind !== other.kind) return false;
  if (one.kind === "list" && other.kind === "list") return isAtLeastAsGeneral(one.element, other.element);
  if (one.kind === "optional" && other.kind === "optional") return isAtLeastAsGeneral(one.of, other.of);
  if (one.kind === "map" && other.kind === "map") {
    return isAtLeastAsGeneral(one.key, other.key) && isAtLeastAsGeneral(one.value, other.value);
  }
  return sameType(one, other);
}
