import { humanDuration } from "../apimachinery/duration.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { stringAt, withField, arrayAt } from "./json-fields.ts";
import { type PartOfObject, type Resource, storedVerbs, type Column } from "./resource.ts";
import { published } from "./schemas/published.ts";

type Defaulted =
  | ("version" | "plural" | "singular" | "shortNames" | "categories" | "verbs" | "columns" | "subresources" | "names")
  | ("createOnUpdate" | "unconditionalUpdate" | "deleteReturnsObject" | "generation");

const defaults: Pick<Resource, Exclude<Defaulted, "plural" | "singular">> = {
  version: "v1",
  shortNames: [],
  categories: [],
  verbs: storedVerbs,
  columns: [],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
};

/** Unset fields have the defaults above; the default plural is the name with an `s`. */
interface KindTerms extends Omit<Resource, Defaulted | "schema">, Partial<Pick<Resource, Defaulted>> {
  /** Its own, or the name of the one that Kubernetes publishes, which is read when it is needed. */
  readonly schema: ObjectSchema | string;
}

/** A kind that is built into the hub, by its differences from the defaults. */
export function builtinKind(terms: KindTerms): Resource {
  const { kind, schema } = terms;
  const singular = kind.toLowerCase();
  return {
    ...defaults,
    plural: `${singular}s`,
    singular,
    ...terms,
    get schema() {
      return typeof schema === "string" ? published(schema) : schema;
    },
  };
}

/** Fields that all review kinds share: each is created, answered at once, and never stored. */
export const reviewKind: Pick<Resource, "verbs" | "names"> = { verbs: ["create"], names: "path" };

/** The subresource `status` of a kind: a write changes no other part of the object. */
export const statusPart: PartOfObject = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored) => withField(stored, "status", incoming["status"]),
};

/** Field labels that are the paths of strings. */
export function stringFields(...labels: readonly string[]): NonNullable<Resource["selectableFields"]> {
  const paths = labels.map((label) => [label, label.split(".")] as const);
  return Object.fromEntries(paths.map(([label, path]) => [label, (object: ApiObject) => stringAt(object, ...path)]));
}

/** The age of an RFC 3339 time, as kubectl writes it; `<unknown>` for an absent or unreadable time. `now` in milliseconds. */
export function ageOf(time: string, now: number): string {
  const then = time === "" ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

/** A column of text, and its cell for each object. */
export function column(name: string, description: string, cell: Column["cell"]): Column {
  return { name, type: "string", description, cell };
}

/** A column that shows only with `-o wide`. */
export function wideColumn(name: string, description: string, cell: Column["cell"]): Column {
  return { ...column(name, description, cell), priority: 1 };
}

/** A column of the string at a path. */
export function textColumn(name: string, description: string, ...path: readonly string[]): Column {
  return column(name, description, (object) => stringAt(object, ...path));
}

/** A column with the length of the list at a path. */
export function countColumn(name: string, description: string, ...path: readonly string[]): Column {
  return { ...column(name, description, (object) => arrayAt(object, ...path).length), type: "integer" };
}

/** The Age column of nearly every kind. */
export const ageColumn: Column = column("Age", "How long ago the server created the object.", (object, now) =>
  ageOf(stringAt(object, "metadata", "creationTimestamp"), now),
);

/** The column of kinds without columns of their own: the creation time as it is stored. Source: apiserver pkg/registry/rest/table.go. */
export const createdAtColumn: Column = {
  ...column(
    "Created At",
    "When the server created the object, in RFC 3339 form and in UTC.",
    (object) => stringAt(object, "metadata", "creationTimestamp") || "<unknown>",
  ),
  type: "date",
};
