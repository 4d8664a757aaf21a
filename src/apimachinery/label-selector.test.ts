import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { labelRequirement, type LabelOperator, type LabelRequirement } from "./label-requirement.ts";
import { labelSelectorFrom, matchesLabels, parseLabelSelector } from "./label-selector.ts";
import { SelectorError } from "./selector-error.ts";

const symbols: Readonly<Partial<Record<LabelOperator, string>>> = { exists: "", gt: ">", lt: "<" };

/** The selector as a client writes it. */
function formatLabelSelector(selector: readonly LabelRequirement[]): string {
  const texts = selector.map(({ key, operator, values }) => {
    if (operator === "!") return `!${key}`;
    if (operator === "in" || operator === "notin") return `${key} ${operator} (${values.join(",")})`;
    return `${key}${symbols[operator] ?? operator}${values.join(",")}`;
  });
  return texts.join(",");
}

describe("the canonical text", () => {
  test.each([
    ["", ""],
    ["  ", ""],
    ["x=a", "x=a"],
    ["x==a", "x==a"],
    ["x!=a", "x!=a"],
    ["x", "x"],
    ["!x", "!x"],
    ["! x", "!x"],
    ["x=", "x="],
    ["x= ,z", "x=,z"],
    ["z,a", "a,z"],
    ["x in (b,a,b)", "x in (a,b)"],
    ["x notin (a)", "x notin (a)"],
    ["x in ()", "x in ()"],
    ["x in (,a)", "x in (,a)"],
    ["x in (a,)", "x in (,a)"],
    ["x in (in,notin)", "x in (in,notin)"],
    ["in in (in)", "in in (in)"],
    ["x>1,y<2", "x>1,y<2"],
    ["a.io/b=c\t,\nd", "a.io/b=c,d"],
  ])("of %j is %j", (text, canonical) => {
    expect(formatLabelSelector(parseLabelSelector(text))).toBe(canonical);
  });
});

