/**
 * The shape of API data. One value serves decoding (types, unknown fields), OpenAPI, `kubectl explain`, strategic merge
 * and, where `number` is set, the protobuf wire. Kinds of Kubernetes are read from its published schemas, our
 * own are literals, and a CustomResourceDefinition becomes the same value.
 */
export type Schema =
  | StringSchema
  | IntegerSchema
  | NumberSchema
  | BooleanSchema
  | ArraySchema
  | MapSchema
  | ObjectSchema
  | AnySchema;

interface Described {
  readonly description?: string;
}

/** `byte` is base64 in JSON and bytes in protobuf; the two times are messages in protobuf, as are `quantity` and `int-or-string`. */
export interface StringSchema extends Described {
  readonly type: "string";
  readonly format?: "byte" | "date-time" | "micro-time" | "quantity" | "int-or-string" | "duration";
  readonly enum?: readonly string[];
  /** In code points. */
  readonly maxLength?: number;
  /** Published for a byte slice of Go, which is a string in JSON; it has no effect here. */
  readonly listType?: "atomic";
}

export interface IntegerSchema extends Described {
  readonly type: "integer";
  readonly format: "int32" | "int64";
  readonly minimum?: number;
  readonly maximum?: number;
}

export interface NumberSchema extends Described {
  readonly type: "number";
}

export interface BooleanSchema extends Described {
  readonly type: "boolean";
}

export interface ArraySchema extends Described {
  readonly type: "array";
  readonly items: Schema;
  readonly maxItems?: number;
  /** How server-side apply merges: as a whole, element by element, or by `listMapKeys`. Without one the patch strategy decides, else as a whole. */
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  /** Strategic merge: `merge` merges by `mergeKey` (objects) or as a set (scalars); absent means replace. */
  readonly patchStrategy?: "merge" | "replace" | "merge,retainKeys" | "retainKeys";
  readonly patchMergeKey?: string;
  /** In protobuf the array is a message of its own with `items = 1` (authentication's ExtraValue). */
  readonly wrapped?: boolean;
}

/** String keys to values of one schema. */
export interface MapSchema extends Described {
  readonly type: "map";
  readonly values: Schema;
  /** Server-side apply treats an atomic map as one value; granular by default. */
  readonly mapType?: "atomic" | "granular";
}

export interface ObjectSchema extends Described {
  readonly type: "object";
  /** The OpenAPI definition name, e.g. `io.k8s.api.core.v1.PodSpec`; without one the schema is written inline. */
  readonly name?: string;
  readonly properties: Readonly<Record<string, Field>>;
  /** Fields beyond `properties` are kept (x-kubernetes-preserve-unknown-fields); false by default. */
  readonly open?: boolean;
  /** Server-side apply treats an atomic object as one value; granular by default. */
  readonly mapType?: "atomic" | "granular";
}

/** Any value, unchanged (RawExtension, FieldsV1, x-kubernetes-preserve-unknown-fields); in protobuf a message with `raw = 1`, JSON bytes. */
export interface AnySchema extends Described {
  readonly type: "any";
  /** The OpenAPI definition name; without one the schema is written inline. */
  readonly name?: string;
  /** Whether its published schema has the type object. */
  readonly object?: boolean;
  /** In protobuf a message with a field for each form of the JSON, where that is not raw JSON (JSONSchemaPropsOrBool). */
  readonly forms?: readonly AnyForm[];
}

/** One form of a value with several. For an array, `schema` is that of its elements. A boolean beside an object is true. */
export interface AnyForm {
  readonly json: "object" | "array" | "boolean";
  readonly number: number;
  readonly schema: Schema;
}

/** One property of an object. */
export interface Field {
  readonly schema: Schema;
  /** The protobuf field number; absent where a kind has no protobuf. */
  readonly number?: number;
  readonly required?: boolean;
  /** JSON omits the zero value (Go's omitempty); by default where the field is not required. */
  readonly omitEmpty?: boolean;
  /** Absence differs from the zero value (a Go pointer): in protobuf it is written only when present, and a zero that the client sent is kept. */
  readonly pointer?: boolean;
  readonly description?: string;
  /**
   * The default that is published, or of a CustomResourceDefinition. Decoding does not set it; it replaces a key that an
   * element of a list by keys omits (the `protocol` of a port).
   */
  readonly default?: unknown;
  /** In JSON the properties of this object are in its parent (Go inlining), in protobuf it is a message of its own. The key is then only a label. */
  readonly inline?: boolean;
}

/**
 * The schema of the property `key` in the JSON of an object, those of inlined objects included;
 * undefined when the object has no such property.
 */
export function propertySchema(schema: ObjectSchema, key: string): Schema | undefined {
  return propertyField(schema, key)?.schema;
}

/** As `propertySchema`, but the whole property. */
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

/** The schema of the value of `key` in a JSON object: a property, or a value of a map; undefined when it is unknown. */
export function memberSchema(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === "map") return schema.values;
  return schema?.type === "object" ? propertySchema(schema, key) : undefined;
}

/** Whether JSON has the field of a Go struct even when it is zero. */
export function writesZero({ required, omitEmpty }: Field): boolean {
  return omitEmpty === undefined ? required === true : !omitEmpty;
}
