import protobuf from "protobufjs/minimal.js";

import type { StringSchema } from "../../apimachinery/schema.ts";
import { formatDuration, formatTime, parseDuration, parseTime } from "./protobuf-times.ts";
import { ProtobufError } from "./protobuf-error.ts";

/** The library's reader, bounded by `len`. */
export type Reader = protobuf.Reader;
/** The library's writer. */
export type Writer = protobuf.Writer;

/** The input, and the remaining number of values: nested messages are counted, so that a few bytes cannot become many objects. */
export interface Input {
  readonly reader: Reader;
  values: number;
}

/**
 * The wire form of one value after its tag, in both directions. `read` receives the value of an earlier occurrence of the same field,
 * into which messages are merged; it returns `undefined` for a value that JSON leaves out (the zero time).
 * `write` takes `undefined` for the zero value.
 */
export interface ValueCodec {
  readonly wireType: 0 | 1 | 2;
  readonly read: (input: Input, previous?: unknown) => unknown;
  readonly write: (writer: Writer, value: unknown) => void;
  /** True for what Go's `omitempty` leaves out of JSON. */
  readonly isZero: (value: unknown) => boolean;
  /** True where Go distinguishes nil from empty although the field is no pointer (byte slices). */
  readonly nilable?: boolean;
}

/** Takes one value from the budget. @throws ProtobufError `too-large` where it is exhausted. */
export function spendValue(input: Input): void {
  if (--input.values < 0) throw new ProtobufError("too-large", "too many values");
}

/** Runs `body` on the length-prefixed part that follows; no read inside can leave it. */
export function readNested<T>(input: Input, body: () => T): T {
  spendValue(input);
  const { reader } = input;
  const length = reader.size();
  const outer = reader.len;
  const end = reader.pos + length;
  if (end > outer) throw new ProtobufError("malformed", "a nested message is longer than what holds it");
  reader.len = end;
  const value = body();
  reader.len = outer;
  return value;
}

