import { escapeName } from "../../policy/kubernetes/escape-name.ts";
import {
  boolType,
  doubleType,
  durationType,
  dynType,
  intType,
  timestampType,
  type CelField,
  type CelType,
} from "../../policy/cel/types.ts";
import type { StructuralSchema } from "./structural-schema.ts";

/** The types of the values of a schema in rules. */
export interface RuleType {
  readonly type: CelType;
  /** Minimum number of bytes of a value in JSON. */
  readonly minSize: number;
  /** The types of the properties that rules can reach. */
  readonly properties: ReadonlyMap<string, RuleType>;
  /** The type of the elements of a list, or of the values of a map. */
  readonly inside: RuleType | undefined;
}

/** Maximum size of a request in bytes. Source: apiserver apis/cel MaxRequestSizeBytes. */
export const maxRequest: number = 3 * 1024 * 1024;

const maxText = maxRequest - 2;
/** Names are DNS subdomains; generated ones have at least one generated character. */
const maxName = 253;
const noProperties: ReadonlyMap<string, RuleType> = new Map();

/** The schema, its path, and whether it is that of a resource (the root, or an embedded one). */
export interface RuleTypePlace {
  /** The name of the type in messages. */
  readonly name: string;
  readonly isResource: boolean;
}

/**
 * The type in rules of the values of a schema, or undefined where rules cannot read them because the type is unknown. Unknown
 * fields that are preserved are not visible. Source: apiserver cel/common SchemaDeclType, apiextensions-apiserver schema/cel/model.
 */
export function ruleType(schema: StructuralSchema, place: RuleTypePlace): RuleType | undefined {
  if (schema.intOrString) return leaf(dynType, 1);
  switch (schema.type) {
    case "array":
      return listRuleType(schema, place);
    case "object":
      return objectRuleType(schema, place);
    case "string":
      return textRuleType(schema);
    case "boolean":
      return leaf(boolType, 4);
    case "number":
      return leaf(doubleType, 1);
    case "integer":
      return leaf(intType, 1);
    case undefined:
      return place.isResource ? objectRuleType(schema, place) : undefined;
  }
}

function leaf(type: CelType, minSize: number): RuleType {
  return { type, minSize, properties: noProperties, inside: undefined };
}

function listRuleType(
  { items, maxItems, listType, listMapKeys }: StructuralSchema,
  { name }: RuleTypePlace,
): RuleType | undefined {
  const inside = items === undefined ? undefined : below(items, `${name}.@idx`);
  if (inside === undefined) return undefined;
  const maxSize = bounded(maxItems) ?? Math.floor(maxText / (inside.minSize + 1));
  const identity = listType === "set" ? listType : listType === "map" ? listMapKeys : undefined;
  const type: CelType = {
    kind: "list",
    element: inside.type,
    maxSize,
    ...(identity === undefined ? {} : { identity }),
  };
  return { type, minSize: 2, properties: noProperties, inside };
}

function objectRuleType(schema: StructuralSchema, place: RuleTypePlace): RuleType | undefined {
  const { additionalProperties, maxProperties } = schema;
  if (typeof additionalProperties !== "object") return fieldsRuleType(schema, place);
  const inside = below(additionalProperties, `${place.name}.@elem`);
  if (inside === undefined) return undefined;
  const maxSize = bounded(maxProperties) ?? Math.floor(maxText / (inside.minSize + 6));
  // Kubernetes assumes keys of no length.
  const type: CelType = { kind: "map", key: { kind: "string", maxSize: 0 }, value: inside.type, maxSize };
  return { type, minSize: 2, properties: noProperties, inside };
}

function fieldsRuleType(schema: StructuralSchema, { name, isResource }: RuleTypePlace): RuleType {
  const properties = new Map<string, RuleType>();
  for (const [property, child] of schema.properties) {
    const found = below(child, `${name}.${property}`);
    if (found !== undefined) properties.set(property, found);
  }
  if (isResource && !declaresMeta(schema)) {
    for (const [property, type] of metaRuleTypes(schema, name)) properties.set(property, type);
  }
  let minSize = 2;
  for (const [property, { minSize: size }] of properties) {
    const isGiven = schema.required.includes(property) && schema.properties.get(property)?.default === undefined;
    if (isGiven) minSize += property.length + size + 4;
  }
  return { type: { kind: "object", name, fields: fieldsOf(properties) }, minSize, properties, inside: undefined };
}

function fieldsOf(properties: ReadonlyMap<string, RuleType>): ReadonlyMap<string, CelField> {
  const fields = new Map<string, CelField>();
  for (const [property, { type }] of properties) {
    const escaped = escapeName(property);
    if (escaped !== undefined) fields.set(escaped, { type, ...(escaped === property ? {} : { key: property }) });
    // A reserved word of CEL is also readable unescaped after a dot.
    if (escaped === `__${property}__`) fields.set(property, { type });
  }
  return fields;
}

function below(schema: StructuralSchema, name: string): RuleType | undefined {
  return ruleType(schema, { name, isResource: schema.embeddedResource });
}

function declaresMeta({ properties }: StructuralSchema): boolean {
  const metadata = properties.get("metadata");
  return (
    properties.get("kind")?.type === "string" &&
    properties.get("apiVersion")?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties.get("name")?.type === "string" &&
    metadata.properties.get("generateName")?.type === "string"
  );
}

/** The fields of a resource that rules always see: type and name, and no other metadata. */
function metaRuleTypes(schema: StructuralSchema, name: string): ReadonlyMap<string, RuleType> {
  const declared = schema.properties.get("metadata")?.properties;
  const text = leaf({ kind: "string", maxSize: maxText }, 2);
  const nameType = (property: string, limit: number): RuleType => {
    const maxLength = Math.min(declared?.get(property)?.maxLength ?? limit, limit);
    return leaf({ kind: "string", maxSize: maxLength * 4 }, 2);
  };
  const names = new Map([
    ["name", nameType("name", maxName)],
    ["generateName", nameType("generateName", maxName - 1)],
  ]);
  const fields = new Map(Array.from(names, ([key, { type }]) => [key, { type }]));
  const metadata: RuleType = {
    type: { kind: "object", name: `${name}.metadata`, fields },
    minSize: 2,
    properties: names,
    inside: undefined,
  };
  return new Map([
    ["apiVersion", text],
    ["kind", text],
    ["metadata", metadata],
  ]);
}

function textRuleType(schema: StructuralSchema): RuleType {
  const maxLength = bounded(schema.maxLength);
  switch (schema.format) {
    case "byte":
      return leaf({ kind: "bytes", maxSize: maxLength ?? maxText }, 2);
    case "duration":
      return leaf(durationType, 3);
    case "date":
      return leaf(timestampType, 12);
    case "date-time":
      return leaf(timestampType, 21);
    default: {
      // Lengths are declared in code points, and costs use bytes.
      const maxSize = maxLength === undefined ? longestOf(schema.enum) : maxLength * 4;
      return leaf({ kind: "string", maxSize }, 2);
    }
  }
}

function longestOf(values: readonly unknown[]): number {
  if (values.length === 0) return maxText;
  return Math.max(0, ...values.map((value) => (typeof value === "string" ? Buffer.byteLength(value) : 0)));
}

function bounded(size: number | undefined): number | undefined {
  return size === undefined ? undefined : Math.max(0, size);
}
