import { apiVersionOf } from "../core/object.ts";
import type { ObjectSchema } from "../core/schema.ts";
import type { SchemaLookup } from "./protobuf.ts";
import type { Resource } from "./resource.ts";
import { tokenRequestSchema } from "./schemas/authentication.ts";
import { deleteOptionsSchema, partialObjectMetadataSchema, statusSchema } from "./schemas/meta.ts";

/**
 * The kinds that may come or go as protobuf: those of `resources` whose schema has protobuf numbers, TokenRequest,
 * PartialObjectMetadata and Status. DeleteOptions is known in every group version, as Go clients name it after the kind they delete.
 */
export function protobufKinds(resources: readonly Resource[]): SchemaLookup {
  const known = new Map<string, ObjectSchema>([
    ["authentication.k8s.io/v1 TokenRequest", tokenRequestSchema],
    ["meta.k8s.io/v1 PartialObjectMetadata", partialObjectMetadataSchema],
    ["v1 Status", statusSchema],
  ]);
  for (const { group, version, kind, schema } of resources) {
    if (hasProtobuf(schema)) known.set(`${apiVersionOf(group, version)} ${kind}`, schema);
  }
  return (apiVersion, kind) => (kind === "DeleteOptions" ? deleteOptionsSchema : known.get(`${apiVersion} ${kind}`));
}

/** Whether objects of this kind come and go as protobuf too; those of custom kinds never do. */
export function speaksProtobuf({ custom, schema }: Resource): boolean {
  return custom === undefined && hasProtobuf(schema);
}

/** Whether objects of this schema can be written as protobuf; those of custom kinds cannot. */
export function hasProtobuf(schema: ObjectSchema): boolean {
  return schema.properties["metadata"]?.number !== undefined;
}
