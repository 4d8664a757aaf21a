import { ageColumn } from "./age-column.ts";
import type { Resource } from "./resource.ts";
import { customResourceDefinitionSchema } from "./schemas/custom-resource-definition.ts";

/**
 * Kinds that are made at run time, of which there are none: the list is there, since kubectl reads it before it sends a kind that it
 * cannot patch, and always empty. Source: apiextensions-apiserver apis/apiextensions/v1.
 */
export const customResourceDefinitions: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  scope: "Cluster",
  verbs: ["get", "list", "watch"],
  description: "A CustomResourceDefinition adds a kind to the API. This hub has none.",
  schema: customResourceDefinitionSchema,
  columns: [ageColumn],
  subresources: {},
  names: "dns-subdomain",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
};
