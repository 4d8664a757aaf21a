import { endsStep, type Pace } from "../../apimachinery/step-budget.ts";
import type { Steps } from "../../apimachinery/steps.ts";
import { typeDescriptions } from "../schemas/published.ts";
import { reference, type Json, type KindName, type OpenApiFlavour } from "../openapi-schemas.ts";
import type { StructuralSchema, ValidationRule } from "./structural-schema.ts";

/**
 * The schema of a custom kind as `/openapi/v3` and `/openapi/v2` publish it, in steps: as written, with apiVersion, kind and metadata of the
 * object and of embedded resources filled in. Version 2 omits what it cannot express and what kubectl would treat as a closed list
 * of fields. Source: apiextensions-apiserver pkg/controller/openapi.
 */
export function* publishedSchema(
  schema: StructuralSchema,
  kind: KindName,
  { version }: { readonly version: OpenApiFlavour },
): Steps<Json> {
  const pace: Pace = { places: 0 };
  const { group, version: kindVersion } = kind;
  const names = { "x-kubernetes-group-version-kind": [{ group, version: kindVersion, kind: kind.kind }] };
  if (version === "v2" && schema.preserveUnknownFields) return { type: "object", ...names };
  const body = yield* version === "v2" ? schemaJsonV2(schema, pace) : schemaJsonV3(schema, pace);
  return { ...withTypeFields(body, version), ...names };
}

const objectMetaName = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/** Adds the fields of each resource, over those that the schema declares. */
function withTypeFields(body: Json, version: OpenApiFlavour): Json {
  const metadata = reference(objectMetaName, version);
  const { apiVersion, kind, metadata: description } = typeDescriptions();
  return {
    ...body,
    properties: {
      ...(body["properties"] as Json | undefined),
      apiVersion: { type: "string", description: apiVersion },
      kind: { type: "string", description: kind },
      // Version 3 ignores everything beside a reference, so the reference moves into allOf.
      metadata: version === "v3" ? { description, allOf: [metadata] } : { description, ...metadata },
    },
  };
}

function withEmbedded(schema: StructuralSchema, body: Json, version: OpenApiFlavour): Json {
  if (!schema.embeddedResource) return body;
  const missing = ["kind", "apiVersion"].filter((name) => !schema.required.includes(name));
  return { ...withTypeFields(body, version), required: [...schema.required, ...missing] };
}

function* schemaJsonV3(schema: StructuralSchema, pace: Pace): Steps<Json> {
  if (endsStep(pace)) yield;
  const { items, additionalProperties, properties } = schema;
  const body = {
    ...generics(schema),
    ...present({ type: schema.type, nullable: schema.nullable || undefined }),
    ...valueRules(yield* intOrStringUnfolded(schema, pace)),
    ...present({
      items: items === undefined ? undefined : yield* schemaJsonV3(items, pace),
      properties: yield* propertiesJson(properties, schemaJsonV3, pace),
      additionalProperties:
        typeof additionalProperties === "object"
          ? yield* schemaJsonV3(additionalProperties, pace)
          : additionalProperties,
    }),
    ...extensions(schema),
  };
  return withEmbedded(schema, body, "v3");
}

/** What version 2 can express, such that kubectl reports no field as unknown. */
function* schemaJsonV2(schema: StructuralSchema, pace: Pace): Steps<Json> {
  if (endsStep(pace)) yield;
  const { preserveUnknownFields, additionalProperties } = schema;
  const isOpen = schema.nullable || preserveUnknownFields;
  const items = isOpen ? undefined : schema.items;
  const required = requiredV2(schema, isOpen);
  const body = {
    ...generics(schema),
    ...present({ type: typeV2(schema, items) }),
    ...valueRules({ ...schema, required, allOf: [], anyOf: [], oneOf: [], not: undefined }),
    ...present({
      items: items && (yield* schemaJsonV2(items, pace)),
      properties: isOpen ? undefined : yield* propertiesJson(schema.properties, schemaJsonV2, pace),
      additionalProperties:
        typeof additionalProperties === "object"
          ? yield* schemaJsonV2(additionalProperties, pace)
          : additionalProperties,
    }),
    ...extensions(schema),
  };
  return preserveUnknownFields ? body : withEmbedded({ ...schema, required }, body, "v2");
}

