import type { ApiObject } from "../apimachinery/object.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { stringAt, withField } from "./json-fields.ts";
import { type PartOfObject, type Resource, storedVerbs } from "./resource.ts";
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

/** Where a kind is as most kinds are, it says nothing; its plural is then its name with an `s`. */
interface KindTerms extends Omit<Resource, Defaulted | "schema">, Partial<Pick<Resource, Defaulted>> {
  /** Its own, or the name of the one that Kubernetes publishes, which is read when it is needed. */
  readonly schema: ObjectSchema | string;
}

/** A kind that the hub knows by itself, by what sets it apart from the others. */
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

/** What is the same of all kinds that ask a question of the API: each is created, answered at once, and never stored. */
export const reviewKind: Pick<Resource, "verbs" | "names"> = { verbs: ["create"], names: "path" };

/** The part `status` of a kind, written by itself: nothing else of the object changes there. */
export const statusPart: PartOfObject = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (incoming, stored) => withField(stored, "status", incoming["status"]),
};

/** Field labels that are the paths of strings. */
export function stringFields(...labels: readonly string[]): NonNullable<Resource["selectableFields"]> {
  const paths = labels.map((label) => [label, label.split(".")] as const);
  return Object.fromEntries(paths.map(([label, path]) => [label, (object: ApiObject) => stringAt(object, ...path)]));
}
