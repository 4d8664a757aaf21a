import type { ObjectSchema } from "../../core/schema.ts";
import { kind } from "./kind.ts";

// CustomResourceDefinition. Source: k8s.io/apiextensions-apiserver. No object of it is ever stored, so that its specification is left out.

export const customResourceDefinitionSchema: ObjectSchema = kind(
  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
  "A kind that is added to the API at run time. This hub has none.",
  {},
);
