import { invalid, type FieldError } from "../../apimachinery/field-error.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { pathOf, wholePath, type Where } from "./value-result.ts";
import { fieldErrors, type FieldResult } from "../field-rules.ts";

/**
 * Errors of a number besides its type: its range and the bounds of the schema. Source: kube-openapi validate numberValidator,
 * except that bounds with a fraction also apply to whole numbers.
 */
export function numberErrors(schema: StructuralSchema, value: number, where: Where): readonly FieldError[] {
  const { maximum, minimum, exclusiveMaximum, exclusiveMinimum } = schema;
  // Where the value has no fraction Kubernetes writes the bound as a whole number too.
  const shown = isInt64(value) ? String : goNumber;
  const wrong = (isWrong: boolean, why: string): FieldResult =>
    isWrong && invalidNumber(value, `${where.name} in body should be ${why}`, where);
  return fieldErrors(
    rangeErrors(schema, { value, what: "Checked" }, where),
    multipleErrors(schema, value, where),
    minimum !== undefined && [
      rangeErrors(schema, { value: minimum, what: "Minimum boundary" }, where),
      exclusiveMinimum
        ? wrong(value <= minimum, `greater than ${shown(minimum)}`)
        : wrong(value < minimum, `greater than or equal to ${shown(minimum)}`),
    ],
    maximum !== undefined && [
      rangeErrors(schema, { value: maximum, what: "Maximum boundary" }, where),
      exclusiveMaximum
        ? wrong(value >= maximum, `less than ${shown(maximum)}`)
        : wrong(value > maximum, `less than or equal to ${shown(maximum)}`),
    ],
  );
}

function multipleErrors(schema: StructuralSchema, value: number, where: Where): FieldResult {
  const { multipleOf } = schema;
  if (multipleOf === undefined) return undefined;
  const shown = isInt64(value) ? String(multipleOf) : goNumber(multipleOf);
  const notPositive = `factor MultipleOf declared for ${where.name} must be positive: ${goNumber(multipleOf)}`;
  return [
    rangeErrors(schema, { value: multipleOf, what: "MultipleOf" }, where),
    multipleOf <= 0
      ? invalidNumber(multipleOf, notPositive, where)
      : !isMultiple(value, multipleOf) &&
        invalidNumber(value, `${where.name} in body should be a multiple of ${shown}`, where),
  ];
}

/** Whether the number has the range of the type and format that the schema names. */
function rangeErrors(
  schema: StructuralSchema,
  { value, what }: { readonly value: number; readonly what: string },
  { prefix, name }: Where,
): readonly FieldError[] {
  const format = numberFormat(schema);
  if (schema.intOrString || schema.type === undefined || fits(schema, value, format)) return [];
  const type = schema.type === "integer" ? "integer" : "number";
  const wanted = format === undefined ? `${type} (default format)` : `${type} with format ${format}`;
  return [invalid(wholePath(prefix), "", `${what} value must be of type ${wanted} in ${name}`)];
}

/** The format of a schema for numbers where Kubernetes knows it. */
export function numberFormat(schema: StructuralSchema): "int32" | "int64" | "float" | "double" | undefined {
  const { type, format } = schema;
  if (schema.intOrString) return undefined;
  if (type === "integer" && (format === "int32" || format === "int64")) return format;
  return type === "number" && (format === "float" || format === "double") ? format : undefined;
}

function fits(schema: StructuralSchema, value: number, format: string | undefined): boolean {
  if (schema.type === "integer") {
    return isInt64(value) && (format !== "int32" || (value < 2 ** 31 && value >= -(2 ** 31)));
  }
  return format !== "float" || Math.abs(value) <= 3.4028234663852886e38;
}

/** Whether Go would read the number as an integer; JavaScript does not distinguish 1.0 from 1, and both are. */
export function isInt64(value: number): boolean {
  return Number.isInteger(value) && value < 2 ** 63 && value >= -(2 ** 63);
}

/** Fractions may be off by the rounding of binary division. Source: go-openapi swag IsFloat64AJSONInteger. */
function isMultiple(value: number, factor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(factor)) return value % factor === 0;
  const times = value / factor;
  const whole = Math.round(times);
  if (times === whole) return isInt64(value);
  return Math.abs(times) < 2 ** 53 && Math.abs(times - whole) / Math.abs(times + whole) < 1e-9;
}

function invalidNumber(value: number, why: string, where: Where): FieldError {
  const shown = isInt64(value) ? String(value) : goNumber(value);
  return { path: pathOf(where), type: "FieldValueInvalid", message: `Invalid value: ${shown}: ${why}` };
}

/** A number with a fraction as Go prints it: with an exponent below 0.0001 and from a million on, of at least two digits. */
function goNumber(value: number): string {
  const size = Math.abs(value);
  const text = size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}
