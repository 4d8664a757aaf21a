import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeHeader, decodeRecord, encodeHeader, encodeRecord } from "./record.ts";
import type { LogHeader } from "./revision-log.ts";
import type { StoreEvent } from "./store.ts";

const revision = fc.integer({ min: 1, max: 2 ** 48 - 1 });
const keys = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });

const events: fc.Arbitrary<StoreEvent> = fc.oneof(
  fc.record({
    type: fc.constant("put" as const),
    key: keys,
    value: fc.uint8Array({ maxLength: 200 }),
    revision,
    created: fc.boolean(),
  }),
  fc.record({ type: fc.constant("delete" as const), key: keys, revision }),
);

function plain(event: StoreEvent | undefined): unknown {
  return event?.type === "put" ? { ...event, value: [...event.value] } : event;
}

describe("a record", () => {
  it("decodes to the change that was encoded", () => {
    fc.assert(
      fc.property(events, (event) => {
        expect(plain(decodeRecord(encodeRecord(event), event.revision))).toEqual(plain(event));
      }),
    );
  });

  it("is damaged when any bit changes, when it is cut, or when it lies under another revision", () => {
    fc.assert(
      fc.property(events, fc.nat(), fc.nat(7), (event, position, bit) => {
        const bytes = encodeRecord(event);
        const changed = Buffer.from(bytes);
        const at = position % bytes.length;
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        expect(decodeRecord(changed, event.revision)).toBeUndefined();
        expect(decodeRecord(bytes.subarray(0, at), event.revision)).toBeUndefined();
        expect(decodeRecord(bytes, event.revision + 1)).toBeUndefined();
      }),
    );
  });

  it("never throws on noise", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        expect(decodeRecord(Buffer.from(noise), 1)).toBeUndefined();
        expect(decodeHeader(Buffer.from(noise))).toBe("damaged");
      }),
    );
  });
});

describe("a header", () => {
  const headers: fc.Arbitrary<LogHeader> = fc.record({
    last: revision,
    count: revision,
    compacted: revision,
    trimmed: revision,
  });

  it("decodes to what was encoded, and is damaged when any bit changes", () => {
    fc.assert(
      fc.property(headers, fc.nat(), fc.nat(7), (header, position, bit) => {
        const bytes = encodeHeader(header);
        expect(decodeHeader(bytes)).toEqual(header);
        const at = position % bytes.length;
        bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
        expect(decodeHeader(bytes)).toBe("damaged");
      }),
    );
  });
});
