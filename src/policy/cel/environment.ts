import {
  durationType,
  dynType,
  listType,
  mapType,
  nullType,
  optionalType,
  parseType,
  parseTypes,
  timestampType,
  typeType,
  opaqueType,
  type CelType,
} from "./types.ts";
import { celOpaque, type CelFailure, type CelValue, type CelOpaque } from "./values.ts";

/**
 * One signature of a function of the language. `args` starts with the receiver when it is a `member`, called as `receiver.name(...)`.
 * `apply` is called with values that match `args` (`fromJson` turns the members of lists and maps into values) and returns a value, or
 * `celFailure(message)`; it throws nothing. `cost` is what one call costs at run time (1 by default), asked before `apply`, so that
 * work is never done unpaid.
 */
export interface CelFunction {
  readonly name: string;
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly apply: (...args: never[]) => CelValue | CelFailure;
  readonly cost: ((...args: never[]) => number) | undefined;
}

/** What expressions may refer to. The standard functions are always there; those given are added. */
export interface CelEnvironment {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly functions: readonly CelFunction[];
  /** The type of objects that an expression may make by `name{…}`; undefined for a name that is none. None without this function. */
  readonly messageType?: (name: string) => CelType | undefined;
}

/**
 * A function by its signature, as the documentation of CEL writes it: `math.abs(int): int`, or `<string>.charAt(int): string` for a
 * member. One capital letter is a type parameter; a name that the language does not have is a type of a library.
 */
export function celFunction(signature: string, apply: CelFunction["apply"], cost?: CelFunction["cost"]): CelFunction {
  const [, receiver = "", name = "", args = "", result = ""] =
    /^(?:<(.+)>\.)?([^(]+)\((.*)\): (.+)$/.exec(signature) ?? [];
  const member = receiver !== "";
  return { name, member, args: parseTypes(`${receiver},${args}`), result: parseType(result), apply, cost };
}

/** What names stand for, ready to be asked. */
export interface Scope {
  readonly variable: (name: string) => CelType | undefined;
  /** The type of a name that is a type itself. */
  readonly type: (name: string) => CelType | undefined;
  /** The type of the objects that `name{…}` makes. */
  readonly message: (name: string) => CelType | undefined;
  /** All overloads of a function, global or called on a receiver. */
  readonly overloads: (name: string, member: boolean) => readonly CelFunction[] | undefined;
}

/** The types that have a name in the language. */
const typeNames: ReadonlyMap<string, CelType> = new Map([
  ...["bool", "int", "uint", "double", "string", "bytes"].map((name) => [name, parseType(name)] as const),
  ["null_type", nullType],
  ["list", listType(dynType)],
  ["map", mapType(dynType, dynType)],
  ["type", typeType(dynType)],
  ["optional_type", optionalType(dynType)],
  ["google.protobuf.Timestamp", timestampType],
  ["google.protobuf.Duration", durationType],
]);

/** The scope of an environment, above functions that are always there. */
export function newScope(environment: CelEnvironment, standard: ReadonlyMap<string, readonly CelFunction[]>): Scope {
  const { variables, functions, messageType } = environment;
  return {
    variable: (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    type: (name) => {
      const type = typeNames.get(name) ?? libraryTypeNamed(functions, name) ?? messageType?.(name);
      return type === undefined ? undefined : typeType(type);
    },
    message: (name) => messageType?.(name),
    overloads: (name, member) => {
      const known = standard.get(member ? `.${name}` : name);
      const added = functions.filter((row) => row.name === name && row.member === member);
      return added.length === 0 ? known : [...(known ?? []), ...added];
    },
  };
}

/** The type of a library that its functions take or give, by its name. */
function libraryTypeNamed(functions: readonly CelFunction[], name: string): CelType | undefined {
  for (const { args, result } of functions) {
    const found = [result, ...args].find((type) => type.kind === "opaque" && type.name === name);
    if (found !== undefined) return found;
  }
  return undefined;
}

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
