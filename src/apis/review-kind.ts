import type { Resource } from "./resource.ts";

type Common =
  | "shortNames"
  | "categories"
  | "verbs"
  | "columns"
  | "subresources"
  | "names"
  | "createOnUpdate"
  | "unconditionalUpdate"
  | "deleteReturnsObject"
  | "generation";

/** What is the same of all kinds that ask a question of the API: each is created, answered at once, and never stored. */
export const reviewKind: Pick<Resource, Common> = {
  shortNames: [],
  categories: [],
  verbs: ["create"],
  columns: [],
  subresources: {},
  names: "path",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
};
