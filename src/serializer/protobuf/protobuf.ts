import protobuf from "protobufjs/minimal.js";
import type { ObjectSchema } from "../../apimachinery/schema.ts";
import { ProtobufError } from "./protobuf-error.ts";
import { messageCodec } from "./protobuf-message.ts";
import {
  type Input,
  type Reader,
  expectWireType,
  nested,
  readFields,
  readNested,
  readText,
} from "./protobuf-scalars.ts";
import { published, publishedMeta } from "../../apis/schemas/published.ts";
import { apiVersionOf } from "../../apimachinery/object.ts";
import type { Resource } from "../../apis/resource.ts";
import { partialObjectMetadataSchema } from "../../apis/schemas/shorthand.ts";

/** The media type of this encoding. */
const protobufMediaType = "application/vnd.kubernetes.protobuf";

/** The schema of a kind; `undefined` for kinds that have no protobuf. Both names are empty where the envelope has none. */
export type SchemaLookup = (apiVersion: string, kind: string) => ObjectSchema | undefined;

/** A decoded protobuf body. `object` is in JSON shape and begins with `apiVersion` and `kind`, where the envelope names them. */
export interface DecodedProtobuf {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: Readonly<Record<string, unknown>>;
}

/** Bounds of one decoding. */
export interface ProtobufLimits {
  /** In bytes, default 3145728 (3 MiB, the limit of a request body). */
  readonly maxBytes: number;
  /** How many nested messages, map entries and list items, default 300000. */
  readonly maxValues: number;
}

const defaultLimits: ProtobufLimits = { maxBytes: 3 * 1024 * 1024, maxValues: 300_000 };

const magic: readonly number[] = [0x6b, 0x38, 0x73, 0x00];

/**
 * Decodes an enveloped object into its JSON shape: what Go would print as JSON, without nulls. Unknown fields are skipped, zero
 * values of fields that are neither required nor pointers are left out. Nothing is validated beyond its type.
 * @throws ProtobufError for any bytes that are not such an object.
 * @see k8s.io/apimachinery pkg/runtime/serializer/protobuf
 */
export function decodeProtobuf(
  bytes: Uint8Array,
  schemaOf: SchemaLookup,
  limits: ProtobufLimits = defaultLimits,
): DecodedProtobuf {
  if (bytes.length > limits.maxBytes) throw new ProtobufError("too-large", `more than ${limits.maxBytes} bytes`);
  if (magic.some((byte, index) => bytes[index] !== byte)) {
    throw new ProtobufError("magic", "the body does not begin with the Kubernetes protobuf prefix");
  }
  return guarded(() => {
    const input: Input = { reader: readerOf(bytes.subarray(magic.length)), values: limits.maxValues };
    const envelope = readUnknown(input);
    const schema = schemaOf(envelope.apiVersion, envelope.kind);
    if (schema === undefined) {
      const named = `${JSON.stringify(envelope.kind.slice(0, 64))} in ${JSON.stringify(envelope.apiVersion.slice(0, 64))}`;
      throw new ProtobufError("unknown-kind", `no protobuf kind ${named}`);
    }
    const object: Record<string, unknown> = {};
    if (envelope.apiVersion !== "") object["apiVersion"] = envelope.apiVersion;
    if (envelope.kind !== "") object["kind"] = envelope.kind;
    messageCodec(schema).readInto({ ...input, reader: readerOf(envelope.raw) }, object);
    return { apiVersion: envelope.apiVersion, kind: envelope.kind, object };
  });
}

/** Encodes an object with its envelope. @throws ProtobufError `value` for an object that does not fit its schema. */
export function encodeProtobuf(object: Readonly<Record<string, unknown>>, schema: ObjectSchema): Uint8Array {
  return envelope(typeOf(object), encodeMessage(object, schema));
}

function encodeMessage(object: Readonly<Record<string, unknown>>, schema: ObjectSchema): Uint8Array {
  const writer = protobuf.Writer.create();
  messageCodec(schema).writeFields(writer, object);
  return writer.finish();
}

