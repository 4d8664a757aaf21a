import { invalid, type FieldError } from "../../core/field-error.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { pathOf, wholePath, type Where } from "./value-result.ts";

/**
 * What is wrong with a number but its type: its range and the bounds of the schema. Source: kube-openapi validate numberValidator,
 * but that bounds with a fraction also hold for whole numbers.
 */
export function numberErrors(schema: StructuralSchema, value: number, where: Where): readonly FieldError[] {
  const { multipleOf, maximum, minimum, exclusiveMaximum, exclusiveMinimum } = schema;
  const said = (why: string): FieldError => invalid(pathOf(where), value, `${where.name} in body should be ${why}`);
  const errors = [...rangeErrors(schema, { value, what: "Checked" }, where)];
  if (multipleOf !== undefined) {
    errors.push(...rangeErrors(schema, { value: multipleOf, what: "MultipleOf" }, where));
    if (multipleOf <= 0) {
      const why = `factor MultipleOf declared for ${where.name} must be positive: ${goNumber(multipleOf)}`;
      errors.push(invalid(pathOf(where), multipleOf, why));
    } else if (!isWhole(value / multipleOf)) errors.push(said(`a multiple of ${goNumber(multipleOf)}`));
  }
  if (minimum !== undefined) {
    errors.push(...rangeErrors(schema, { value: minimum, what: "Minimum boundary" }, where));
    if (exclusiveMinimum && value <= minimum) errors.push(said(`greater than ${goNumber(minimum)}`));
    else if (value < minimum) errors.push(said(`greater than or equal to ${goNumber(minimum)}`));
  }
  if (maximum !== undefined) {
    errors.push(...rangeErrors(schema, { value: maximum, what: "Maximum boundary" }, where));
    if (exclusiveMaximum && value >= maximum) errors.push(said(`less than ${goNumber(maximum)}`));
    else if (value > maximum) errors.push(said(`less than or equal to ${goNumber(maximum)}`));
  }
  return errors;
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
    const limit = format === "int32" ? 2 ** 31 : 2 ** 63;
    return Number.isInteger(value) && value < limit && value >= -limit;
  }
  return format !== "float" || Math.abs(value) <= 3.4028234663852886e38;
}

/** Whole but for what division of binary fractions leaves over. Source: go-openapi swag IsFloat64AJSONInteger. */
function isWhole(value: number): boolean {
  if (Number.isInteger(value)) return true;
  const whole = Math.round(value);
  return Math.abs(value - whole) / Math.abs(value + whole) < 1e-9;
}

/** A number as Go prints it with `%v`: exponents have two digits at least, and begin below 0.0001. */
function goNumber(value: number): string {
  const size = Math.abs(value);
  const text = size !== 0 && size < 1e-4 ? value.toExponential() : String(value);
  return text.replace(/e([+-])(\d)$/, "e$10$2");
}