describe("refusals, worded as Kubernetes words them", () => {
  const name =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  test.each([
    ["x=a||y=b", `unable to parse requirement: values[0][x]: Invalid value: "a||y": `],
    ["x==a==b", "found '==', expected: ',' or 'end of string'"],
    ["!x=a", "found '=', expected: ',' or 'end of string'"],
    ["x,", "found '', expected: identifier after ','"],
    [",x", "found ',', expected: !, identifier, or 'end of string'"],
    ["x,,y", "found ',', expected: identifier after ','"],
    ["=a", "found '=', expected: !, identifier, or 'end of string'"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["x y", "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"],
    ["x in a", "unable to parse requirement: found 'a' expected: '('"],
    ["x in (a", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["x in (a b)", "unable to parse requirement: found 'b', expected: ',' or ')'"],
    ["x=(", "unable to parse requirement: found '(', expected: identifier"],
    ["_=a", `unable to parse requirement: <nil>: Invalid value: "_": ${name}`],
    ["__proto__", `unable to parse requirement: <nil>: Invalid value: "__proto__": ${name}`],
    [
      "x>a",
      `unable to parse requirement: values[0]: Invalid value: "a": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    ["x>9223372036854775808", "for 'Gt', 'Lt' operators, the value must be an integer"],
    ["x\0=a", "unable to parse requirement: "],
    ["y<-0", 'unable to parse requirement: values[0][y]: Invalid value: "-0": a valid label'],
    ["\0", "unable to parse requirement: "],
  ])("%j", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(SelectorError);
    expect(() => parseLabelSelector(text)).toThrow(message);
  });
});

describe("matching", () => {
  const labels = { app: "web", tier: "3", empty: "" };
  test.each([
    ["", true],
    ["app", true],
    ["app=web", true],
    ["app==db", false],
    ["app!=db", true],
    ["other!=db", true],
    ["app in (db,web)", true],
    ["app notin (db,web)", false],
    ["other notin (a)", true],
    ["other in (a)", false],
    ["!other", true],
    ["!app", false],
    ["other", false],
    ["empty=", true],
    ["empty", true],
    ["other=", false],
    ["tier>2", true],
    ["tier>3", false],
    ["tier<10", true],
    ["app>1", false],
    ["other<1", false],
    ["app=web,tier=4", false],
    ["constructor", false],
    ["toString!=a", true],
  ])("%j against the labels is %j", (text, result) => {
    expect(matchesLabels(parseLabelSelector(text), labels)).toBe(result);
  });

  test("an object without labels has none", () => {
    expect(matchesLabels(parseLabelSelector("!a"), undefined)).toBe(true);
    expect(matchesLabels(parseLabelSelector("a"), undefined)).toBe(false);
  });
});

describe("LabelSelector objects", () => {
  test("an absent one selects nothing, an empty one everything", () => {
    expect(labelSelectorFrom(undefined)).toEqual([{ key: "", operator: "in", values: [] }]);
    expect(matchesLabels(labelSelectorFrom(undefined), { a: "b" })).toBe(false);
    expect(matchesLabels(labelSelectorFrom({}), undefined)).toBe(true);
  });

  test("matchLabels and matchExpressions must all hold", () => {
    const selector = labelSelectorFrom({
      matchLabels: { app: "web" },
      matchExpressions: [
        { key: "tier", operator: "In", values: ["b", "a"] },
        { key: "old", operator: "DoesNotExist" },
        { key: "zone", operator: "Exists" },
        { key: "env", operator: "NotIn", values: ["prod"] },
      ],
    });
    expect(formatLabelSelector(selector)).toBe("app=web,env notin (prod),!old,tier in (a,b),zone");
  });

  test.each([
    [{ key: "a", operator: "Near" }, '"Near" is not a valid label selector operator'],
    [{ key: "a", operator: "in", values: ["x"] }, '"in" is not a valid label selector operator'],
    [{ key: "a", operator: "In" }, "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
    [
      { key: "a", operator: "Exists", values: ["x"] },
      'values: Invalid value: ["x"]: values set must be empty for exists and does not exist',
    ],
    [{ key: "", operator: "Exists" }, 'key: Invalid value: "": name part must be non-empty'],
  ])("%j is refused", (expression, message) => {
    expect(() => labelSelectorFrom({ matchExpressions: [expression] })).toThrow(message);
  });
});

const key = fc.constantFrom("app", "a.io/x", "in", "tier");
const value = fc.constantFrom("", "a", "b-c", "7", "notin");
type Parts = readonly [key: string, operator: LabelOperator, values: readonly string[]];
const requirement: fc.Arbitrary<Parts> = fc.oneof(
  fc.tuple(key, fc.constantFrom("=", "==", "!="), fc.tuple(value)),
  fc.tuple(key, fc.constantFrom("in", "notin"), fc.array(value, { minLength: 1, maxLength: 3 })),
  fc.tuple(key, fc.constantFrom("exists", "!"), fc.constant([])),
  fc.tuple(key, fc.constantFrom("gt", "lt"), fc.tuple(fc.integer({ min: 0 }).map(String))),
);

test("parsing the canonical text gives the selector back", () => {
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), (parts) => {
      const text = parts.map((part) => formatLabelSelector([labelRequirement(...part)])).join(",");
      const selector = parseLabelSelector(text);
      expect(selector).toHaveLength(parts.length);
      expect(parseLabelSelector(formatLabelSelector(selector))).toEqual(selector);
    }),
  );
});

test("a requirement and its opposite never both hold", () => {
  fc.assert(
    fc.property(fc.dictionary(key, value), key, value, (labels, wanted, text) => {
      const holds = (operator: "=" | "!="): boolean =>
        matchesLabels([labelRequirement(wanted, operator, [text])], labels);
      expect(holds("=")).toBe(!holds("!="));
    }),
  );
});

test("any text parses or is refused with a SelectorError", () => {
  const unit = fc.constantFrom("a", "in", "notin", " ", "=", "!", "(", ")", ",", "<", ">", "\0", "é");
  fc.assert(
    fc.property(fc.string({ unit }), (text) => {
      const error = refusal(() => parseLabelSelector(text));
      expect(error === undefined || error instanceof SelectorError).toBe(true);
    }),
  );
});

function refusal(call: () => unknown): unknown {
  try {
    call();
    return undefined;
  } catch (error) {
    return error;
  }
}
