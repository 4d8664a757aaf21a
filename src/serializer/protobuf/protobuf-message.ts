import {
  type AnyForm,
  type ArraySchema,
  type Field,
  type MapSchema,
  type ObjectSchema,
  type Schema,
  writesZero,
} from "../../apimachinery/schema.ts";
import { ProtobufError } from "./protobuf-error.ts";
import {
  type Input,
  type ValueCodec,
  type Writer,
  boolCodec,
  doubleCodec,
  expectWireType,
  int32Codec,
  int64Codec,
  nested,
  notA,
  readFields,
  readNested,
  readText,
  spendValue,
  stringCodecs,
} from "./protobuf-scalars.ts";

type Json = Record<string, unknown>;

/** A message of one schema without length or envelope: reads to the end of the input into `target`, writes the fields of an object. */
export interface MessageCodec {
  readonly readInto: (input: Input, target: Json) => void;
  readonly writeFields: (writer: Writer, object: Json) => void;
}

interface FieldCodec {
  readonly number: number;
  readonly read: (input: Input, wireType: number, target: Json) => void;
  readonly write: (writer: Writer, object: Json) => void;
}

/** Codecs by schema: created once per schema value, and released with it. */
const known = new WeakMap<ObjectSchema, MessageCodec>();

/**
 * The codec of a schema, in the manner of Go's generated code: fields in order of their numbers, values that are no pointers
 * always written, maps sorted by key. Source: gogo/protobuf as used for k8s.io/api.
 */
export function messageCodec(schema: ObjectSchema): MessageCodec {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const fields: FieldCodec[] = [];
  const byNumber = new Map<number, FieldCodec>();
  const codec: MessageCodec = {
    readInto: (input, target) =>
      readFields(input, (number, wireType) => {
        const field = byNumber.get(number);
        field?.read(input, wireType, target);
        return field !== undefined;
      }),
    writeFields: (writer, object) => {
      for (const field of fields) field.write(writer, object);
    },
  };
  // Registered before its fields, since a message may contain itself.
  known.set(schema, codec);
  for (const [key, field] of Object.entries(schema.properties)) {
    if (field.number !== undefined) fields.push(fieldCodec(key, field.number, field));
  }
  fields.sort((a, b) => a.number - b.number);
  for (const field of fields) byNumber.set(field.number, field);
  return codec;
}

function fieldCodec(key: string, number: number, field: Field): FieldCodec {
  const { schema } = field;
  if (schema.type === "array" && schema.wrapped !== true) return listCodec(key, number, schema);
  if (schema.type === "map") return mapCodec(key, number, schema);
  if (field.inline === true && schema.type === "object") return inlineCodec(number, schema);
  const codec = valueCodec(schema);
  const keepsZero = writesZero(field) || field.pointer === true;
  const always = field.pointer !== true && codec.nilable !== true;
  const tag = tagOf(number, codec.wireType);
  return {
    number,
    read: (input, wireType, target) => {
      expectWireType(wireType, codec.wireType, key);
      const value = codec.read(input, target[key]);
      if (value === undefined || (!keepsZero && codec.isZero(value))) delete target[key];
      else target[key] = value;
    },
    write: (writer, object) => {
      const value = object[key] ?? undefined;
      if (value !== undefined || always) codec.write(writer.uint32(tag), value);
    },
  };
}

function listCodec(key: string, number: number, schema: ArraySchema): FieldCodec {
  const codec = valueCodec(schema.items);
  const tag = tagOf(number, codec.wireType);
  return {
    number,
    read: (input, wireType, target) => {
      const list = listAt(target, key);
      if (wireType === 2 && codec.wireType !== 2) {
        readNested(input, () => {
          while (input.reader.pos < input.reader.len) {
            spendValue(input);
            list.push(codec.read(input));
          }
        });
        return;
      }
      expectWireType(wireType, codec.wireType, key);
      spendValue(input);
      list.push(codec.read(input) ?? null);
    },
    write: (writer, object) => {
      for (const item of asList(object[key])) codec.write(writer.uint32(tag), item ?? undefined);
    },
  };
}

function mapCodec(key: string, number: number, schema: MapSchema): FieldCodec {
  const codec = valueCodec(schema.values);
  const valueTag = tagOf(2, codec.wireType);
  return {
    number,
    read: (input, wireType, target) => {
      expectWireType(wireType, 2, key);
      let name = "";
      let value: unknown;
      readNested(input, () =>
        readFields(input, (field, entryType) => {
          if (field > 2) return false;
          expectWireType(entryType, field === 1 ? 2 : codec.wireType, key);
          if (field === 1) name = readText(input);
          else value = codec.read(input, value);
          return true;
        }),
      );
      put(objectAt(target, key), name, value ?? zeroOf(schema.values));
    },
    write: (writer, object) => {
      const map = asObject(object[key]);
      for (const name of Object.keys(map).sort()) {
        writer.uint32(tagOf(number, 2));
        nested(writer, () => {
          writer.uint32(10).string(name);
          codec.write(writer.uint32(valueTag), map[name] ?? undefined);
        });
      }
    },
  };
}

function inlineCodec(number: number, schema: ObjectSchema): FieldCodec {
  const inner = messageCodec(schema);
  return {
    number,
    read: (input, wireType, target) => {
      expectWireType(wireType, 2, schema.name ?? "an inlined object");
      readNested(input, () => inner.readInto(input, target));
    },
    write: (writer, object) => {
      writer.uint32(tagOf(number, 2));
      nested(writer, () => inner.writeFields(writer, object));
    },
  };
}

