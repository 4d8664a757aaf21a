import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineCutter } from "./watch-events.ts";

describe("lineCutter", () => {
  test("yields the same lines however the stream is cut into chunks", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-zä]{1,9}$/)), fc.array(fc.nat({ max: 12 })), (lines, sizes) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const cutter = lineCutter(100);
        const seen: string[] = [];
        let at = 0;
        for (const size of [...sizes, bytes.length]) {
          for (const line of cutter.push(bytes.subarray(at, at + size)) ?? []) seen.push(line.toString());
          at += size;
        }
        expect(seen).toEqual(lines);
        expect(cutter.rest()).toHaveLength(0);
      }),
      { numRuns: 200 },
    );
  });

  test("refuses a line that is too long, finished or not", () => {
    expect(lineCutter(4).push(Buffer.from("12345\n"))).toBeUndefined();
    const cutter = lineCutter(4);
    expect(cutter.push(Buffer.from("123"))).toEqual([]);
    expect(cutter.push(Buffer.from("45"))).toBeUndefined();
  });

  test("skips blank lines and keeps what is unfinished", () => {
    const cutter = lineCutter(10);
    expect(cutter.push(Buffer.from("\n\r\na\nrest"))?.map(String)).toEqual(["a"]);
    expect(cutter.rest().toString()).toBe("rest");
  });
});