/** A list before it is encoded; `kind` ends in List. */
export interface ProtobufList {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Items encoded as in a list, one after the other; `encodeProtobufList` joins them. @throws ProtobufError `value`. */
export function encodeListItems(items: readonly Readonly<Record<string, unknown>>[], schema: ObjectSchema): Uint8Array {
  return measureListItems(items, schema).encoded();
}

/** The same in two steps: how many bytes it takes, and the bytes, which are allocated on demand. */
export function measureListItems(
  items: readonly Readonly<Record<string, unknown>>[],
  schema: ObjectSchema,
): { readonly bytes: number; readonly encoded: () => Uint8Array } {
  const writer = protobuf.Writer.create();
  const codec = messageCodec(schema);
  for (const item of items) {
    writer.uint32(18);
    nested(writer, () => codec.writeFields(writer, item));
  }
  return { bytes: writer.len, encoded: () => writer.finish() };
}

/** Encodes a list with its envelope from the parts of `encodeListItems`; copies each byte once. */
export function encodeProtobufList(list: ProtobufList, parts: readonly Uint8Array[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const { head, end } = protobufListEnvelope(list, length);
  return Buffer.concat([head, ...parts, end]);
}

/** The bytes before and after the items of a list, whose total length is given. */
export function protobufListEnvelope(
  list: ProtobufList,
  itemBytes: number,
): { readonly head: Buffer; readonly end: Buffer } {
  const metadata = protobuf.Writer.create().uint32(10);
  nested(metadata, () => messageCodec(publishedMeta("ListMeta")).writeFields(metadata, list.metadata));
  const first = metadata.finish();
  const { head, end } = envelopeOf(list, first.length + itemBytes);
  return { head: Buffer.concat([head, first]), end: Buffer.from(end) };
}

/** One event of a protobuf watch stream, length prefix included; `object` is enveloped. The stream itself has no magic. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(10).string(type).uint32(18);
  nested(writer, () => writer.uint32(10).bytes(object));
  const event = writer.finish();
  const frame = Buffer.alloc(4 + event.length);
  frame.writeUInt32BE(event.length);
  frame.set(event, 4);
  return frame;
}

function envelope(type: { readonly apiVersion: string; readonly kind: string }, raw: Uint8Array): Uint8Array {
  const { head, end } = envelopeOf(type, raw.length);
  return Buffer.concat([head, raw, end]);
}

/** The bytes before and after an object of this length. */
function envelopeOf(
  type: { readonly apiVersion: string; readonly kind: string },
  length: number,
): { readonly head: Uint8Array; readonly end: Uint8Array } {
  const writer = protobuf.Writer.create();
  writer.uint32(10);
  nested(writer, () => writer.uint32(10).string(type.apiVersion).uint32(18).string(type.kind));
  const head = Buffer.concat([Uint8Array.from(magic), writer.uint32(18).uint32(length).finish()]);
  // Go writes the two empty texts, encoding and content type, as well.
  return { head, end: protobuf.Writer.create().uint32(26).string("").uint32(34).string("").finish() };
}

function typeOf(object: Readonly<Record<string, unknown>>): { readonly apiVersion: string; readonly kind: string } {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw new ProtobufError("value", "an object without apiVersion and kind has no envelope");
  }
  return { apiVersion, kind };
}

interface Unknown {
  apiVersion: string;
  kind: string;
  raw: Uint8Array;
}

function readUnknown(input: Input): Unknown {
  const found: Unknown = { apiVersion: "", kind: "", raw: new Uint8Array() };
  readFields(input, (number, wireType) => {
    if (number > 4) return false;
    expectWireType(wireType, 2, "the envelope");
    if (number === 1) readNested(input, () => readTypeMeta(input, found));
    else if (number === 2) found.raw = input.reader.bytes();
    else checkPlain(number, readText(input));
    return true;
  });
  return found;
}

function readTypeMeta(input: Input, found: Unknown): void {
  readFields(input, (number, wireType) => {
    if (number > 2) return false;
    expectWireType(wireType, 2, "the type in the envelope");
    found[number === 1 ? "apiVersion" : "kind"] = readText(input);
    return true;
  });
}

function checkPlain(number: number, value: string): void {
  if (value === "" || (number === 4 && value === protobufMediaType)) return;
  throw new ProtobufError("unsupported", "the envelope holds something else than plain protobuf");
}

function readerOf(bytes: Uint8Array): Reader {
  return protobuf.Reader.create(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

/** Converts the library's plain errors for malformed bytes to ProtobufError. */
function guarded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (cause) {
    if (cause instanceof ProtobufError || cause instanceof TypeError) throw cause;
    throw new ProtobufError("malformed", "the body is not a well-formed protobuf message", { cause });
  }
}

/**
 * The kinds that can be read or written as protobuf: those of `resources` whose schema has protobuf numbers, TokenRequest,
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

/** Whether objects of this kind are read and written as protobuf too; those of custom kinds never are. */
export function speaksProtobuf(resource: Resource): boolean {
  return resource.custom === undefined && hasProtobuf(resource.schema);
}

/** Whether objects of this schema can be written as protobuf; those of custom kinds cannot. */
function hasProtobuf(schema: ObjectSchema): boolean {
  return schema.properties["metadata"]?.number !== undefined;
}
