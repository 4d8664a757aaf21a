import { CelError } from "./cel-error.ts";
import { innerTypes, mapInnerTypes, type CelType } from "./types.ts";

/**
 * The bindings of type parameters so far, by name. Changed in place; a trail of previous bindings allows a failed attempt to be
 * undone. Types may share their parts and so be far larger than they look: every step of work on them is counted.
 */
export interface TypeBindings {
  readonly known: Map<string, CelType>;
  readonly trail: (readonly [name: string, before: CelType | undefined])[];
  steps: number;
}

/** Maximum number of steps on the types of one expression. */
const maxSteps = 1_000_000;

/** Empty bindings. */
export function newTypeBindings(): TypeBindings {
  return { known: new Map(), trail: [], steps: 0 };
}

function step(bindings: TypeBindings): void {
  if (++bindings.steps > maxSteps) throw new CelError("size", "ERROR: <input>:-1:0: types are too large to be checked");
}

/** Replaces parameters by their bindings, at every depth. */
export function substitute(bindings: TypeBindings, type: CelType): CelType {
  step(bindings);
  if (type.kind !== "parameter") return mapInnerTypes(type, (inner) => substitute(bindings, inner));
  const found = bindings.known.get(type.name);
  return found === undefined ? type : substitute(bindings, found);
}

/** Whether two types are the same, sizes aside. */
export function sameType(bindings: TypeBindings, one: CelType, other: CelType): boolean {
  step(bindings);
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  if ("name" in one && "name" in other) return one.name === other.name;
  const others = innerTypes(other);
  return innerTypes(one).every((inner, at) => sameType(bindings, inner, others[at] ?? inner));
}

/**
 * Whether values of all `given` types are accepted for those `wanted`, one by one. If so, the parameters are bound; otherwise the
 * bindings stay unchanged.
 * @throws CelError `size` when the types are too large
 */
export function unify(bindings: TypeBindings, given: readonly CelType[], wanted: readonly CelType[]): boolean {
  const mark = bindings.trail.length;
  if (given.length === wanted.length && given.every((type, at) => fits(bindings, type, wanted[at] ?? type)))
    return true;
  undo(bindings, mark);
  return false;
}

function undo(bindings: TypeBindings, mark: number): void {
  for (const [name, before] of bindings.trail.splice(mark).reverse()) {
    if (before === undefined) bindings.known.delete(name);
    else bindings.known.set(name, before);
  }
}

/** May leave bindings behind when it fails. */
function fits(bindings: TypeBindings, given: CelType, wanted: CelType): boolean {
  step(bindings);
  if (given === wanted) return true;
  if (wanted.kind === "parameter") {
    const mark = bindings.trail.length;
    const known = bindings.known.has(wanted.name);
    if (bind(bindings, given, wanted.name)) return true;
    undo(bindings, mark);
    if (known) return false;
  }
  return given.kind === "parameter" ? bind(bindings, wanted, given.name) : fitsPlain(bindings, given, wanted);
}

/** For two types that are no parameters. */
function fitsPlain(bindings: TypeBindings, given: CelType, wanted: CelType): boolean {
  if (given.kind === "dyn" || wanted.kind === "dyn") return true;
  if (given.kind === "null") return acceptsNull(wanted);
  if (wanted.kind === "null") return acceptsNull(given);
  return given.kind === wanted.kind && innerFits(bindings, given, wanted);
}

/** For two types of one kind. Any type is as good as another as a value. */
function innerFits(bindings: TypeBindings, given: CelType, wanted: CelType): boolean {
  if (given.kind === "type") return true;
  if ("name" in given) return sameType(bindings, given, wanted);
  const others = innerTypes(wanted);
  return innerTypes(given).every((inner, at) => fits(bindings, inner, others[at] ?? inner));
}

function bind(bindings: TypeBindings, type: CelType, name: string): boolean {
  if (type.kind === "parameter" && type.name === name) return true;
  const found = bindings.known.get(name);
  if (found === undefined) return !occurs(bindings, type, name) && assign(bindings, name, type);
  if (sameType(bindings, type, found)) return true;
  if (!fits(bindings, type, found)) return false;
  const general = moreGeneral(bindings, type, found);
  return general === found || occurs(bindings, general, name) || assign(bindings, name, general);
}

function assign(bindings: TypeBindings, name: string, type: CelType): true {
  bindings.trail.push([name, bindings.known.get(name)]);
  bindings.known.set(name, type);
  return true;
}

function occurs(bindings: TypeBindings, type: CelType, name: string): boolean {
  step(bindings);
  if (type.kind !== "parameter") return innerTypes(type).some((inner) => occurs(bindings, inner, name));
  const found = bindings.known.get(type.name);
  return type.name === name || (found !== undefined && occurs(bindings, found, name));
}

function acceptsNull(type: CelType): boolean {
  return ["null", "object", "opaque", "timestamp", "duration", "optional"].includes(type.kind);
}

/** Of two types that fit each other, the more general one. */
export function moreGeneral(bindings: TypeBindings, one: CelType, other: CelType): CelType {
  return isAtLeastAsGeneral(bindings, one, other) ? one : other;
}

function isAtLeastAsGeneral(bindings: TypeBindings, one: CelType, other: CelType): boolean {
  step(bindings);
  if (one.kind === "dyn" || one.kind === "parameter") return true;
  if (one.kind === "null") return false;
  if (other.kind === "null") return true;
  if (one.kind !== other.kind) return false;
  if ("name" in one) return sameType(bindings, one, other);
  const others = innerTypes(other);
  return innerTypes(one).every((inner, at) => isAtLeastAsGeneral(bindings, inner, others[at] ?? inner));
}
