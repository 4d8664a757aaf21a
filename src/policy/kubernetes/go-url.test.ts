import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseGoUrl, type GoUrl } from "./go-url.ts";

function url(text: string): GoUrl {
  const parsed = parseGoUrl(text);
  if ("problem" in parsed) throw new TypeError(parsed.problem);
  return parsed.url;
}

describe("parseGoUrl", () => {
  test("takes a URL apart", () => {
    expect(url("HTTPS://user:pass@example.com:80/a%2fb?k1=a&k2=b&k2=c&x+y=%7e")).toMatchObject({
      scheme: "https",
      host: "example.com:80",
      hostname: "example.com",
      port: "80",
      path: "/a%2fb",
      query: new Map([
        ["k1", ["a"]],
        ["k2", ["b", "c"]],
        ["x y", ["~"]],
      ]),
    });
  });

  test.each([
    ["/absolute-path", { scheme: "", host: "", hostname: "", port: "", path: "/absolute-path" }],
    ["https://[::1]:80/", { host: "[::1]:80", hostname: "::1", port: "80" }],
    ["https://[::1]/", { host: "[::1]", hostname: "::1", port: "" }],
    ["https://example.com/path with spaces/", { path: "/path%20with%20spaces/" }],
    ["https://example.com", { path: "" }],
    ["https://example.com/ü", { path: "/%C3%BC" }],
    ["https://example.com/path?", { path: "/path", query: new Map() }],
    ["mailto:a@b", { scheme: "mailto", host: "", path: "" }],
    ["https://example.com/a#b?c", { path: "/a", query: new Map() }],
    ["//host/path", { host: "", path: "//host/path" }],
    ["https://example.com/?a;b=1&c=%zz&d=1", { query: new Map([["d", ["1"]]]) }],
  ])("reads %s", (text, expected) => {
    expect(url(text)).toMatchObject(expected);
  });

  test.each([
    ["", 'parse "": empty url'],
    ["../relative-path", 'parse "../relative-path": invalid URI for request'],
    ["https://a:b:c/", 'parse "https://a:b:c/": invalid port ":b:c" after host'],
    ["https://a b/", 'parse "https://a b/": invalid character " " in host name'],
    ["https://[::1", `parse "https://[::1": missing ']' in host`],
    ["https://[1.2.3.4]/", 'parse "https://[1.2.3.4]/": invalid IPv6 literal'],
    ["/a%zz", 'parse "/a%zz": invalid URL escape "%zz"'],
    ["https://a/\n", 'parse "https://a/\\n": net/url: invalid control character in URL'],
    [":a", 'parse ":a": missing protocol scheme'],
    ["https://a%41/", 'parse "https://a%41/": invalid URL escape "%41"'],
    ["https://a\\b@c/", 'parse "https://a\\\\b@c/": net/url: invalid userinfo'],
  ])("refuses %j", (text, problem) => {
    expect(parseGoUrl(text)).toEqual({ problem });
  });

  test("keeps keys of a query that would be special in JavaScript", () => {
    expect(url("/?__proto__=1&constructor=2").query).toEqual(
      new Map([
        ["__proto__", ["1"]],
        ["constructor", ["2"]],
      ]),
    );
  });

  test("never throws", () => {
    const text = fc.oneof(
      fc.webUrl(),
      fc.string(),
      fc.string({ unit: fc.constantFrom(...Array.from("ha:/@?#[]%2.&=;+ ")) }),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(() => parseGoUrl(given)).not.toThrow();
      }),
      { numRuns: 200 },
    );
  });

  test("takes every URL that the web takes", () => {
    fc.assert(
      fc.property(fc.webUrl(), (given) => {
        expect(url(given).hostname.toLowerCase()).toBe(new URL(given).hostname);
      }),
    );
  });
});
