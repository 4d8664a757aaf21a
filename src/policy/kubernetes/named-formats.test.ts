import { expect, test } from "vitest";
import { namedFormats } from "./named-formats.ts";

const cases: Readonly<Record<string, readonly [valid: readonly string[], invalid: readonly string[]]>> = {
  dns1123Label: [["my-label-name"], ["-a", "a.b", ""]],
  dns1123Subdomain: [["apiextensions.k8s.io"], ["A.b"]],
  dns1035Label: [["my-label-name"], ["1a", "a-", "", "a".repeat(64)]],
  qualifiedName: [["k8s.io/v1beta1"], ["a/b/c"]],
  dns1123LabelPrefix: [["my-label-prefix-"], ["-"]],
  dns1123SubdomainPrefix: [["mysubdomain.prefix.-"], ["AB-"]],
  dns1035LabelPrefix: [["my-label-prefix-"], ["1a-"]],
  labelValue: [["", "a_b.C"], ["a b"]],
  uri: [
    ["http://example.com", "/a"],
    ["a", "http://a b/"],
  ],
  uuid: [["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"], ["123e4567"]],
  byte: [["aGVsbG8="], ["", "aGVsbG8", "a===", "a b="]],
  date: [
    ["2021-01-01", "2024-02-29"],
    ["2021-02-29", "2021-13-01", "21-01-01", "2021-01-00"],
  ],
  datetime: [
    ["2021-01-01T00:00:00Z", "2021-01-01t00:00:00.5+02:00"],
    ["2021-01-01", "2021-01-01T24:00:00Z", "2021-01-01T00:00:00"],
  ],
};

test("every format has cases", () => {
  expect(Object.keys(cases)).toEqual([...namedFormats.keys()]);
});

test.each(Object.entries(cases))("%s is told apart", (name, [valid, invalid]) => {
  const problems = (text: string): readonly string[] => namedFormats.get(name)?.problems(text) ?? ["no such format"];
  expect(valid.filter((text) => problems(text).length > 0)).toEqual([]);
  expect(invalid.filter((text) => problems(text).length === 0)).toEqual([]);
});
