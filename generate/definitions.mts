import { readGoPackage, type GoField, type GoPackage } from "./go-structs.mts";
import type { EnumText, Enums } from "./openapi-enums.mts";
import type { Inputs, OpenApi } from "./inputs.mts";
import type { ArraySchema, Field, MapSchema, StringSchema } from "../src/apimachinery/schema.ts";
import type {
  PublishedDefinition,
  PublishedField,
  PublishedForm,
  PublishedSchema,
} from "../src/apis/schemas/published.ts";

/** The published definitions have a form that this program does not know: the release differs from those before. */
export class DefinitionError extends Error {
  readonly code = "definition";
}

/** Strings of Kubernetes that are definitions of their own in OpenAPI, and the formats by which a schema knows them. */
const scalars: Readonly<Record<string, NonNullable<StringSchema["format"]>>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "date-time",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
};

/** A definition whose fields are the forms of one value. OpenAPI says nothing of them. */
const forms: Readonly<Record<string, readonly PublishedForm[]>> = {
  JSONSchemaPropsOrArray: [
    { json: "object", number: 1, schema: { ref: ".JSONSchemaProps" } },
    { json: "array", number: 2, schema: { ref: ".JSONSchemaProps" } },
  ],
  JSONSchemaPropsOrBool: [
    { json: "boolean", number: 1, schema: { type: "boolean" } },
    { json: "object", number: 2, schema: { ref: ".JSONSchemaProps" } },
  ],
  JSONSchemaPropsOrStringArray: [
    { json: "object", number: 1, schema: { ref: ".JSONSchemaProps" } },
    { json: "array", number: 2, schema: { type: "string" } },
  ],
};

interface Walk {
  readonly inputs: Inputs;
  readonly packageOf: (definition: string) => GoPackage;
  readonly refer: (definition: string) => void;
}

/** A part of a definition: properties of OpenAPI beside the Go struct that they stand in. */
interface Part {
  readonly name: string;
  readonly of: string;
  readonly openApi: OpenApi;
  readonly fields: readonly GoField[];
}

type NamedDefinition = readonly [string, PublishedDefinition];

/** Each definition that the roots reach, in the order of their names. @throws DefinitionError */
export function publishedDefinitions(roots: readonly string[], inputs: Inputs): readonly NamedDefinition[] {
  const packages = new Map<string, GoPackage>();
  const pending = [...roots];
  const found = new Map<string, PublishedDefinition>();
  const walk: Walk = {
    inputs,
    packageOf: (definition) => {
      const folder = inputs.folderOf(definition);
      const known = packages.get(folder) ?? readGoPackage(folder);
      packages.set(folder, known);
      return known;
    },
    refer: (definition) => {
      pending.push(definition);
    },
  };
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name)) continue;
    const openApi = inputs.definitions.get(name);
    if (openApi === undefined) throw new DefinitionError(`${name} is not published`);
    for (const [part, one] of definitionsOf(name, openApi, walk)) if (!found.has(part)) found.set(part, one);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
}

function definitionsOf(name: string, openApi: OpenApi, walk: Walk): readonly NamedDefinition[] {
  const type = typeName(name);
  const known = forms[type];
  if (known !== undefined) {
    walk.refer(`${packageName(name)}.JSONSchemaProps`);
    return [[name, { type: "any", ...described(openApi.description), forms: known }]];
  }
  const fields = walk.packageOf(name).get(type);
  const isScalar = scalars[name] !== undefined;
  if (isScalar || fields === undefined || openApi.properties === undefined) {
    if (
      fields?.some(({ json, number }) => json !== undefined && number !== undefined) &&
      openApi.properties !== undefined
    ) {
      throw new DefinitionError(`${name} has fields that are not published`);
    }
    return [[name, { ...plainDefinition(name, openApi), ...described(openApi.description) }]];
  }
  return partDefinitions({ name, of: name, openApi, fields }, walk);
}

/** What an object without properties is: an empty struct, or any JSON. */
function plainDefinition(name: string, openApi: OpenApi): PublishedDefinition {
  const format = scalars[name];
  if (format !== undefined) return { type: "string", format };
  if (/\.(?:FieldsV1|RawExtension|Patch)$/.test(name)) return { type: "any", object: true };
  return openApi.type === "object" ? { type: "object", ...mapTypeOf(openApi), properties: {} } : { type: "any" };
}

