import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { standardMetadata } from "./published.ts";
import { embedded, typed } from "./shorthand.ts";

/** A top-level kind: `apiVersion`, `kind`, `metadata` (protobuf field 1) and its own properties. */
export function kind(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return typed(name, description, {
    metadata: embedded(1, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", standardMetadata),
    ...properties,
  });
}
