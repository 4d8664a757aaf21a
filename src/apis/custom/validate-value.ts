import type { FieldError } from "../../apimachinery/field-error.ts";
import { ownValue, type JsonObject } from "../../apimachinery/json-value.ts";
import { finish, type Steps } from "../../apimachinery/steps.ts";
import { embeddedErrors } from "./embedded-errors.ts";
import { listErrors } from "./list-errors.ts";
import type { StructuralSchema } from "./structural-schema.ts";
import { valueSchemaErrors } from "./value-schema-errors.ts";

/** What the value is compared with and where it stands. */
export interface ValueOptions {
  /** The value that this one replaces; faults in parts that have not changed are let pass. Undefined for a new value. */
  readonly stored?: unknown;
  /** What errors begin with; empty for a whole object. */
  readonly path: string;
}

/**
 * Everything but CEL rules that is wrong with a value which is pruned and has its defaults: the schema first, then apiVersion, kind
 * and metadata of embedded resources, then repeated elements of lists that must not have any. Repeated elements pass when the
 * stored value had some already. Metadata of the object itself is left to `validateObjectMeta`.
 * Source: apiextensions-apiserver pkg/registry/customresource strategy.
 */
export function valueErrors(schema: StructuralSchema, value: unknown, options: ValueOptions): readonly FieldError[] {
  return finish(valueErrorSteps(schema, value, options));
}

/** The same in steps. */
export function* valueErrorSteps(
  schema: StructuralSchema,
  value: unknown,
  options: ValueOptions,
): Steps<readonly FieldError[]> {
  const { stored, path } = options;
  return [
    ...(yield* valueSchemaErrors(schema, value, { stored, path })),
    ...(yield* embeddedErrors(schema, value, path)),
    ...(yield* repeatErrors(schema, value, options)),
  ];
}

/**
 * What is wrong with an update of the status of a resource alone, in steps: faults elsewhere, which such an update cannot mend, pass.
 * Source: apiextensions-apiserver pkg/registry/customresource statusStrategy.
 */
export function* statusErrors(
  schema: StructuralSchema,
  object: JsonObject,
  stored: JsonObject | undefined,
): Steps<readonly FieldError[]> {
  const status = ownValue(object, "status");
  const statusSchema = schema.properties.get("status");
  const storedStatus = stored === undefined ? undefined : ownValue(stored, "status");
  return [
    ...(status === undefined || statusSchema === undefined
      ? []
      : yield* valueSchemaErrors(statusSchema, status, { stored: storedStatus, path: "status" })),
    ...(yield* repeatErrors(schema, object, { stored, path: "" })),
  ];
}

function* repeatErrors(schema: StructuralSchema, value: unknown, options: ValueOptions): Steps<readonly FieldError[]> {
  const { stored, path } = options;
  const repeats = yield* listErrors(schema, value, path);
  if (repeats.length === 0 || stored === undefined) return repeats;
  return (yield* listErrors(schema, stored, path)).length > 0 ? [] : repeats;
}
