import type { ApiObject } from "../apimachinery/object.ts";
import type { ObjectSchema } from "../apimachinery/schema.ts";
import { StatusError, badRequest } from "../apimachinery/status.ts";
import { encodeProtobuf } from "../serializer/protobuf/protobuf.ts";
import type { Resource } from "../apis/resource.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { publishedMeta } from "../apis/schemas/published.ts";
import { parseIncludeObject, tableFor, type IncludeObject, type Table } from "../serializer/table.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { YamlWork } from "../serializer/yaml/yaml-thread.ts";
import type { Query, Reply } from "./http-types.ts";
import { contentTypes, type MediaType } from "./negotiate.ts";
import type { SendBuffer } from "./connections/send-buffers.ts";
import { internalType } from "./body/undecodable.ts";
import { yamlOfJson } from "./yaml-reply.ts";

/** How objects of one resource are to be shown to one client. */
export interface View {
  readonly media: MediaType;
  readonly resource: Resource;
  /** Milliseconds since the epoch, for ages in tables. */
  readonly now: number;
  readonly includeObject: IncludeObject;
  /** Writes what is YAML. */
  readonly yaml: YamlWork;
  /** Waits until the next part of a large answer may be made. */
  readonly turn: () => Promise<void>;
  /** The share of this answer in what waits for clients. */
  readonly buffer: () => SendBuffer;
}

/** The query's wish for the objects inside a table. @throws StatusError BadRequest for an unknown one. */
export function includeObjectOf(query: Query): IncludeObject {
  const value = parseIncludeObject(query.get("includeObject"));
  if (value === undefined) {
    throw badRequest(
      `unrecognized includeObject value: ${JSON.stringify(query.get("includeObject"))}; allowed are None, Metadata and Object`,
    );
  }
  return value;
}

/** Characters of an object that is encoded without asking for room. */
const maxUnreserved = 16 * 1024;

/** One object as a reply. Plain JSON is sent as it lies in the cache. */
export async function entryReply(view: View, entry: Entry, status: number): Promise<Reply> {
  const { media, resource } = view;
  if (media.as === undefined && media.format === "json" && !media.pretty) {
    return { status, contentType: contentTypes.json, body: entry.json };
  }
  if (media.as === "PartialObjectMetadataList") {
    throw notAcceptable(
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${internalType(resource)})`,
    );
  }
  // What is encoded for one client waits until what others have not read leaves room for it.
  if (entry.json.length > maxUnreserved && (await view.buffer().reserve(entry.json.length)) === "closed") {
    // The client is gone, and nothing is encoded for it.
    return { status, contentType: contentTypes.json, body: entry.json };
  }
  if (media.as === undefined && media.format === "yaml") {
    const body = await yamlOfJson(view.yaml, entry.json);
    return { status, contentType: contentTypes.yaml, body, plain: () => objectOf(entry) };
  }
  const object = objectOf(entry);
  if (media.as === "Table")
    return structured(view, table(view, [object], { resourceVersion: object.metadata.resourceVersion ?? "" }), status);
  if (media.as !== undefined) return structured(view, partial(object, media.version), status);
  if (media.format === "protobuf") {
    return {
      status,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobuf(object, resource.schema)),
      plain: () => object,
    };
  }
  return structured(view, object, status);
}

/** Any JSON value in the format asked for; protobuf only where it is an object's metadata or a Status. */
export async function structured(view: Pick<View, "media" | "yaml">, value: object, status: number): Promise<Reply> {
  const { format, pretty } = view.media;
  if (format === "yaml") {
    const body = await yamlOfJson(view.yaml, JSON.stringify(value));
    return { status, contentType: contentTypes.yaml, body, plain: () => value };
  }
  const schema = format === "protobuf" && "kind" in value ? metaSchema(String(value.kind)) : undefined;
  if (schema !== undefined) {
    return {
      status,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobuf({ ...value }, schema)),
      plain: () => value,
    };
  }
  const body = pretty ? `${JSON.stringify(value, null, 2)}\n` : JSON.stringify(value);
  return { status, contentType: contentTypes.json, body };
}

/** An object reduced to what every object has. */
export function partial(object: ApiObject, version: string): ApiObject {
  return { kind: "PartialObjectMetadata", apiVersion: `meta.k8s.io/${version}`, metadata: object.metadata };
}

/** A table of some objects; `columnDefinitions` is left out from the second event of a watch on. */
export function table(
  view: View,
  objects: readonly ApiObject[],
  metadata: object,
  columnDefinitions: "include" | "omit" = "include",
): Table {
  const { resource, now, includeObject, media } = view;
  const version = media.version === "v1beta1" ? "v1beta1" : "v1";
  return tableFor(resource, objects, { now, includeObject, metadata, version, columnDefinitions });
}

/** What can be encoded in protobuf besides objects of the resource itself. */
function metaSchema(kind: string): ObjectSchema | undefined {
  if (kind === "PartialObjectMetadata") return partialObjectMetadataSchema;
  return kind === "Status" ? publishedMeta("Status") : undefined;
}

/** The refusal of a form that this answer cannot have. */
export function notAcceptable(message: string): StatusError {
  return new StatusError("NotAcceptable", message);
}
