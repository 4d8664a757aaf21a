import type { AnySchema, Field, ObjectSchema, Schema, StringSchema } from "../apimachinery/schema.ts";
import type { Steps } from "../apimachinery/steps.ts";
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  timestampType,
  type CelField,
  type CelType,
} from "../policy/cel/types.ts";
import { escapeName } from "../policy/kubernetes/escape-name.ts";
import type { Resource } from "./resource.ts";
import { publishedMeta } from "./schemas/published.ts";

type Fields = ReadonlyMap<string, CelField>;

/**
 * How the type checker of policies sees objects of a kind; undefined where nothing is known of them. Messages call the type by the name
 * of the kind. Source: apiserver pkg/cel/common SchemaDeclType over the published OpenAPI, references resolved by
 * pkg/cel/openapi/resolver.
 */
export function* objectTypeOf(resource: Resource): Steps<CelType | undefined> {
  const { kind, custom, schema } = resource;
  const meta = metaFields(kind);
  if (custom === undefined)
    return { kind: "object", name: kind, fields: new Map([...meta, ...fieldsOf(schema, kind, [schema])]) };
  const type = yield* custom.celType();
  // What each object has wins over what the schema says of it.
  return type?.kind === "object" ? { ...type, name: kind, fields: new Map([...type.fields, ...meta]) } : type;
}

function metaFields(name: string): Fields {
  const schema = publishedMeta("ObjectMeta");
  const type = objectIn(schema, `${name}.metadata`, []);
  return new Map([
    ["apiVersion", { type: stringType }],
    ["kind", { type: stringType }],
    ["metadata", { type }],
  ]);
}

/** `above` are the objects in which this one lies. */
function typeOf(schema: Schema, name: string, above: readonly Schema[]): CelType | undefined {
  switch (schema.type) {
    case "string":
      return textType(schema);
    case "integer":
      return intType;
    case "number":
      return doubleType;
    case "boolean":
      return boolType;
    case "array": {
      const element = typeOf(schema.items, `${name}.@idx`, above);
      return element === undefined ? undefined : listType(element);
    }
    case "map": {
      const value = typeOf(schema.values, `${name}.@elem`, above);
      return value === undefined ? undefined : mapType(stringType, value);
    }
    case "object":
      return objectIn(schema, name, above);
    case "any":
      return anyType(schema, name);
  }
}

/** A quantity is published without a type, which leaves it out. */
function textType({ format }: StringSchema): CelType | undefined {
  switch (format) {
    case "byte":
      return bytesType;
    case "date-time":
    case "micro-time":
      return timestampType;
    case "duration":
      return durationType;
    case "int-or-string":
      return dynType;
    case "quantity":
      return undefined;
    default:
      return stringType;
  }
}

/** Of what is published as an object without fields, no field is known. */
function anyType({ object }: AnySchema, name: string): CelType | undefined {
  return object === true ? { kind: "object", name, fields: new Map() } : undefined;
}

/** Nothing is known of an object inside itself. */
function objectIn(schema: ObjectSchema, name: string, above: readonly Schema[]): CelType {
  const fields = above.includes(schema) ? new Map<string, CelField>() : fieldsOf(schema, name, [...above, schema]);
  return { kind: "object", name, fields };
}

function fieldsOf({ properties }: ObjectSchema, name: string, above: readonly Schema[]): Fields {
  const found = new Map<string, CelField>();
  for (const [property, field] of Object.entries(properties)) {
    if (field.inline === true) {
      if (field.schema.type === "object") for (const one of fieldsOf(field.schema, name, above)) found.set(...one);
      continue;
    }
    if (!isTyped(field.schema)) continue;
    const made = lazyField(field, `${name}.${property}`, above);
    const escaped = escapeName(property);
    if (escaped !== undefined) found.set(escaped, made);
    // A word that CEL keeps for itself can be read as it is, too, behind a dot.
    if (escaped === `__${property}__`) found.set(property, made);
  }
  return found;
}

/** Whether values of the schema have a type at all, which does not need the types of what lies in an object. */
function isTyped(schema: Schema): boolean {
  switch (schema.type) {
    case "array":
      return isTyped(schema.items);
    case "map":
      return isTyped(schema.values);
    case "object":
      return true;
    default:
      return typeOf(schema, "", []) !== undefined;
  }
}

/** The type is made when an expression reads the field: a Pod has thousands, and policies speak of few. */
function lazyField({ schema }: Field, name: string, above: readonly Schema[]): CelField {
  let made: CelType | undefined;
  return {
    get type() {
      return (made ??= typeOf(schema, name, above) ?? dynType);
    },
  };
}
