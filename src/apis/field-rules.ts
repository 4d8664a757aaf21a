import { type FieldError, invalid, notSupported, required } from "../apimachinery/field-error.ts";

/** What rules found: nothing, an error, or what several rules found. */
export type FieldResult = FieldError | false | undefined | readonly FieldResult[];

/** The errors among `results`, in order. */
export function fieldErrors(...results: readonly FieldResult[]): readonly FieldError[] {
  const errors: FieldError[] = [];
  addErrors(errors, results);
  return errors;
}

function addErrors(errors: FieldError[], results: readonly FieldResult[]): void {
  for (const result of results) {
    if (result === false || result === undefined) continue;
    if ("path" in result) errors.push(result);
    else addErrors(errors, result);
  }
}

/** How many errors of one list are reported; a person fixes the first few and tries again. */
const maxErrors = 32;

/**
 * The errors of the items in order. Checking stops soon after 32 errors, so that a hostile object cannot make the reply, and
 * the work for it, a hundred times as large as itself.
 */
export function collectErrors<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => FieldResult,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    addErrors(errors, [check(item, index)]);
    if (errors.length >= maxErrors) break;
    index += 1;
  }
  return errors;
}

type NameRule = (text: string) => readonly string[];

/** What is wrong with a text at `path` by a rule of names. */
export function nameErrors(path: string, text: string, problems: NameRule): readonly FieldError[] {
  return problems(text).map((why) => invalid(path, text, why));
}

/** The same for a text that must not be empty either. */
export function requiredName(path: string, text: string, problems: NameRule): readonly FieldError[] {
  return text === "" ? [required(path)] : nameErrors(path, text, problems);
}

/** The error of a value that must be one of a few. */
export function unsupported(path: string, value: string, allowed: readonly string[]): FieldError | undefined {
  return allowed.includes(value) ? undefined : notSupported(path, value, allowed);
}

/** The error of a value that must be one of a few, and not empty. */
export function requiredOneOf(path: string, value: string, allowed: readonly string[]): FieldError | undefined {
  return value === "" ? required(path) : unsupported(path, value, allowed);
}

/** The error of a value that must be one of a few where it is there. */
export function optionalOneOf(path: string, value: unknown, allowed: readonly string[]): FieldError | undefined {
  return typeof value === "string" ? unsupported(path, value, allowed) : undefined;
}

/** Tells of each text that it is asked about whether it was asked about it before. */
export function repetitions(): (text: string) => boolean {
  const seen = new Set<string>();
  return (text) => seen.size === seen.add(text).size;
}
