import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  configMapKeyProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  generatedName,
  generatedNameAlphabet,
  labelValueProblems,
  pathSegmentProblems,
  qualifiedNameProblems,
} from "./names.ts";

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const configKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

type Case = readonly [value: string, problems: readonly string[]];

const rules: Record<string, { readonly check: (text: string) => readonly string[]; readonly cases: readonly Case[] }> =
  {
    "a DNS label": {
      check: dnsLabelProblems,
      cases: [
        ["a", []],
        ["0-9", []],
        ["x".repeat(63), []],
        ["x".repeat(64), ["must be no more than 63 characters"]],
        ["", [label]],
        ["-a", [label]],
        ["a-", [label]],
        ["A", [label]],
        ["a_b", [label]],
        ["a.b", ["must not contain dots"]],
        ["é".repeat(32), ["must be no more than 63 characters", label]],
        ["a\n", [label]],
      ],
    },
    "a DNS subdomain": {
      check: dnsSubdomainProblems,
      cases: [
        ["a.b-c.0", []],
        ["x".repeat(253), []],
        ["x".repeat(254), ["must be no more than 253 characters"]],
        ["", [subdomain]],
        [".a", [subdomain]],
        ["a.", [subdomain]],
        ["a..b", [subdomain]],
        ["a-.b", [subdomain]],
        ["a.-b", [subdomain]],
        ["A.b", [subdomain]],
        ["a/b", [subdomain]],
      ],
    },
    "a qualified name": {
      check: qualifiedNameProblems,
      cases: [
        ["app", []],
        ["kubernetes.io/metadata.name", []],
        ["A_b.C-9", []],
        ["x".repeat(64), ["name part must be no more than 63 bytes"]],
        ["", ["name part must be non-empty", name]],
        ["a.io/", ["name part must be non-empty", name]],
        ["/a", ["prefix part must be non-empty"]],
        ["A.io/a", [`prefix part ${subdomain}`]],
        [`${"x".repeat(254)}/a`, ["prefix part must be no more than 253 bytes"]],
        ["__proto__", [name]],
        [
          "a/b/c",
          [
            `a valid label key ${name.slice("name part ".length)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
          ],
        ],
      ],
    },
    "a label value": {
      check: labelValueProblems,
      cases: [
        ["", []],
        ["a.B_c-1", []],
        ["x".repeat(64), ["must be no more than 63 bytes"]],
        ["-a", [value]],
        ["a b", [value]],
      ],
    },
    "a path segment": {
      check: pathSegmentProblems,
      cases: [
        ["system:node:a", []],
        ["...", []],
        [".", ["may not be '.'"]],
        ["..", ["may not be '..'"]],
        ["a/%2e", ["may not contain '/'", "may not contain '%'"]],
      ],
    },
    "a config map key": {
      check: configMapKeyProblems,
      cases: [
        ["ca.crt", []],
        ["__proto__", []],
        ["..", ["must not be '..'"]],
        [".", ["must not be '.'"]],
        ["..a", ["must not start with '..'"]],
        ["", [configKey]],
        ["a/b", [configKey]],
        ["x".repeat(254), ["must be no more than 253 characters"]],
      ],
    },
  };

describe.each(Object.entries(rules))("%s", (_rule, { check, cases }) => {
  test.each(cases)("%j is judged in the words of Kubernetes", (text, problems) => {
    expect(check(text)).toEqual(problems);
  });
});

test("the loops agree with the published regular expressions", () => {
  const published = (format: string): RegExp => new RegExp(`^(?:${format})$`);
  const text = fc.string({ unit: fc.constantFrom("a", "Z", "0", "-", ".", "_", "/", "é"), maxLength: 12 });
  fc.assert(
    fc.property(text, (candidate) => {
      const regexes: [(text: string) => readonly string[], RegExp][] = [
        [dnsLabelProblems, published("[a-z0-9]([-a-z0-9]*[a-z0-9])?")],
        [dnsSubdomainProblems, published("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")],
        [labelValueProblems, published("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")],
      ];
      for (const [check, regex] of regexes) expect(check(candidate).length === 0).toBe(regex.test(candidate));
    }),
  );
});

test("a name of megabytes is refused without exhausting the stack", () => {
  const huge = "a".repeat(3 << 20);
  expect(dnsSubdomainProblems(`${huge}!`)).toHaveLength(2);
  expect(qualifiedNameProblems(huge)).toEqual(["name part must be no more than 63 bytes"]);
});

test("a generated name is the prefix, cut to 58 characters, and five letters of the alphabet", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "-"), maxLength: 80 }),
      fc.uint8Array({ minLength: 10, maxLength: 10 }),
      (prefix, bytes) => {
        const made = generatedName(prefix, (size) => bytes.subarray(0, size));
        expect(made.slice(0, -5)).toBe(prefix.slice(0, 58));
        expect(
          made
            .slice(-5)
            .split("")
            .every((letter) => generatedNameAlphabet.includes(letter)),
        ).toBe(true);
        expect(made.length).toBeLessThanOrEqual(63);
      },
    ),
  );
});

test("different random bytes give different names", () => {
  expect(generatedName("a-", (size) => new Uint8Array(size))).toBe("a-bbbbb");
  expect(generatedName("a-", (size) => new Uint8Array(size).fill(7))).not.toBe("a-bbbbb");
});
