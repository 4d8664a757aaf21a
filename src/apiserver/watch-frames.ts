import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import type { StatusError } from "../apimachinery/status.ts";
import { encodeProtobuf, encodeWatchFrame } from "../serializer/protobuf/protobuf.ts";
import { partialObjectMetadataSchema } from "../apis/schemas/shorthand.ts";
import { publishedMeta } from "../apis/schemas/published.ts";
import type { WatchItem } from "../registry/watch.ts";
import { objectOf, type Entry } from "../registry/entry.ts";
import { partial, table, type View, contentTypes, versionOf } from "./encode.ts";
import type { Frame, FrameEncoder } from "./watch-stream.ts";

/** How one object is shown inside an event. */
interface Shape {
  /** Readers of the same shape share encoded events; undefined where a reader has state of its own. */
  readonly shared: string | undefined;
  readonly entry: (entry: Entry) => Buffer;
  /** Whether an object is sent as its text in the cache, which is not encoded before the client reads. */
  readonly isText: boolean;
  readonly object: (object: ApiObject) => Buffer;
  readonly status: (error: StatusError) => Buffer;
  readonly frame: (type: string, object: Buffer) => Buffer;
  readonly contentType: string;
}

const lineEnd = Buffer.from("}\n");
/** From so many characters on, an event in JSON is a reference to the text in the cache. */
const longText = 16 * 1024;
const initialEvents = "k8s.io/initial-events-end";

/** The encoder of a watch in the requested form. Event frames without state of the reader are encoded once for all. */
export function watchFrames(view: View): FrameEncoder {
  const shape = shapeOf(view);
  const { shared } = shape;
  const keys = { ADDED: `ADDED ${shared}`, MODIFIED: `MODIFIED ${shared}`, DELETED: `DELETED ${shared}` } as const;
  return {
    contentType: shape.contentType,
    error: (error) => shape.frame("ERROR", shape.status(error)),
    cost: (item) => {
      if (item.type === "BOOKMARK") return 0;
      const { length } = item.entry.json;
      if (shape.isText && length >= longText) return 0;
      return item.event?.frames?.has(keys[item.type]) === true ? 0 : length;
    },
    item: (item) => {
      if (item.type === "BOOKMARK") return shape.frame("BOOKMARK", shape.object(bookmark(view, item)));
      if (shape.isText && item.entry.json.length >= longText) return textFrame(item.type, item.entry.json);
      const frames = item.event === undefined || shared === undefined ? undefined : (item.event.frames ??= new Map());
      const key = keys[item.type];
      const known = frames?.get(key);
      if (known !== undefined) return known;
      const frame = shape.frame(item.type, shape.entry(item.entry));
      frames?.set(key, frame);
      return frame;
    },
  };
}

/** A bookmark is an object of the watched kind with nothing but a version: a reflector drops any other. */
function bookmark({ resource }: View, item: Extract<WatchItem, { type: "BOOKMARK" }>): ApiObject {
  const annotations = item.initialEnd ? { annotations: { [initialEvents]: "true" } } : {};
  return {
    kind: resource.kind,
    apiVersion: apiVersionOf(resource.group, resource.version),
    metadata: { resourceVersion: String(item.revision), ...annotations },
  };
}

function shapeOf(view: View): Shape {
  const { media } = view;
  if (media.as === "Table") return tableShape(view);
  if (media.format === "protobuf") return protobufShape(view);
  const show = media.as === undefined ? undefined : (object: ApiObject) => json(partial(object, media.version));
  return {
    ...jsonFrames,
    shared: media.as === undefined ? "json" : `partial ${media.version}`,
    isText: media.as === undefined,
    entry: (entry) => (show === undefined ? Buffer.from(entry.json) : show(objectOf(entry))),
    object: show ?? json,
  };
}

const jsonFrames: Pick<Shape, "status" | "frame" | "contentType"> = {
  contentType: contentTypes.json,
  status: (error) => json(error.toStatus()),
  frame: (type, object) => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, lineEnd]),
};

function textFrame(type: string, text: string): Frame {
  const pieces = [`{"type":"${type}","object":`, text, "}\n"];
  return { pieces, length: pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0) };
}

/** Only the first event of each reader has column definitions, so tables are not shared. */
function tableShape(view: View): Shape {
  let definitions: "include" | "omit" = "include";
  const show = (object: ApiObject): Buffer => {
    const shown = table(view, [object], { metadata: versionOf(object), columnDefinitions: definitions });
    definitions = "omit";
    return json(shown);
  };
  return { ...jsonFrames, shared: undefined, isText: false, entry: (entry) => show(objectOf(entry)), object: show };
}

function protobufShape(view: View): Shape {
  const { media, resource } = view;
  const partials = media.as !== undefined;
  const show = (object: ApiObject): Buffer =>
    Buffer.from(
      partials
        ? encodeProtobuf(partial(object, media.version), partialObjectMetadataSchema)
        : encodeProtobuf(object, resource.schema),
    );
  return {
    shared: partials ? `protobuf partial ${media.version}` : "protobuf",
    isText: false,
    entry: (entry) => show(objectOf(entry)),
    object: show,
    status: (error) => Buffer.from(encodeProtobuf({ ...error.toStatus() }, publishedMeta("Status"))),
    frame: (type, object) => Buffer.from(encodeWatchFrame(type, object)),
    contentType: `${contentTypes.protobuf};stream=watch`,
  };
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
