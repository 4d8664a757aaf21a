import type { FieldError } from "../../apimachinery/field-error.ts";

/** The errors of one value, and how many checks it passed: of several alternatives that fail, the one with most passed is reported. */
export interface ValueResult {
  readonly errors: FieldError[];
  passed: number;
}

/** Enough for any reader; a hostile object must not make the reply, and the work for it, many times as large as itself. */
export const maxErrors = 100;

/** A result to add to. */
export function emptyResult(): ValueResult {
  return { errors: [], passed: 0 };
}

/** Adds `other` to `result`; errors beyond 100 are left out. */
export function merge(result: ValueResult, other: ValueResult): void {
  result.passed += other.passed;
  for (const error of other.errors) {
    if (result.errors.length >= maxErrors) return;
    result.errors.push(error);
  }
}

/** Where a value stands: the path before it, which errors begin with, and its name below that, which messages say. */
export interface Where {
  readonly prefix: string;
  readonly name: string;
}

/** The path of the value itself. A value without any is shown as Go prints a path that is nil. */
export function pathOf({ prefix, name }: Where): string {
  if (name === "") return wholePath(prefix);
  const relative = name.startsWith(".") ? name.slice(1) : name;
  return prefix === "" ? relative : `${prefix}.${relative}`;
}

/** The path that errors have which Kubernetes attaches to no field. */
export function wholePath(prefix: string): string {
  return prefix === "" ? "<nil>" : prefix;
}
