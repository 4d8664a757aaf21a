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
 * `celFailure(message)`; it throws nothing. `cost` is the cost of one call at run time (1 by default), computed before `apply`, so that
 * no work is done without being charged.
 */
export interface CelFunction {
  readonly name: string;
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly apply: (...args: never[]) => CelValue | CelFailure;
  readonly cost: ((...args: never[]) => number) | undefined;
}

/** Functions, indexed for look-up. */
export interface FunctionTable {
  /** All overloads of each name; those of members under the name behind a dot. */
  readonly byName: ReadonlyMap<string, readonly CelFunction[]>;
  /** The types of libraries that the functions accept or return. */
  readonly types: ReadonlyMap<string, CelType>;
}

/** What expressions may refer to. The functions listed are added to those of the library, by default the standard ones. */
export interface CelEnvironment {
  readonly variables: Readonly<Record<string, CelType>>;
  readonly library?: FunctionTable;
  readonly functions: readonly CelFunction[];
  /** The type of objects that an expression may create by `name{…}`; undefined for an unknown name. None without this function. */
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

/** The meanings of names, indexed for look-up. */
export interface Scope {
  readonly variable: (name: string) => CelType | undefined;
  /** The type of a name that is a type itself. */
  readonly type: (name: string) => CelType | undefined;
  /** The type of the objects that `name{…}` creates. */
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

/** The functions by their names; of one name in the order given. */
export function functionTable(functions: readonly CelFunction[]): FunctionTable {
  const byName = new Map<string, CelFunction[]>();
  const types = new Map<string, CelType>();
  for (const each of functions) {
    const key = each.member ? `.${each.name}` : each.name;
    const known = byName.get(key);
    if (known === undefined) byName.set(key, [each]);
    else known.push(each);
    for (const type of [each.result, ...each.args]) if (type.kind === "opaque") types.set(type.name, type);
  }
  return { byName, types };
}

/** The scope of an environment with a library. */
export function newScope({ variables, functions, messageType }: CelEnvironment, library: FunctionTable): Scope {
  const added = functionTable(functions);
  return {
    variable: (name) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    type: (name) => {
      const type = typeNames.get(name) ?? library.types.get(name) ?? added.types.get(name) ?? messageType?.(name);
      return type === undefined ? undefined : typeType(type);
    },
    message: (name) => messageType?.(name),
    overloads: (name, member) => {
      const key = member ? `.${name}` : name;
      const [known, more] = [library.byName.get(key), added.byName.get(key)];
      return known === undefined || more === undefined ? (known ?? more) : [...known, ...more];
    },
  };
}

/** A type of values that are opaque outside of this library. */
export interface LibraryType<T> {
  readonly type: CelType;
  /** A value of the type. */
  readonly wrap: (value: T) => CelOpaque;
  /** The content of a value of the type; the checker has verified the type. */
  readonly unwrap: (value: CelOpaque) => T;
}

/** The type `name`, whose values are compared by `equal`. */
export function libraryType<T>(name: string, equal: (one: T, other: T) => boolean): LibraryType<T> {
  const unwrap = (value: CelOpaque): T => value.value as T;
  return {
    type: opaqueType(name),
    wrap: (value) => celOpaque(name, value, (other) => equal(value, unwrap(other))),
    unwrap,
  };
}
