import type { FieldError } from "../apimachinery/field-error.ts";

/** How many errors of one list are reported; a person fixes the first few and tries again. */
const maxErrors = 32;

/**
 * The errors of the items in order. Checking stops soon after 32 errors, so that a hostile object cannot make the reply, and
 * the work for it, a hundred times as large as itself.
 */
export function collectErrors<T>(
  items: Iterable<T>,
  check: (item: T, index: number) => readonly FieldError[],
): readonly FieldError[] {
  const errors: FieldError[] = [];
  let index = 0;
  for (const item of items) {
    errors.push(...check(item, index));
    if (errors.length >= maxErrors) break;
    index += 1;
  }
  return errors;
}
