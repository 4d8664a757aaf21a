import { apiVersionOf } from "../../apimachinery/object.ts";
import type { ObjectSchema } from "../../apimachinery/schema.ts";
import type { SchemaLookup } from "./protobuf.ts";
import type { Resource } from "../../apis/resource.ts";
import { partialObjectMetadataSchema } from "../../apis/schemas/shorthand.ts";
import { published, publishedMeta } from "../../apis/schemas/published.ts";

/**
 * The kinds that may come or go as protobuf: those of `resources` whose schema has protobuf numbers, TokenRequest,
 * PartialObjectMetadata and Status. DeleteOptions is known in every group version, as Go clients name it after the kind they delete.
 */
export function protobufKinds(resources: readonly Resource[]): SchemaLookup {
  const known = new Map<string, () => ObjectSchema>([
    ["authentication.k8s.io/v1 TokenRequest", () => published("io.k8s.api.authentication.v1.TokenRequest")],
    ["meta.k8s.io/v1 PartialObjectMetadata", () => partialObjectMetadataSchema],
    ["v1 Status", () => publishedMeta("Status")],
  ]);
  for (const resource of resources) {
    known.set(`${apiVersionOf(resource.group, resource.version)} ${resource.kind}`, () => resource.schema);
  }
  return (apiVersion, kind) => {
    if (kind === "DeleteOptions") return publishedMeta("DeleteOptions");
    const schema = known.get(`${apiVersion} ${kind}`)?.();
    return schema !== undefined && hasProtobuf(schema) ? schema : undefined;
  };
}

/** Whether objects of this kind come and go as protobuf too; those of custom kinds never do. */
export function speaksProtobuf(resource: Resource): boolean {
  return resource.custom === undefined && hasProtobuf(resource.schema);
}

/** Whether objects of this schema can be written as protobuf; those of custom kinds cannot. */
export function hasProtobuf(schema: ObjectSchema): boolean {
  return schema.properties["metadata"]?.number !== undefined;
}
