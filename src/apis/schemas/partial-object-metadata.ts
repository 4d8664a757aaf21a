import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { kind } from "./kind.ts";

/** PartialObjectMetadata, which no OpenAPI document of Kubernetes has. Source: k8s.io/apimachinery meta/v1. */
export const partialObjectMetadataSchema: ObjectSchema = kind(
  "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata",
  "An object reduced to its metadata.",
  {},
);
