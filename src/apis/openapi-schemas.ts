import type { AnySchema, ArraySchema, Field, ObjectSchema, Schema, StringSchema } from "../apimachinery/schema.ts";
import { endsStep, type Pace } from "../apimachinery/step-budget.ts";
import type { Steps } from "../apimachinery/steps.ts";
import { kindOf, type Resource } from "./resource.ts";
import { isPublished, published, publishedDescription, publishedMeta, typeDescriptions } from "./schemas/published.ts";

/** A JSON object under construction. */
export type Json = Readonly<Record<string, unknown>>;

/** Differences between version 2 and version 3 of OpenAPI in schemas. */
export type OpenApiFlavour = "v2" | "v3";

/** The kind of a schema or an operation, for clients to look up. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const patchName = `${meta}.Patch`;

/** The definition name of a kind: its schema's own, else the reversed group, version and kind, as Kubernetes names custom kinds. */
export function definitionName(resource: Resource): string {
  const own = resource.custom === undefined ? resource.schema.name : undefined;
  return own ?? definitionNameOf(resource);
}

/** The definition name of a kind that has none of its own: its group reversed, its version and its kind. */
export function definitionNameOf({ group, version, kind }: KindName): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

/** A reference to a named schema. */
export function reference(name: string, flavour: OpenApiFlavour): Json {
  return { $ref: `#/${flavour === "v2" ? "definitions" : "components/schemas"}/${name}` };
}

/** A reference to the schema of a PATCH body. */
export function patchReference(flavour: OpenApiFlavour): Json {
  return reference(patchName, flavour);
}

/**
 * All schemas that the given resources need, by name: the kinds, their lists, DeleteOptions and Status, and every message inside
 * them; in steps. Kinds carry their names in `x-kubernetes-group-version-kind`, lists their merge rules. Source: kube-openapi.
 */
export function* openApiSchemas(resources: readonly Resource[], flavour: OpenApiFlavour): Steps<Json> {
  const found = new Map<string, Json>();
  const pending: { readonly schema: Named; readonly name: string }[] = [];
  const note = (schema: Named, name: string): void => {
    if (found.has(name)) return;
    // Registered before it is built, since a schema may contain itself.
    found.set(name, {});
    pending.push({ schema, name });
  };
  const pace: Pace = { places: 0 };
  const collect = function* (schema: ObjectSchema, name: string, kinds: readonly KindName[]): Steps<void> {
    if (found.has(name)) return;
    note(schema, name);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (endsStep(pace, 1 + fieldCount(next.schema))) yield;
      const described = definitionJson(next.schema, next.name, { flavour, collect: note });
      const own = next.name === name ? kinds : [];
      found.set(next.name, own.length === 0 ? described : { ...described, "x-kubernetes-group-version-kind": own });
    }
  };
  const groups = [...new Set(["", ...resources.map(({ group }) => group)])];
  const deleteOptions = groups.map((group) => v1(group, "DeleteOptions"));
  yield* collect(publishedMeta("DeleteOptions"), `${meta}.DeleteOptions`, deleteOptions);
  yield* collect(publishedMeta("Status"), `${meta}.Status`, [v1("", "Status")]);
  for (const resource of resources) {
    const { group, version, kind, custom } = resource;
    const name = definitionName(resource);
    if (custom === undefined) {
      const { schema } = resource;
      // Reading the published schema of a Pod is a step of its own.
      yield;
      yield* collect(schema, name, [{ group, kind, version }]);
    } else {
      found.set(name, yield* custom.published(flavour));
      yield* collect(publishedMeta("ObjectMeta"), `${meta}.ObjectMeta`, []);
    }
    for (const subresource of Object.values(resource.subresources)) {
      if (subresource.connects !== undefined) continue;
      const other = kindOf(resource, subresource);
      if (other !== resource) yield* collect(other.schema, definitionName(other), [kindNameOf(other)]);
    }
    if (!resource.verbs.includes("list")) continue;
    yield* collect(listSchema(resource), `${name}List`, [{ group, kind: `${kind}List`, version }]);
  }
  found.set(patchName, { description: publishedDescription(patchName), type: "object" });
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A schema with a name of its own. */
type Named = ObjectSchema | AnySchema | StringSchema;

