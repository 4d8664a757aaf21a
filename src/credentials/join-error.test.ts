import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JoinError, plainText } from "./join-error.ts";

test("a message never holds a control character, whatever a server put into it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      // oxlint-disable-next-line no-control-regex -- finding them is the purpose
      expect(new JoinError("refused", text).message).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/);
    }),
    { numRuns: 200 },
  );
});

test("text of a server is cut to a bounded length", () => {
  expect(plainText("a".repeat(1000), 10)).toBe(`${"a".repeat(10)}…`);
});
