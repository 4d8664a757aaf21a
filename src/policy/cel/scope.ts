import type { CelEnvironment, CelFunction, CelOverload } from "./environment.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  optionalType,
  stringType,
  timestampType,
  typeType,
  uintType,
  type CelType,
} from "./types.ts";

/** What names stand for, ready to be asked. */
export interface Scope {
  readonly variable: (name: string) => CelType | undefined;
  /** The type of a name that is a type itself. */
  readonly type: (name: string) => CelType | undefined;
  /** The type of the objects that `name{…}` makes. */
  readonly message: (name: string) => CelType | undefined;
  /** All overloads of a function, global or called on a receiver. */
  readonly overloads: (name: string, member: boolean) => readonly CelOverload[] | undefined;
}

/** The types that have a name in the language. */
const typeNames: ReadonlyMap<string, CelType> = new Map([
  ["bool", boolType],
  ["int", intType],
  ["uint", uintType],
  ["double", doubleType],
  ["string", stringType],
  ["bytes", bytesType],
  ["null_type", nullType],
  ["list", listType(dynType)],
  ["map", mapType(dynType, dynType)],
  ["type", typeType(dynType)],
  ["optional_type", optionalType(dynType)],
  ["google.protobuf.Timestamp", timestampType],
  ["google.protobuf.Duration", durationType],
]);

/** Tables of functions as one lookup; tables named later add overloads to functions of the same name. */
export function functionTable(
  tables: readonly (readonly CelFunction[])[],
): ReadonlyMap<string, readonly CelOverload[]> {
  const table = new Map<string, readonly CelOverload[]>();
  for (const { name, member, overloads } of tables.flat()) {
    const key = member === true ? `.${name}` : name;
    table.set(key, [...(table.get(key) ?? []), ...overloads]);
  }
  return table;
}

/** The scope of an environment, above functions that are always there. */
export function newScope(environment: CelEnvironment, standard: ReadonlyMap<string, readonly CelOverload[]>): Scope {
  return {
    variable: (name) => (Object.hasOwn(environment.variables, name) ? environment.variables[name] : undefined),
    type: (name) => {
      const type =
        typeNames.get(name) ?? libraryTypeNamed(environment.functions, name) ?? environment.messageType?.(name);
      return type === undefined ? undefined : typeType(type);
    },
    message: (name) => environment.messageType?.(name),
    overloads: (name, member) => {
      const known = standard.get(member ? `.${name}` : name);
      const added = environment.functions.filter((row) => row.name === name && (row.member ?? false) === member);
      if (added.length === 0) return known;
      return [...(known ?? []), ...added.flatMap((row) => row.overloads)];
    },
  };
}

/** The type of a library that its functions take or give, by its name. */
function libraryTypeNamed(functions: readonly CelFunction[], name: string): CelType | undefined {
  for (const { overloads } of functions) {
    for (const { args, result } of overloads) {
      const found = [result, ...args].find((type) => type.kind === "opaque" && type.name === name);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}