function fieldCount(schema: Named): number {
  return schema.type === "object" ? Object.keys(schema.properties).length : 0;
}

const emptyObject: ObjectSchema = { type: "object", properties: {} };

function kindNameOf({ group, version, kind }: Resource): KindName {
  return { group, kind, version };
}

function v1(group: string, kind: string): KindName {
  return { group, kind, version: "v1" };
}

/** The list of a kind of Kubernetes is published too; other kinds have one of the same form. */
function listSchema(resource: Resource): ObjectSchema {
  const name = definitionName(resource);
  if (isPublished(`${name}List`)) return published(`${name}List`);
  const { kind, plural } = resource;
  const { apiVersion, kind: ofKind } = typeDescriptions();
  const item: ObjectSchema = resource.custom === undefined ? { ...resource.schema, name } : { ...emptyObject, name };
  const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
  return {
    type: "object",
    description: `${kind}List is a list of ${kind}`,
    properties: {
      apiVersion: { schema: { type: "string" }, description: apiVersion },
      kind: { schema: { type: "string" }, description: ofKind },
      items: {
        schema: { type: "array", items: item },
        required: true,
        description: `List of ${plural}. More info: ${conventions}`,
      },
      metadata: {
        schema: publishedMeta("ListMeta"),
        description: `Standard list metadata. More info: ${conventions}#types-kinds`,
      },
    },
  };
}

interface Walk {
  readonly flavour: OpenApiFlavour;
  /** Registers a named schema that is referenced. */
  readonly collect: (schema: Named, name: string) => void;
}

function definitionJson(schema: Named, name: string, walk: Walk): Json {
  if (schema.type === "object") return objectJson(schema, walk);
  if (schema.type === "any")
    return { ...describe(schema.description), ...(schema.object === true ? { type: "object" } : {}) };
  return { ...describe(publishedDescription(name)), ...scalarJson(schema.format, walk.flavour) };
}

function scalarJson(format: StringSchema["format"], flavour: OpenApiFlavour): Json {
  if (format === "date-time" || format === "micro-time") return { type: "string", format: "date-time" };
  const hint = format === "int-or-string" ? { format } : {};
  if (flavour === "v2") return { type: "string", ...hint };
  return {
    ...hint,
    oneOf: [
      { type: format === "quantity" ? "string" : "integer" },
      { type: format === "quantity" ? "number" : "string" },
    ],
  };
}

