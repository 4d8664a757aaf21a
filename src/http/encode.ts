import { apiVersionOf, type ApiObject } from "../core/object.ts";
import type { ObjectSchema } from "../core/schema.ts";
import { StatusError, badRequest } from "../core/status.ts";
import { encodeMessage, encodeProtobuf, encodeProtobufList } from "../resources/protobuf.ts";
import type { Resource } from "../resources/resource.ts";
import { partialObjectMetadataSchema, statusSchema } from "../resources/schemas/meta.ts";
import { parseIncludeObject, tableFor, type IncludeObject } from "../resources/table.ts";
import type { Listed } from "../registry/list.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import type { Query, Reply } from "./exchange.ts";
import { contentTypes, type MediaType } from "./negotiate.ts";
import { internalType } from "./undecodable.ts";

/** How objects of one resource are to be shown to one client. */
export interface View {
  readonly media: MediaType;
  readonly resource: Resource;
  /** Milliseconds since the epoch, for ages in tables. */
  readonly now: number;
  readonly includeObject: IncludeObject;
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

/** A list as a reply; for plain JSON the cached text of its items is only joined. */
export async function listReply(view: View, listed: Listed): Promise<Reply> {
  const { media, resource } = view;
  if (media.as === "PartialObjectMetadata") {
    throw notAcceptable(
      `you requested PartialObjectMetadata, but the requested object is a list (*${internalType(resource, "List")})`,
    );
  }
  const metadata = listMetadata(listed);
  const apiVersion = apiVersionOf(resource.group, resource.version);
  const kind = `${resource.kind}List`;
  if (media.as === undefined && media.format === "json" && !media.pretty) {
    return {
      status: 200,
      contentType: contentTypes.json,
      body: joinedList({ kind, apiVersion, metadata }, listed.entries),
    };
  }
  const objects = listed.entries.map(objectOf);
  if (media.as === "Table") return structured(view, table(view, objects, metadata), 200);
  if (media.as !== undefined) {
    const items = objects.map((object) => partial(object, media.version));
    const list = { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${media.version}`, metadata };
    if (media.format !== "protobuf") return structured(view, { ...list, items }, 200);
    const encoded = items.map((item) => encodeMessage(item, partialObjectMetadataSchema));
    return {
      status: 200,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobufList(list, encoded)),
      plain: () => ({ ...list, items }),
    };
  }
  if (media.format === "protobuf") {
    const items = objects.map((object) => encodeMessage(object, resource.schema));
    return {
      status: 200,
      contentType: contentTypes.protobuf,
      body: Buffer.from(encodeProtobufList({ kind, apiVersion, metadata }, items)),
      plain: () => ({ kind, apiVersion, metadata, items: objects }),
    };
  }
  return structured(view, { kind, apiVersion, metadata, items: objects }, 200);
}

/** Any JSON value in the format asked for; protobuf only where it is an object's metadata or a Status. */
export async function structured(view: Pick<View, "media">, value: object, status: number): Promise<Reply> {
  const { format, pretty } = view.media;
  if (format === "yaml") {
    const { yamlText } = await import("./yaml-text.ts");
    return {
      status,
      contentType: contentTypes.yaml,
      body: yamlText(value),
      plain: () => value,
    };
  }
  const schema = format === "protobuf" && "kind" in value ? metaSchemas[String(value.kind)] : undefined;
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
): object {
  const { resource, now, includeObject, media } = view;
  const version = media.version === "v1beta1" ? "v1beta1" : "v1";
  return tableFor(resource, objects, { now, includeObject, metadata, version, columnDefinitions });
}

/** What can be encoded in protobuf besides objects of the resource itself. */
const metaSchemas: Readonly<Record<string, ObjectSchema>> = {
  PartialObjectMetadata: partialObjectMetadataSchema,
  Status: statusSchema,
};

function notAcceptable(message: string): StatusError {
  return new StatusError("NotAcceptable", message);
}

function listMetadata(listed: Listed): { readonly resourceVersion: string } {
  return {
    resourceVersion: String(listed.revision),
    ...(listed.continue === undefined ? {} : { continue: listed.continue }),
    ...(listed.remaining === undefined ? {} : { remainingItemCount: listed.remaining }),
  };
}

function joinedList(head: object, entries: readonly Entry[]): Buffer {
  const start = `${JSON.stringify(head).slice(0, -1)},"items":[`;
  return writtenList(start, entries) ?? Buffer.from(`${start}${entries.map(({ json }) => json).join(",")}]}`);
}

/** A last text with longer characters cannot be cut to just its own length within these. */
const slackBytes = 4;

/**
 * The same bytes, each text written to its place: a seventh of the time of joining them first. Undefined where a text holds
 * characters of more than one byte, whose length nobody knows beforehand.
 */
function writtenList(start: string, entries: readonly Entry[]): Buffer | undefined {
  const room = entries.reduce((sum, { json }) => sum + json.length + 1, Buffer.byteLength(start) + slackBytes);
  const bytes = Buffer.allocUnsafe(room);
  let at = bytes.write(start);
  for (const { json } of entries) {
    const written = bytes.write(json, at);
    if (written !== json.length) return undefined;
    at += written;
    bytes[at] = comma;
    at += 1;
  }
  if (entries.length > 0) at -= 1;
  return bytes.subarray(0, at + bytes.write("]}", at));
}

const comma = 0x2c;