/** The definition of a struct, and those of the structs that stand in it in JSON and are messages of their own in protobuf. */
function partDefinitions(part: Part, walk: Walk): readonly NamedDefinition[] {
  const { name, of, openApi } = part;
  const properties = openApi.properties ?? {};
  const fields: (readonly [string, PublishedField])[] = [];
  const inner: NamedDefinition[] = [];
  const names: string[] = [];
  for (const { field, inlined } of members(part.fields, walk, name)) {
    if (inlined !== undefined) {
      const keys = jsonNames(inlined, walk);
      const own = walk.inputs.definitions.get(inlined.name);
      if (own === undefined) inner.push(...partDefinitions({ ...inlined, of, openApi: pick(openApi, keys) }, walk));
      else walk.refer(inlined.name);
      const label = typeName(inlined.name);
      const key = `${label.slice(0, 1).toLowerCase()}${label.slice(1)}`;
      fields.push([key, { schema: { ref: shortened(inlined.name, name) }, ...numberOf(field), inline: true }]);
      names.push(...keys);
      continue;
    }
    const key = field.json ?? "";
    const property = properties[key];
    if (property === undefined) throw new DefinitionError(`${name} has a field ${key} that is not published`);
    names.push(key);
    fields.push([key, publishedField(key, field, property, { part, walk })]);
  }
  const missing = of === name ? Object.keys(properties).filter((key) => !names.includes(key)) : [];
  if (missing.length > 0) throw new DefinitionError(`${name}: no Go field for ${missing.join(", ")}`);
  const sorted = fields.sort(([x, { number: a = -1 }], [y, { number: b = -1 }]) => a - b || (x < y ? -1 : 1));
  const definition = {
    type: "object",
    ...described(of === name ? openApi.description : undefined),
    ...mapTypeOf(openApi),
    properties: Object.fromEntries(sorted),
  } as const;
  return [[name, definition], ...inner];
}

interface Member {
  readonly field: GoField;
  /** The struct that stands inline. */
  readonly inlined?: Omit<Part, "of" | "openApi">;
}

const typeMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta";

/** The fields of a struct, and the structs that stand in it. */
function members(fields: readonly GoField[], walk: Walk, name: string): readonly Member[] {
  return fields.flatMap((field): readonly Member[] => {
    if (field.json !== undefined) return [{ field }];
    const inlined = field.type.endsWith("TypeMeta") ? typeMeta : `${packageName(name)}.${field.type}`;
    const inner = walk.packageOf(inlined).get(typeName(inlined));
    if (inner === undefined) throw new DefinitionError(`${name} has ${field.type} inline, which is not found`);
    return [{ field, inlined: { name: inlined, fields: inner } }];
  });
}

/** The keys in JSON of all fields, those of inlined structs among them. */
function jsonNames(part: Omit<Part, "of" | "openApi">, walk: Walk): readonly string[] {
  return members(part.fields, walk, part.name).flatMap(({ field, inlined }) =>
    inlined === undefined ? [field.json ?? ""] : jsonNames(inlined, walk),
  );
}

function pick(openApi: OpenApi, names: readonly string[]): OpenApi {
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(openApi.properties ?? {}).filter(([key]) => names.includes(key))),
    required: (openApi.required ?? []).filter((key) => names.includes(key)),
  };
}

function publishedField(
  key: string,
  field: GoField,
  property: OpenApi,
  { part, walk }: { part: Part; walk: Walk },
): PublishedField {
  const text = enumOf(walk.inputs.enums, part.of, key);
  return {
    schema: {
      ...withEnum(schemaOf(property, field, part.name, walk), text?.values),
      ...merging(property),
    } as PublishedSchema,
    ...numberOf(field),
    ...presence(field, part.openApi.required?.includes(key) === true),
    ...(field.pointer ? { pointer: true } : {}),
    ...described(text?.description ?? property.description),
    ...(property.default === undefined ? {} : { default: property.default }),
  };
}

function numberOf({ number }: GoField): Pick<Field, "number"> {
  return number === undefined ? {} : { number };
}

function described(description: string | undefined): Pick<Field, "description"> {
  return description === undefined || description === "" ? {} : { description };
}

