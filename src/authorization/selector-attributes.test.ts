import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fieldSelectorText,
  labelSelectorText,
  partialSelectorText,
  reviewedFieldSelector,
  reviewedLabelSelector,
} from "./selector-attributes.ts";

describe("selectors of a query", () => {
  it("become requirements in the words of the API", () => {
    expect(fieldSelectorText("a=b,c!=d").requirements).toEqual([
      { key: "a", operator: "In", values: ["b"] },
      { key: "c", operator: "NotIn", values: ["d"] },
    ]);
    expect(labelSelectorText("a=b,c notin (d,e),f,!g").requirements).toEqual([
      { key: "a", operator: "In", values: ["b"] },
      { key: "c", operator: "NotIn", values: ["d", "e"] },
      { key: "f", operator: "Exists", values: [] },
      { key: "g", operator: "DoesNotExist", values: [] },
    ]);
  });

  it("ask for everything where they cannot be read, and never throw", () => {
    expect(fieldSelectorText("a")).toEqual({ requirements: [], isPartial: true });
    fc.assert(
      fc.property(fc.string(), (text) => {
        for (const read of [fieldSelectorText(text), labelSelectorText(text)]) {
          expect(read.isPartial ? read.requirements : []).toEqual([]);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("selectors of a review", () => {
  const asked = { key: "a", operator: "In", values: ["b"] };

  it("keep what can be read, and say that there was more", () => {
    for (const wrong of [
      { key: "a", operator: "Later", values: ["b"] },
      { key: "a", operator: "Exists" },
      { key: "a", operator: "In", values: ["b", "c"] },
      { key: "a", operator: "In" },
    ]) {
      const read = reviewedFieldSelector({ requirements: [asked, wrong] });
      expect(read).toEqual({ requirements: [asked], isPartial: true });
      expect(partialSelectorText("fieldSelector", read)).toContain("fieldSelector partially ignored");
      expect(partialSelectorText("fieldSelector", reviewedFieldSelector({ requirements: [wrong] }))).toContain(
        "fieldSelector ignored",
      );
    }
    const odd = { key: "a b", operator: "In", values: ["b"] };
    expect(reviewedLabelSelector({ requirements: [asked, odd] })).toEqual({ requirements: [asked], isPartial: true });
  });

  it("say nothing where there is none, or all was read", () => {
    expect(partialSelectorText("fieldSelector", reviewedFieldSelector(undefined))).toBeUndefined();
    expect(partialSelectorText("labelSelector", reviewedLabelSelector({ rawSelector: "a in (b)" }))).toBeUndefined();
  });
});
