import type { ObjectSchema } from "../../core/schema.ts";
import { objectMeta } from "./object-meta.ts";
import { about, object, typed } from "./shorthand.ts";

/** A top-level kind: `apiVersion`, `kind`, `metadata` (protobuf field 1) and its own properties. */
export function kind(name: string, description: string, properties: ObjectSchema["properties"]): ObjectSchema {
  return typed(name, description, {
    metadata: about("Name, labels, owners and bookkeeping.", object(1, objectMeta)),
    ...properties,
  });
}