/** Calls `onField` for each field until the end of the present message; it returns false for a field it does not know, which is skipped. */
export function readFields({ reader }: Input, onField: (number: number, wireType: number) => boolean): void {
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    if (tag >>> 3 === 0) throw new ProtobufError("malformed", "field number 0");
    if (!onField(tag >>> 3, tag & 7)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
}

/** Refuses a known field with another wire type than its own. */
export function expectWireType(found: number, wanted: number, what: string): void {
  if (found !== wanted) throw new ProtobufError("wire-type", `${what} has wire type ${found}, not ${wanted}`);
}

/** Text that must be UTF-8. @throws ProtobufError `utf8`. */
export function readText({ reader }: Input): string {
  try {
    return reader.stringVerify();
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw new ProtobufError("utf8", "text is not UTF-8", { cause });
  }
}

/** `bool`. */
export const boolCodec: ValueCodec = {
  wireType: 0,
  read: ({ reader }) => reader.bool(),
  write: (writer, value = false) => {
    if (typeof value !== "boolean") throw notA("boolean", value);
    writer.bool(value);
  },
  isZero: (value) => value === false,
};

/** `int32`; a JSON number outside its range is refused. */
export const int32Codec: ValueCodec = {
  wireType: 0,
  read: ({ reader }) => reader.int32(),
  write: (writer, value = 0) => {
    if (typeof value !== "number" || !Number.isInteger(value) || value !== (value | 0))
      throw notA("32-bit integer", value);
    writer.int32(value);
  },
  isZero: (value) => value === 0,
};

/** JSON numbers are doubles, so values beyond 2^53 are rounded as `JSON.parse` rounds them, and written back within 64 bits. */
export const int64Codec: ValueCodec = {
  wireType: 0,
  read: readInt64,
  write: (writer, value = 0) => {
    if (typeof value !== "number" || !Number.isInteger(value)) throw notA("integer", value);
    writeInt64(writer, value);
  },
  isZero: (value) => value === 0,
};

/** `double`; JSON has no infinities, so they are refused. */
export const doubleCodec: ValueCodec = {
  wireType: 1,
  read: ({ reader }) => {
    const value = reader.double();
    if (!Number.isFinite(value)) throw new ProtobufError("value", "a number is not finite");
    return value;
  },
  write: (writer, value = 0) => {
    if (typeof value !== "number") throw notA("number", value);
    writer.double(value);
  },
  isZero: (value) => value === 0,
};

/** The codec of each string format; plain text under the empty name. */
export const stringCodecs: Readonly<Record<"" | NonNullable<StringSchema["format"]>, ValueCodec>> = {
  "": {
    wireType: 2,
    read: readText,
    write: (writer, value = "") => {
      writer.string(text(value));
    },
    isZero: (value) => value === "",
  },
  byte: {
    wireType: 2,
    read: ({ reader }) => Buffer.from(reader.bytes()).toString("base64"),
    write: (writer, value = "") => {
      const encoded = text(value);
      if (!/^[A-Za-z0-9+/\r\n]*={0,2}[\r\n]*$/.test(encoded)) throw new ProtobufError("value", "bytes are not base64");
      writer.bytes(Buffer.from(encoded, "base64"));
    },
    isZero: (value) => value === "",
    nilable: true,
  },
  "date-time": timestampCodec(false),
  "micro-time": timestampCodec(true),
  duration: {
    wireType: 2,
    read: (input) => {
      let nanos = 0n;
      readNested(input, () =>
        readFields(input, (number, wireType) => {
          if (number !== 1) return false;
          expectWireType(wireType, 0, "a duration");
          const { high, low } = input.reader.int64();
          nanos = (BigInt(high) << 32n) | BigInt(low >>> 0);
          return true;
        }),
      );
      return formatDuration(nanos);
    },
    write: (writer, value = "0s") => {
      const nanos = parseDuration(text(value));
      nested(writer, () => writer.uint32(8).int64(nanos.toString()));
    },
    isZero: () => false,
  },
  quantity: {
    wireType: 2,
    read: (input) => {
      let amount = "0";
      readNested(input, () =>
        readFields(input, (number, wireType) => {
          if (number !== 1) return false;
          expectWireType(wireType, 2, "a quantity");
          amount = readText(input);
          return true;
        }),
      );
      return amount;
    },
    write: (writer, value = "0") => {
      const amount = typeof value === "number" ? String(value) : text(value);
      nested(writer, () => writer.uint32(10).string(amount));
    },
    isZero: () => false,
  },
  "int-or-string": {
    wireType: 2,
    read: readIntOrString,
    write: (writer, value = 0) => {
      const isText = typeof value === "string";
      nested(writer, () => {
        writer.uint32(8).int64(isText ? 1 : 0);
        int32Codec.write(writer.uint32(16), isText ? 0 : value);
        writer.uint32(26).string(isText ? value : "");
      });
    },
    isZero: () => false,
  },
};

/** Writes what `body` writes as one length-prefixed part. */
export function nested(writer: Writer, body: () => void): void {
  writer.fork();
  body();
  writer.ldelim();
}

/** An error for a JSON value of the wrong type; names the wanted type and never the value. */
export function notA(wanted: string, value: unknown): ProtobufError {
  return new ProtobufError("value", `a ${wanted} is wanted where the object has a value of type ${typeof value}`);
}

function text(value: unknown): string {
  if (typeof value !== "string") throw notA("string", value);
  return value;
}

function readInt64({ reader }: Input): number {
  const value: protobuf.Long | number = reader.int64();
  return typeof value === "number" ? value : value.high * 2 ** 32 + (value.low >>> 0);
}

function writeInt64(writer: Writer, value: number): void {
  if (Number.isSafeInteger(value)) {
    writer.int64(value);
    return;
  }
  const limit = 2n ** 63n;
  const exact = BigInt(value);
  const bounded = exact >= limit ? limit - 1n : exact < -limit ? -limit : exact;
  writer.int64(bounded.toString());
}

function timestampCodec(micro: boolean): ValueCodec {
  return {
    wireType: 2,
    read: (input) => {
      let seconds: number | undefined;
      let nanos = 0;
      const empty = readNested(input, () => {
        const nothing = input.reader.pos === input.reader.len;
        readFields(input, (number, wireType) => {
          if (number > 2) return false;
          expectWireType(wireType, 0, "a time");
          if (number === 1) seconds = readInt64(input);
          else nanos = input.reader.int32();
          return true;
        });
        return nothing;
      });
      return empty ? undefined : formatTime(seconds ?? 0, nanos, micro);
    },
    write: (writer, value) => {
      const time = value === undefined ? undefined : parseTime(text(value));
      nested(writer, () => {
        if (time === undefined) return;
        writer.uint32(8).int64(time.seconds);
        writer.uint32(16).int32(micro ? time.micros * 1000 : 0);
      });
    },
    isZero: () => false,
  };
}

function readIntOrString(input: Input): string | number {
  let kind = 0;
  let number = 0;
  let words = "";
  readNested(input, () =>
    readFields(input, (field, wireType) => {
      if (field > 3) return false;
      expectWireType(wireType, field === 3 ? 2 : 0, "an int-or-string");
      if (field === 1) kind = readInt64(input);
      else if (field === 2) number = input.reader.int32();
      else words = readText(input);
      return true;
    }),
  );
  if (kind !== 0 && kind !== 1) throw new ProtobufError("value", "an int-or-string is neither");
  return kind === 1 ? words : number;
}
