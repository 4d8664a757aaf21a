import { innerTypes, mapInnerTypes, type CelType } from "./types.ts";

/** What stands for the type parameters met so far, by name. Replaced, never changed, so that a failed attempt leaves no trace. */
export type Substitution = ReadonlyMap<string, CelType>;

/** Follows parameters to what stands for them, at every depth. */
export function substitute(known: Substitution, type: CelType): CelType {
  if (type.kind !== "parameter") return mapInnerTypes(type, (inner) => substitute(known, inner));
  const found = known.get(type.name);
  return found === undefined ? type : substitute(known, found);
}

/** Whether two types are the same, sizes aside. */
export function sameType(one: CelType, other: CelType): boolean {
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  if ("name" in one && "name" in other) return one.name === other.name;
  const others = innerTypes(other);
  return innerTypes(one).every((inner, at) => sameType(inner, others[at] ?? inner));
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
  return given.kind === wanted.kind ? unifyInner(known, given, wanted) : undefined;
}

/** For two types of one kind. Any type is as good as another as a value. */
function unifyInner(known: Substitution, given: CelType, wanted: CelType): Substitution | undefined {
  if (given.kind === "type") return known;
  if ("name" in given && !sameType(given, wanted)) return undefined;
  const others = innerTypes(wanted);
  let next: Substitution | undefined = known;
  for (const [at, inner] of innerTypes(given).entries()) {
    next = unify(next, inner, others[at] ?? inner);
    if (next === undefined) return undefined;
  }
  return next;
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
  if (type.kind !== "parameter") return innerTypes(type).some((inner) => occurs(known, inner, name));
  const found = known.get(type.name);
  return type.name === name || (found !== undefined && occurs(known, found, name));
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
  if ("name" in one) return sameType(one, other);
  const others = innerTypes(other);
  return innerTypes(one).every((inner, at) => isAtLeastAsGeneral(inner, others[at] ?? inner));
}