function valueCodec(schema: Schema): ValueCodec {
  switch (schema.type) {
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return scalarCodec(schema);
    case "object":
      return objectCodec(schema);
    case "any":
      return schema.forms === undefined ? anyCodec : formsCodec(schema.forms);
    case "array":
      return wrappedCodec(schema);
    case "map":
      throw new TypeError("a map stands only directly in an object");
  }
}

function scalarCodec(
  schema: Extract<Schema, { readonly type: "string" | "integer" | "number" | "boolean" }>,
): ValueCodec {
  if (schema.type === "string") return stringCodecs[schema.format ?? ""];
  if (schema.type === "integer") return schema.format === "int32" ? int32Codec : int64Codec;
  return schema.type === "number" ? doubleCodec : boolCodec;
}

function objectCodec(schema: ObjectSchema): ValueCodec {
  const inner = messageCodec(schema);
  return {
    wireType: 2,
    read: (input, previous) => {
      const target = previous === undefined ? {} : asObject(previous);
      readNested(input, () => inner.readInto(input, target));
      return target;
    },
    write: (writer, value) => nested(writer, () => inner.writeFields(writer, asObject(value))),
    isZero: () => false,
  };
}

/** A list that is a message of its own with `items = 1`. */
function wrappedCodec(schema: ArraySchema): ValueCodec {
  const items = listCodec("items", 1, schema);
  return {
    wireType: 2,
    read: (input, previous) => {
      const target: Json = { items: asList(previous) };
      readNested(input, () =>
        readFields(input, (number, wireType) => {
          if (number === 1) items.read(input, wireType, target);
          return number === 1;
        }),
      );
      return target["items"];
    },
    write: (writer, value) => nested(writer, () => items.write(writer, { items: value })),
    isZero: () => false,
  };
}

/** A message with one field that names the type of its value. */
function formsCodec(forms: readonly AnyForm[]): ValueCodec {
  const byNumber = new Map(forms.map((form) => [form.number, { ...form, codec: valueCodec(form.schema) }]));
  return {
    wireType: 2,
    read: (input) => {
      const list: unknown[] = [];
      let object: unknown;
      let flag: unknown;
      readNested(input, () =>
        readFields(input, (number, wireType) => {
          const form = byNumber.get(number);
          if (form === undefined) return false;
          expectWireType(wireType, form.codec.wireType, form.json);
          const value = form.codec.read(input);
          if (form.json === "array") list.push(value);
          else if (form.json === "object") object = value;
          else flag = value;
          return true;
        }),
      );
      return object ?? (list.length > 0 ? list : flag);
    },
    write: (writer, value) =>
      nested(writer, () => {
        const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "boolean" : "object";
        for (const { number, json, codec } of byNumber.values()) {
          const tag = tagOf(number, codec.wireType);
          if (json === "boolean") codec.write(writer.uint32(tag), value !== false);
          else if (json === kind)
            for (const one of asList(json === "array" ? value : [value])) codec.write(writer.uint32(tag), one);
        }
      }),
    isZero: () => false,
  };
}

const anyCodec: ValueCodec = {
  wireType: 2,
  read: (input) => {
    let raw: Uint8Array | undefined;
    readNested(input, () =>
      readFields(input, (number, wireType) => {
        if (number !== 1) return false;
        expectWireType(wireType, 2, "raw JSON");
        raw = input.reader.bytes();
        return true;
      }),
    );
    return raw === undefined || raw.length === 0 ? undefined : parseJson(raw);
  },
  write: (writer, value) =>
    nested(writer, () => {
      if (value !== undefined) writer.uint32(10).string(JSON.stringify(value));
    }),
  isZero: () => false,
};

const maxJsonDepth = 500;

function parseJson(raw: Uint8Array): unknown {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(raw);
    if (jsonDepth(text) <= maxJsonDepth) return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ProtobufError("value", "raw bytes are not JSON", { cause });
  }
  throw new ProtobufError("value", "raw JSON is nested too deeply");
}

/** The deepest nesting of brackets outside of strings; exact for valid JSON. */
function jsonDepth(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === "[" || token === "{") deepest = Math.max(deepest, ++depth);
    else if (token === "]" || token === "}") depth--;
  }
  return deepest;
}

function zeroOf(schema: Schema): unknown {
  switch (schema.type) {
    case "string":
      return schema.format === "quantity" ? "0" : "";
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
    case "map":
      return {};
    case "any":
      return null;
  }
}

function tagOf(number: number, wireType: number): number {
  return ((number << 3) | wireType) >>> 0;
}

/** Sets an own property even when a hostile key such as `__proto__` would reach a setter. */
function put(target: Json, name: string, value: unknown): void {
  if (name === "__proto__") {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}

function listAt(target: Json, key: string): unknown[] {
  const before = target[key];
  if (Array.isArray(before)) return before;
  const list: unknown[] = [];
  target[key] = list;
  return list;
}

function objectAt(target: Json, key: string): Json {
  const before = target[key];
  if (typeof before === "object" && before !== null) return before as Json;
  const object: Json = {};
  target[key] = object;
  return object;
}

function asList(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw notA("list", value);
  return value;
}

function asObject(value: unknown): Json {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw notA("map or object", value);
  return value as Json;
}