/** Whether the field is required, and where Go's omitempty says otherwise than that, what it says. */
function presence(field: GoField, required: boolean): Pick<Field, "required" | "omitEmpty"> {
  const differs = field.number !== undefined && !field.pointer && field.omitEmpty === required;
  return { ...(required ? { required } : {}), ...(differs ? { omitEmpty: field.omitEmpty } : {}) };
}

/** The values that a string may have, or each element of a list. */
function withEnum(schema: PublishedSchema, values: readonly string[] | undefined): PublishedSchema {
  if (values === undefined || "ref" in schema) return schema;
  if (schema.type === "string") return { ...schema, enum: values };
  return schema.type === "array" ? { ...schema, items: withEnum(schema.items, values) } : schema;
}

function enumOf(enums: Enums, definition: string, key: string): EnumText | undefined {
  return enums.get(definition)?.get(key);
}

function schemaOf(property: OpenApi, field: GoField, name: string, walk: Walk): PublishedSchema {
  const reference = property.$ref ?? property.allOf?.[0]?.$ref;
  if (reference !== undefined) {
    const target = reference.slice(reference.lastIndexOf("/") + 1);
    walk.refer(target);
    const format = scalars[target];
    return format === undefined ? { ref: shortened(target, name) } : { type: "string", format };
  }
  const inside = (inner: OpenApi | undefined, goType: string): PublishedSchema =>
    schemaOf(inner ?? {}, { ...field, type: goType, repeated: false }, name, walk);
  switch (property.type) {
    case "boolean":
      return { type: "boolean" };
    case "integer":
      return { type: "integer", format: property.format === "int32" ? "int32" : "int64" };
    case "number":
      return { type: "number" };
    case "string":
      return property.format === "byte" ? { type: "string", format: "byte" } : { type: "string" };
    case "array": {
      const items = inside(property.items, field.type.replace(/^\[\]\*?/, ""));
      // A named type of a list is a message of its own in protobuf.
      return { type: "array", items, ...(field.repeated || field.type.startsWith("[]") ? {} : { wrapped: true }) };
    }
    case "object":
      return { type: "map", values: inside(property.additionalProperties, field.type.replace(/^map\[\w+\]/, "")) };
    default:
      throw new DefinitionError(`${name} has a field of an unknown type: ${JSON.stringify(property)}`);
  }
}

const listTypes = ["atomic", "set", "map"] as const;
const listStrategies = ["merge", "replace", "retainKeys", "merge,retainKeys"] as const;

/** How lists and maps are merged. Of an object the definition says it, not the field. */
function merging(
  property: OpenApi,
): Omit<Partial<ArraySchema>, "type" | "items"> & Partial<Pick<MapSchema, "mapType">> {
  const { "x-kubernetes-list-map-keys": listMapKeys, "x-kubernetes-patch-merge-key": patchMergeKey } = property;
  const listType = oneOf(listTypes, property["x-kubernetes-list-type"]);
  const patchStrategy = oneOf(listStrategies, property["x-kubernetes-patch-strategy"]);
  if (patchStrategy !== undefined && property.type !== "array") {
    throw new DefinitionError(`the patch strategy ${patchStrategy} is known for lists alone`);
  }
  return {
    ...(listType === undefined ? {} : { listType }),
    ...(listMapKeys === undefined ? {} : { listMapKeys }),
    ...(patchStrategy === undefined ? {} : { patchStrategy }),
    ...(patchStrategy === undefined || patchMergeKey === undefined ? {} : { patchMergeKey }),
    ...(property.type === "object" ? mapTypeOf(property) : {}),
  };
}

function mapTypeOf(openApi: OpenApi): Pick<MapSchema, "mapType"> {
  const mapType = oneOf(["atomic", "granular"] as const, openApi["x-kubernetes-map-type"]);
  return mapType === undefined ? {} : { mapType };
}

function oneOf<T extends string>(known: readonly T[], value: string | undefined): T | undefined {
  const found = known.find((one) => one === value);
  if (value !== undefined && found === undefined) throw new DefinitionError(`unknown: ${value}`);
  return found;
}

function packageName(definition: string): string {
  return definition.slice(0, definition.lastIndexOf("."));
}

function typeName(definition: string): string {
  return definition.slice(definition.lastIndexOf(".") + 1);
}

/** A name of the same package begins with its dot. */
function shortened(definition: string, from: string): string {
  return packageName(definition) === packageName(from) ? `.${typeName(definition)}` : definition;
}
