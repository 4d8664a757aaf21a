import type { ArraySchema, Field, MapSchema, ObjectSchema, Schema, StringSchema } from "../core/schema.ts";
import { endsStep, type Pace } from "../core/pace.ts";
import type { Steps } from "../core/steps.ts";
import { kindOf, type Resource } from "./resource.ts";
import { deleteOptionsSchema, listMeta, statusSchema } from "./schemas/meta.ts";
import { objectMeta } from "./schemas/object-meta.ts";

/** A JSON object that is being put together. */
export type Json = Readonly<Record<string, unknown>>;

/** Where version 2 and version 3 of OpenAPI differ in how they write a schema. */
export type OpenApiFlavour = "v2" | "v3";

/** Which kind a schema or an operation stands for, as clients look it up. */
export interface KindName {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const quantityName = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const intOrStringName = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const patchName = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

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

/** A reference to what a PATCH body holds. */
export function patchReference(flavour: OpenApiFlavour): Json {
  return reference(patchName, flavour);
}

/**
 * All schemas that the given resources need, by name: the kinds, their lists, DeleteOptions and Status, and every message inside
 * them; in steps. Kinds carry their names in `x-kubernetes-group-version-kind`, lists their merge rules. Source: kube-openapi.
 */
export function* openApiSchemas(resources: readonly Resource[], flavour: OpenApiFlavour): Steps<Json> {
  const found = new Map<string, Json>();
  const pending: { readonly schema: ObjectSchema; readonly name: string }[] = [];
  const note = (schema: ObjectSchema, name: string): void => {
    if (found.has(name)) return;
    // Taken before it is made, since a schema may contain itself.
    found.set(name, {});
    pending.push({ schema, name });
  };
  const pace: Pace = { places: 0 };
  const collect = function* (schema: ObjectSchema, name: string, kinds: readonly KindName[]): Steps<void> {
    if (found.has(name)) return;
    note(schema, name);
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (endsStep(pace, 1 + Object.keys(next.schema.properties).length)) yield;
      const described = objectJson(next.schema, { flavour, collect: note });
      const own = next.name === name ? kinds : [];
      found.set(next.name, own.length === 0 ? described : { ...described, "x-kubernetes-group-version-kind": own });
    }
  };
  const groups = [...new Set(["", ...resources.map(({ group }) => group)])];
  yield* collect(
    deleteOptionsSchema,
    definitionOf(deleteOptionsSchema),
    groups.map((group) => v1(group, "DeleteOptions")),
  );
  yield* collect(statusSchema, definitionOf(statusSchema), [v1("", "Status")]);
  for (const resource of resources) {
    const { group, version, kind, custom } = resource;
    const name = definitionName(resource);
    if (custom === undefined) yield* collect(resource.schema, name, [{ group, kind, version }]);
    else {
      found.set(name, yield* custom.published(flavour));
      yield* collect(objectMeta, definitionOf(objectMeta), []);
    }
    for (const subresource of Object.values(resource.subresources)) {
      const other = kindOf(resource, subresource);
      if (other !== resource) yield* collect(other.schema, definitionName(other), [kindNameOf(other)]);
    }
    if (!resource.verbs.includes("list")) continue;
    const named: ObjectSchema = custom === undefined ? { ...resource.schema, name } : { ...emptyObject, name };
    yield* collect(listOf(named, kind), `${definitionName(resource)}List`, [{ group, kind: `${kind}List`, version }]);
  }
  for (const [name, schema] of Object.entries<Json>(sharedSchemas[flavour])) found.set(name, schema);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const emptyObject: ObjectSchema = { type: "object", properties: {} };

function kindNameOf({ group, version, kind }: Resource): KindName {
  return { group, kind, version };
}

function v1(group: string, kind: string): KindName {
  return { group, kind, version: "v1" };
}

function definitionOf(schema: ObjectSchema): string {
  if (schema.name === undefined) throw new TypeError("a built-in schema has a name");
  return schema.name;
}

function listOf(item: ObjectSchema, kind: string): ObjectSchema {
  return {
    type: "object",
    description: `A list of ${kind} objects.`,
    properties: {
      apiVersion: { schema: { type: "string" }, description: "Group and version of this representation." },
      items: { schema: { type: "array", items: item }, required: true, description: "The objects." },
      kind: { schema: { type: "string" }, description: "The kind of this list, in CamelCase." },
      metadata: { schema: listMeta, description: "Resource version of the list, and how to go on with the next part." },
    },
  };
}

const sharedSchemas: Readonly<Record<OpenApiFlavour, Readonly<Record<string, Json>>>> = {
  v2: {
    [quantityName]: { type: "string", description: "An amount with a suffix, such as 100m or 1Gi." },
    [intOrStringName]: { type: "string", format: "int-or-string", description: "A number or a text." },
    [patchName]: { type: "object", description: "A patch in the form that the content type names." },
  },
  v3: {
    [quantityName]: {
      description: "An amount with a suffix, such as 100m or 1Gi.",
      oneOf: [{ type: "string" }, { type: "number" }],
    },
    [intOrStringName]: {
      description: "A number or a text.",
      format: "int-or-string",
      oneOf: [{ type: "integer" }, { type: "string" }],
    },
    [patchName]: { type: "object", description: "A patch in the form that the content type names." },
  },
};

interface Walk {
  readonly flavour: OpenApiFlavour;
  /** Takes note of a named schema that is referred to. */
  readonly collect: (schema: ObjectSchema, name: string) => void;
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
    ...(schema.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": schema.patchStrategy }),
    ...mapType(schema),
    ...(schema.open === true ? { "x-kubernetes-preserve-unknown-fields": true } : {}),
  };
}

function mapType({ mapType: type }: ObjectSchema | MapSchema): Json {
  return type === undefined ? {} : { "x-kubernetes-map-type": type };
}

/** Properties with inlined objects dissolved, as they stand in JSON. */
function* flattened(schema: ObjectSchema): Generator<readonly [string, Field]> {
  for (const [key, field] of Object.entries(schema.properties)) {
    if (field.inline === true && field.schema.type === "object") yield* flattened(field.schema);
    else yield [key, field];
  }
}

function fieldJson(field: Field, walk: Walk): Json {
  const inner = schemaJson(field.schema, walk);
  const description = describe(field.description);
  // Beside a reference version 3 ignores everything, so the reference moves into allOf.
  return walk.flavour === "v3" && "$ref" in inner && field.description !== undefined
    ? { ...description, allOf: [inner] }
    : { ...inner, ...description };
}

function schemaJson(schema: Schema, walk: Walk): Json {
  switch (schema.type) {
    case "string":
      return stringJson(schema, walk.flavour);
    case "integer":
      return { ...describe(schema.description), type: "integer", format: schema.format };
    case "number":
      return { ...describe(schema.description), type: "number", format: "double" };
    case "boolean":
      return { ...describe(schema.description), type: "boolean" };
    case "array":
      return {
        ...describe(schema.description),
        type: "array",
        items: schemaJson(schema.items, walk),
        ...merging(schema),
      };
    case "map":
      return {
        ...describe(schema.description),
        type: "object",
        additionalProperties: schemaJson(schema.values, walk),
        ...mapType(schema),
      };
    case "any":
      return { ...describe(schema.description), "x-kubernetes-preserve-unknown-fields": true };
    case "object":
      if (schema.name === undefined) return objectJson(schema, walk);
      walk.collect(schema, schema.name);
      return reference(schema.name, walk.flavour);
  }
}

function stringJson(schema: StringSchema, flavour: OpenApiFlavour): Json {
  const { format } = schema;
  if (format === "quantity") return reference(quantityName, flavour);
  if (format === "int-or-string") return reference(intOrStringName, flavour);
  const shown = format === "micro-time" ? "date-time" : format === "duration" ? undefined : format;
  return {
    ...describe(schema.description),
    type: "string",
    ...(shown === undefined ? {} : { format: shown }),
    ...(schema.enum === undefined ? {} : { enum: schema.enum }),
  };
}

function merging(schema: ArraySchema): Json {
  return {
    ...(schema.listType === undefined ? {} : { "x-kubernetes-list-type": schema.listType }),
    ...(schema.listMapKeys === undefined ? {} : { "x-kubernetes-list-map-keys": schema.listMapKeys }),
    ...(schema.patchStrategy === undefined ? {} : { "x-kubernetes-patch-strategy": schema.patchStrategy }),
    ...(schema.patchMergeKey === undefined ? {} : { "x-kubernetes-patch-merge-key": schema.patchMergeKey }),
  };
}

function describe(description: string | undefined): Json {
  return description === undefined ? {} : { description };
}
