import { rfc3339 } from "../../apimachinery/clock.ts";

/** The format of one field of a state in JSON. */
export interface FieldFormat<T> {
  /** The value, or undefined where the JSON has another type. */
  readonly read: (value: unknown) => T | undefined;
  readonly write: (value: T) => unknown;
}

/** The format of a state file. */
export interface StateFormat<T, Read> {
  /** Parses a text, or returns undefined where there is none, or none that can be parsed. */
  readonly parse: (text: string | undefined) => Read | undefined;
  readonly print: (state: T) => string;
}

type Fields<T> = { readonly [K in keyof T]-?: FieldFormat<Exclude<T[K], undefined>> };

/** The required fields; others may be missing, and count as missing where they cannot be parsed. */
export type ReadState<T, Required extends keyof T> = Pick<T, Required> & Partial<T>;

export const text: FieldFormat<string> = plain((value) => typeof value === "string");
export const nonEmptyText: FieldFormat<string> = plain((value) => typeof value === "string" && value !== "");
export const flag: FieldFormat<boolean> = plain((value) => typeof value === "boolean");
export const finite: FieldFormat<number> = plain(Number.isFinite);
export const count: FieldFormat<number> = plain(Number.isSafeInteger);
export const textList: FieldFormat<readonly string[]> = plain((value) => Array.isArray(value) && value.every(isText));
export const textMap: FieldFormat<Readonly<Record<string, string>>> = plain(
  (value) => typeof value === "object" && value !== null && Object.values(value).every(isText),
);

/** Milliseconds since the epoch, written as RFC 3339. */
export const time: FieldFormat<number> = {
  read: (value) => {
    const at = isText(value) ? Date.parse(value) : Number.NaN;
    return Number.isNaN(at) ? undefined : at;
  },
  write: rfc3339,
};

/** One of some texts. */
export function oneOf<T extends string>(...values: readonly T[]): FieldFormat<T> {
  return plain((value) => values.some((one) => one === value));
}

/** An object; undefined where a required field cannot be parsed. */
export function record<T extends object, Required extends keyof T = keyof T>(
  fields: Fields<T>,
  required: readonly Required[],
): { readonly read: (value: unknown) => ReadState<T, Required> | undefined; readonly write: (state: T) => unknown } {
  const names = Object.keys(fields) as (keyof T)[];
  return {
    read: (value) => {
      if (typeof value !== "object" || value === null) return undefined;
      const found: Partial<T> = {};
      for (const name of names) {
        const one = fields[name].read((value as Partial<Record<keyof T, unknown>>)[name]);
        if (one !== undefined) found[name] = one;
      }
      return required.every((name) => found[name] !== undefined) ? (found as ReadState<T, Required>) : undefined;
    },
    write: (state) =>
      Object.fromEntries(
        names.flatMap((name) => {
          const value = state[name];
          return value === undefined ? [] : [[name, fields[name].write(value as Exclude<T[keyof T], undefined>)]];
        }),
      ),
  };
}

/** An object as the whole text of a file. */
export function stateFormat<T extends object, Required extends keyof T>(
  fields: Fields<T>,
  required: readonly Required[],
): StateFormat<T, ReadState<T, Required>> {
  const format = record(fields, required);
  return {
    parse: (content) => {
      try {
        return format.read(JSON.parse(content ?? "null"));
      } catch (error) {
        if (error instanceof SyntaxError) return undefined;
        throw error;
      }
    },
    print: (state) => `${JSON.stringify(format.write(state), undefined, 2)}\n`,
  };
}

function plain<T>(is: (value: unknown) => boolean): FieldFormat<T> {
  return { read: (value) => (is(value) ? (value as T) : undefined), write: (value) => value };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}