function typeV2({ type, nullable, preserveUnknownFields }: StructuralSchema, items: unknown): string | undefined {
  const isUntyped = nullable || (type === "array" && items === undefined);
  return isUntyped || (preserveUnknownFields && type === "object") ? undefined : type;
}

function requiredV2(schema: StructuralSchema, isOpen: boolean): readonly string[] {
  const { additionalProperties, properties } = schema;
  if (typeof additionalProperties === "object" && additionalProperties.nullable) return [];
  return schema.required.filter((name) => isOpen || properties.get(name)?.nullable !== true);
}

function* propertiesJson(
  properties: ReadonlyMap<string, StructuralSchema>,
  json: (schema: StructuralSchema, pace: Pace) => Steps<Json>,
  pace: Pace,
): Steps<Json | undefined> {
  if (properties.size === 0) return undefined;
  const results: [string, Json][] = [];
  for (const [name, property] of properties) results.push([name, yield* json(property, pace)]);
  return Object.fromEntries(results);
}

/** The types of `x-kubernetes-int-or-string`, for clients that do not know it. */
function* intOrStringUnfolded(schema: StructuralSchema, pace: Pace): Steps<Rules> {
  const either = { anyOf: [{ type: "integer" }, { type: "string" }] };
  const declaresBoth = [schema.anyOf, schema.allOf[0]?.anyOf ?? []].some(
    (one) => one.length === 2 && one[0]?.type === "integer" && one[1]?.type === "string",
  );
  const rules = yield* rulesOf(schema, pace);
  if (!schema.intOrString || declaresBoth) return rules;
  return schema.anyOf.length === 0 ? { ...rules, ...either } : { ...rules, allOf: [either, ...rules.allOf] };
}

/** A schema whose alternatives are JSON already. */
interface Rules extends Omit<StructuralSchema, "allOf" | "anyOf" | "oneOf" | "not"> {
  readonly allOf: readonly Json[];
  readonly anyOf: readonly Json[];
  readonly oneOf: readonly Json[];
  readonly not: Json | undefined;
}

function* rulesOf(schema: StructuralSchema, pace: Pace): Steps<Rules> {
  return {
    ...schema,
    allOf: yield* alternativesJson(schema.allOf, pace),
    anyOf: yield* alternativesJson(schema.anyOf, pace),
    oneOf: yield* alternativesJson(schema.oneOf, pace),
    not: schema.not === undefined ? undefined : yield* schemaJsonV3(schema.not, pace),
  };
}

function* alternativesJson(schemas: readonly StructuralSchema[], pace: Pace): Steps<readonly Json[]> {
  const results: Json[] = [];
  for (const schema of schemas) results.push(yield* schemaJsonV3(schema, pace));
  return results;
}

function generics({ description, title, default: value, example, externalDocs }: StructuralSchema): Json {
  return present({ description, title, default: value, example, externalDocs });
}

function valueRules(rules: Rules): Json {
  return present({
    format: rules.format,
    enum: filled(rules.enum),
    minimum: rules.minimum,
    exclusiveMinimum: rules.exclusiveMinimum || undefined,
    maximum: rules.maximum,
    exclusiveMaximum: rules.exclusiveMaximum || undefined,
    multipleOf: rules.multipleOf,
    minLength: rules.minLength,
    maxLength: rules.maxLength,
    pattern: rules.pattern?.source,
    minItems: rules.minItems,
    maxItems: rules.maxItems,
    minProperties: rules.minProperties,
    maxProperties: rules.maxProperties,
    required: filled(rules.required),
    allOf: filled(rules.allOf),
    anyOf: filled(rules.anyOf),
    oneOf: filled(rules.oneOf),
    not: rules.not,
  });
}

function extensions(schema: StructuralSchema): Json {
  return present({
    "x-kubernetes-preserve-unknown-fields": schema.preserveUnknownFields || undefined,
    "x-kubernetes-embedded-resource": schema.embeddedResource || undefined,
    "x-kubernetes-int-or-string": schema.intOrString || undefined,
    "x-kubernetes-list-map-keys": filled(schema.listMapKeys),
    "x-kubernetes-list-type": schema.listType,
    "x-kubernetes-map-type": schema.mapType,
    "x-kubernetes-validations": filled(schema.validations.map(ruleJson)),
  });
}

function ruleJson(rule: ValidationRule): Json {
  return present({ ...rule });
}

function filled<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}

/** Without the keys that have no value. */
function present(object: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}
