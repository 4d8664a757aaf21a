import type { Field, ObjectSchema, Schema } from "./schema.ts";

/**
 * The schema of the property that stands under `key` in the JSON of an object, those of inlined objects included;
 * undefined when the object has no such property.
 */
export function propertySchema(schema: ObjectSchema, key: string): Schema | undefined {
  return propertyField(schema, key)?.schema;
}

/** As `propertySchema`, with what else is known of the property. */
export function propertyField(schema: ObjectSchema, key: string): Field | undefined {
  if (Object.hasOwn(schema.properties, key)) {
    const field = schema.properties[key];
    if (field !== undefined && field.inline !== true) return field;
  }
  return inlinedField(schema, key);
}

function inlinedField(schema: ObjectSchema, key: string): Field | undefined {
  for (const name in schema.properties) {
    const field = schema.properties[name];
    if (field?.inline !== true || field.schema.type !== "object") continue;
    const found = propertyField(field.schema, key);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The schema of what stands under `key` in a JSON object: a property, or a value of a map; undefined when nothing is known of it. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === "map") return schema.values;
  return schema?.type === "object" ? propertySchema(schema, key) : undefined;
}

/** Whether JSON has the field of a Go struct even when it is zero. */
export function writesZero({ required, omitEmpty }: Field): boolean {
  return omitEmpty === undefined ? required === true : !omitEmpty;
}