function objectJson(schema: ObjectSchema, walk: Walk): Json {
  const fields = [...flattened(schema)].sort(([a], [b]) => (a < b ? -1 : 1));
  const required = fields.filter(([, field]) => field.required === true).map(([key]) => key);
  return {
    ...describe(schema.description),
    type: "object",
    ...(required.length === 0 ? {} : { required }),
    ...(fields.length === 0
      ? {}
      : { properties: Object.fromEntries(fields.map(([key, field]) => [key, fieldJson(field, walk)])) }),
    ...optionalKey("x-kubernetes-map-type", schema.mapType),
    ...(schema.open === true ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
  };
}

/** Properties with inlined objects flattened, as in JSON. */
function* flattened(schema: ObjectSchema): Generator<readonly [string, Field]> {
  for (const [key, field] of Object.entries(schema.properties)) {
    if (field.inline === true && field.schema.type === "object") yield* flattened(field.schema);
    else yield [key, field];
  }
}

function fieldJson(field: Field, walk: Walk): Json {
  const inner = schemaJson(field.schema, walk, field.number !== undefined);
  return beside(inner, { ...describe(field.description), ...defaulted(field.default, walk) }, walk);
}

/** Version 2 as Kubernetes publishes it has no defaults. */
function defaulted(value: unknown, { flavour }: Walk): Json {
  return value === undefined || flavour === "v2" ? {} : { default: value };
}

/** Version 3 ignores everything beside a reference, so the reference moves into allOf. */
function beside(inner: Json, more: Json, { flavour }: Walk): Json {
  const moves = flavour === "v3" && "$ref" in inner && Object.keys(more).length > 0;
  return moves ? { ...more, allOf: [inner] } : { ...inner, ...more };
}

/** An element of a list or a map. Elements of a Go type are never absent, and their zero value is published as their default. */
function elementJson(schema: Schema, walk: Walk, isGo: boolean): Json {
  return beside(schemaJson(schema, walk, isGo), isGo ? defaulted(zeroOf(schema), walk) : {}, walk);
}

function zeroOf(schema: Schema): unknown {
  if (schema.type === "object") return {};
  if (schema.type === "integer") return 0;
  return schema.type === "string" && schema.format === undefined ? "" : undefined;
}

function schemaJson(schema: Schema, walk: Walk, isGo: boolean): Json {
  if (schema.type === "string") return stringJson(schema, walk);
  if ((schema.type === "any" || schema.type === "object") && schema.name !== undefined) {
    walk.collect(schema, schema.name);
    return reference(schema.name, walk.flavour);
  }
  if (schema.type === "object") return objectJson(schema, walk);
  return { ...describe(schema.description), ...plainJson(schema, walk, isGo) };
}

function plainJson(schema: Exclude<Schema, ObjectSchema | StringSchema>, walk: Walk, isGo: boolean): Json {
  switch (schema.type) {
    case "integer": {
      const { type, format, minimum, maximum } = schema;
      return { type, format, ...optionalKey("minimum", minimum), ...optionalKey("maximum", maximum) };
    }
    case "number":
      return { type: "number", format: "double" };
    case "boolean":
      return { type: "boolean" };
    case "array": {
      const items = elementJson(schema.items, walk, isGo);
      return { type: "array", items, ...optionalKey("maxItems", schema.maxItems), ...merging(schema) };
    }
    case "map": {
      const additionalProperties = elementJson(schema.values, walk, isGo);
      return { type: "object", additionalProperties, ...optionalKey("x-kubernetes-map-type", schema.mapType) };
    }
    case "any":
      return { "x-kubernetes-preserve-unknown-fields": true };
  }
}

const scalarNames: Readonly<Partial<Record<string, string>>> = {
  "date-time": `${meta}.Time`,
  "micro-time": `${meta}.MicroTime`,
  quantity: "io.k8s.apimachinery.pkg.api.resource.Quantity",
  "int-or-string": "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
};

function stringJson(schema: StringSchema, walk: Walk): Json {
  const { format } = schema;
  const name = scalarNames[format ?? ""];
  if (name !== undefined) {
    walk.collect(schema, name);
    return reference(name, walk.flavour);
  }
  return {
    ...describe(schema.description),
    type: "string",
    ...(format === undefined || format === "duration" ? {} : { format }),
    ...optionalKey("enum", schema.enum),
    ...optionalKey("maxLength", schema.maxLength),
    ...optionalKey("x-kubernetes-list-type", schema.listType),
  };
}

function merging(schema: ArraySchema): Json {
  return {
    ...optionalKey("x-kubernetes-list-type", schema.listType),
    ...optionalKey("x-kubernetes-list-map-keys", schema.listMapKeys),
    ...optionalKey("x-kubernetes-patch-strategy", schema.patchStrategy),
    ...optionalKey("x-kubernetes-patch-merge-key", schema.patchMergeKey),
  };
}

function optionalKey(key: string, value: unknown): Json {
  return value === undefined ? {} : { [key]: value };
}

function describe(description: string | undefined): Json {
  return optionalKey("description", description);
}
