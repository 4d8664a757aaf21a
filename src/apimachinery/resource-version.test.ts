import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeContinueToken } from "./continue-token.ts";
import { listFrom, readVersion, watchStart } from "./resource-version.ts";
import { StatusError } from "./status.ts";

const token = encodeContinueToken({ revision: 7, after: "a/b" });

function query(text: string): URLSearchParams {
  return new URLSearchParams(text);
}

function errorOf(call: () => unknown): StatusError | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
}

describe("get", () => {
  test.each([
    [null, undefined],
    ["", undefined],
    ["0", 0],
    ["12", 12],
    ["18446744073709551615", Number.MAX_SAFE_INTEGER],
  ])("of %j", (text, revision) => {
    expect(readVersion(text)).toBe(revision);
  });

  test.each(["abc", "-1", "01", "1.5", "1e3", " 1", "0x1", "9".repeat(21), "１"])("%j is a bad request", (text) => {
    const error = errorOf(() => readVersion(text));
    expect(error?.reason).toBe("BadRequest");
    expect(error?.message).toContain(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}`,
    );
  });
});

describe("list", () => {
  test.each([
    ["", 0, { kind: "newest" }],
    ["", 10, { kind: "newest" }],
    ["resourceVersion=", 0, { kind: "newest" }],
    ["resourceVersion=0", undefined, { kind: "any" }],
    ["resourceVersion=0", 10, { kind: "any" }],
    ["resourceVersion=5", undefined, { kind: "atLeast", revision: 5 }],
    ["resourceVersion=5", 0, { kind: "atLeast", revision: 5 }],
    ["resourceVersion=5", 10, { kind: "exactly", revision: 5 }],
    ["resourceVersion=5&resourceVersionMatch=NotOlderThan", 10, { kind: "atLeast", revision: 5 }],
    ["resourceVersion=0&resourceVersionMatch=NotOlderThan", 10, { kind: "any" }],
    ["resourceVersion=5&resourceVersionMatch=Exact", undefined, { kind: "exactly", revision: 5 }],
    [`continue=${token}`, 10, { kind: "continue", token: { revision: 7, after: "a/b" } }],
    [`continue=${token}&resourceVersion=0`, 10, { kind: "continue", token: { revision: 7, after: "a/b" } }],
  ])("%s with limit %j", (text, limit, moment) => {
    expect(listFrom(query(text), limit)).toEqual(moment);
  });

  test.each([
    [
      "resourceVersionMatch=Exact",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
    ],
    [
      "resourceVersion=0&resourceVersionMatch=Exact",
      'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ],
    [
      "resourceVersion=5&resourceVersionMatch=Near",
      'resourceVersionMatch: Unsupported value: "Near": supported values: "Exact", "NotOlderThan", ""',
    ],
    [
      `resourceVersion=5&resourceVersionMatch=Exact&continue=${token}`,
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ],
    ["sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
    ["sendInitialEvents=false", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
  ])("%s is invalid", (text, message) => {
    const error = errorOf(() => listFrom(query(text), 10));
    expect(error?.code).toBe(422);
    expect(error?.message).toBe(`ListOptions.meta.k8s.io "" is invalid: ${message}`);
    expect(error?.details).toMatchObject({ group: "meta.k8s.io", kind: "ListOptions" });
  });

  test("several faults are told at once", () => {
    expect(
      errorOf(() => listFrom(query("resourceVersionMatch=Near&sendInitialEvents=1"), 0))?.details?.causes,
    ).toHaveLength(3);
  });

  test.each([
    ["resourceVersion=x", "invalid resource version: "],
    ["continue=!", "invalid continue token: continue key is not valid: illegal base64 data at input byte 0"],
    [`continue=${token}&resourceVersion=5`, "specifying resource version is not allowed when using continue"],
  ])("%s is a bad request", (text, message) => {
    const error = errorOf(() => listFrom(query(text), 10));
    expect(error?.reason).toBe("BadRequest");
    expect(error?.message).toContain(message);
  });
});

describe("watch", () => {
  const initial = "resourceVersionMatch=NotOlderThan&sendInitialEvents";
  test.each([
    ["", { revision: undefined, state: "send" }],
    ["resourceVersion=0", { revision: 0, state: "send" }],
    ["resourceVersion=5", { revision: 5, state: "skip" }],
    ["allowWatchBookmarks=true&resourceVersion=5", { revision: 5, state: "skip" }],
    [`${initial}=true&allowWatchBookmarks=true`, { revision: undefined, state: "send-and-mark" }],
    [`${initial}=true&allowWatchBookmarks=true&resourceVersion=5`, { revision: 5, state: "send-and-mark" }],
    [`${initial}=1&resourceVersion=0`, { revision: 0, state: "send" }],
    [`${initial}=true&allowWatchBookmarks=false`, { revision: undefined, state: "send" }],
    [`${initial}=false`, { revision: undefined, state: "skip" }],
    [`${initial}=False&resourceVersion=0`, { revision: undefined, state: "skip" }],
    [`${initial}=0&resourceVersion=5`, { revision: 5, state: "skip" }],
  ])("%s", (text, start) => {
    expect(watchStart(query(text))).toEqual(start);
  });

  test.each([
    [
      "sendInitialEvents=true",
      "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ],
    [
      "resourceVersionMatch=NotOlderThan",
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    ],
    [
      `${initial}=true&continue=${token}`,
      "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ],
  ])("%s is invalid", (text, message) => {
    const error = errorOf(() => watchStart(query(text)));
    expect(error?.code).toBe(422);
    expect(error?.message).toBe(`ListOptions.meta.k8s.io "" is invalid: ${message}`);
  });

  test("another match is not supported", () => {
    expect(errorOf(() => watchStart(query("sendInitialEvents=true&resourceVersionMatch=Exact")))?.message).toContain(
      'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
    );
  });

  test("a bad number is a bad request", () => {
    expect(errorOf(() => watchStart(query("resourceVersion=-1")))?.reason).toBe("BadRequest");
  });
});

test("any parameters give a moment, 400 or 422", () => {
  const value = fc.option(fc.constantFrom("", "0", "5", "x", "Exact", "NotOlderThan", "true", "false", token));
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom("resourceVersion", "resourceVersionMatch", "continue", "sendInitialEvents"), value),
      (given) => {
        const parameters = { get: (name: string) => given[name] ?? null };
        expect([undefined, 400, 422]).toContain(errorOf(() => listFrom(parameters, 1))?.code);
        expect([undefined, 400, 422]).toContain(errorOf(() => watchStart(parameters))?.code);
      },
    ),
  );
});
