import { StatusError } from "./status.ts";
import { truncate } from "./truncate.ts";

/** What is wrong with one field, in the types that Kubernetes puts into `causes[].reason`. Source: apimachinery util/validation/field. */
export type FieldErrorType =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotFound"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid";

/** One failed rule; `message` is the whole text without the path, e.g. `Invalid value: "x": must be a DNS label`. */
export interface FieldError {
  readonly path: string;
  readonly type: FieldErrorType;
  readonly message: string;
}

export function required(path: string, why = ""): FieldError {
  return { path, type: "FieldValueRequired", message: why === "" ? "Required value" : `Required value: ${why}` };
}

export function invalid(path: string, value: unknown, why: string): FieldError {
  return { path, type: "FieldValueInvalid", message: `Invalid value: ${shown(value)}: ${why}` };
}

/** As `invalid`, for a value of a type that its schema does not have. */
export function typeInvalid(path: string, value: unknown, why: string): FieldError {
  return { ...invalid(path, value, why), type: "FieldValueTypeInvalid" };
}

export function notSupported(path: string, value: unknown, allowed: readonly string[]): FieldError {
  const list = allowed.map((one) => JSON.stringify(one)).join(", ");
  return {
    path,
    type: "FieldValueNotSupported",
    message: `Unsupported value: ${shown(value)}: supported values: ${list}`,
  };
}

export function duplicate(path: string, value: unknown): FieldError {
  return { path, type: "FieldValueDuplicate", message: `Duplicate value: ${shown(value)}` };
}

export function forbiddenField(path: string, why: string): FieldError {
  return { path, type: "FieldValueForbidden", message: `Forbidden: ${why}` };
}

export function tooLong(path: string, max: number): FieldError {
  const unit = max === 1 ? "byte" : "bytes";
  return { path, type: "FieldValueTooLong", message: `Too long: may not be more than ${max} ${unit}` };
}

/** More entries than `max`; `actual` is how many there are. */
export function tooMany(path: string, actual: number, max: number): FieldError {
  const unit = max === 1 ? "item" : "items";
  return { path, type: "FieldValueTooMany", message: `Too many: ${actual}: must have at most ${max} ${unit}` };
}

/** How many errors one response lists, and the maximum length of each, in characters, so that a response is not many times larger than its request. */
const [maxReportedErrors, maxErrorCharacters] = [64, 2048];

/** The 422 for an object that breaks field rules, worded as Kubernetes words it; of more than 64 errors it lists the first, and the number of the others. */
export function invalidObject(
  subject: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const reported = errors.slice(0, maxReportedErrors);
  const lines = reported.map(({ path, message }) =>
    truncate(path === "" ? message : `${path}: ${message}`, maxErrorCharacters),
  );
  if (errors.length > reported.length) lines.push(`and ${errors.length - reported.length} more errors`);
  const body = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  const kind = subject.group === "" ? subject.kind : `${subject.kind}.${subject.group}`;
  return new StatusError("Invalid", `${kind} ${JSON.stringify(name)} is invalid: ${body}`, {
    details: {
      ...(name === "" ? {} : { name }),
      ...(subject.group === "" ? {} : { group: subject.group }),
      ...(subject.kind === "" ? {} : { kind: subject.kind }),
      causes: reported.map(({ type, path, message }) => ({
        reason: type,
        message: truncate(message, maxErrorCharacters),
        field: truncate(path, maxErrorCharacters),
      })),
    },
  });
}

function shown(value: unknown): string {
  if (value === undefined) return "null";
  const text = JSON.stringify(value);
  return typeof value === "string" ? text.replaceAll(/\\(?:u00([01][0-9a-f])|.)/g, controlCharacter) : text;
}

/** Go has shorter escapes for some characters that JSON escapes by number. */
function controlCharacter(escaped: string, hex: string | undefined): string {
  return hex === undefined ? escaped : hex === "07" ? "\\a" : hex === "0b" ? "\\v" : `\\x${hex}`;
}
