import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StatusError } from "../apimachinery/status.ts";
import { impersonatedUser, impersonationChecks, isImpersonationHeader, parseImpersonation } from "./impersonation.ts";

const admin = { username: "admin", groups: ["system:masters"] };

function checksOf(...rawHeaders: string[]): unknown {
  const wanted = parseImpersonation(rawHeaders);
  return wanted === undefined
    ? undefined
    : impersonationChecks(admin, wanted).map((one) =>
        [one.group, one.resource, one.subresource, one.namespace, one.name].join("|"),
      );
}

function userOf(...rawHeaders: string[]): unknown {
  const wanted = parseImpersonation(rawHeaders);
  return wanted === undefined ? undefined : impersonatedUser(wanted);
}

describe("parseImpersonation", () => {
  it("finds nothing where nothing is asked for", () => {
    expect(parseImpersonation(["Host", "hub", "Impersonated", "x", "Impersonate-Other", "x"])).toBeUndefined();
  });

  it("knows its headers in any case", () => {
    expect(isImpersonationHeader("IMPERSONATE-extra-a")).toBe(true);
    expect(isImpersonationHeader("X-Impersonate-User")).toBe(false);
    expect(userOf("iMPERSONATE-uSER", "Jane")).toMatchObject({ username: "Jane" });
  });

  it.each([
    ["groups", ["Impersonate-Group", "system:masters"], '[group "system:masters"]'],
    ["a uid", ["Impersonate-Uid", "1"], '[uid "1"]'],
    ["extra", ["Impersonate-Extra-Scopes", "x"], '[extra "scopes"]'],
  ])("refuses %s without a user", (_name, headers, requested) => {
    expect(() => parseImpersonation(headers)).toThrow(
      expect.objectContaining({ code: 400, message: `requested ${requested} without impersonating a user` }),
    );
  });

  it.each([
    ["two users", ["Impersonate-User", "a", "impersonate-user", "b"]],
    ["two uids", ["Impersonate-User", "a", "Impersonate-Uid", "1", "Impersonate-Uid", "2"]],
    ["an empty user, which would leave the request with its own rights", ["Impersonate-User", ""]],
  ])("refuses %s", (_name, headers) => {
    expect(() => parseImpersonation(headers)).toThrow(expect.objectContaining({ code: 400 }));
  });

  it("throws StatusError or ends, for any headers", () => {
    const name = fc.constantFrom(
      "Impersonate-User",
      "impersonate-group",
      "Impersonate-Uid",
      "Impersonate-Extra-%41",
      "Impersonate-Extra-__proto__",
      "Host",
    );
    const header = fc.tuple(name, fc.string({ unit: "binary" }));
    fc.assert(
      fc.property(fc.array(header, { maxLength: 6 }), (headers) => {
        const outcome = attempt(headers.flat());
        expect(outcome === undefined || outcome === 400 || (typeof outcome === "string" && outcome !== "")).toBe(true);
      }),
    );
  });
});

describe("impersonationChecks", () => {
  it("asks for user, groups, uid and each extra value, as the real user", () => {
    const wanted = parseImpersonation([
      "Impersonate-Extra-Acme.com%2FProject",
      "p1",
      "Impersonate-Group",
      "g1",
      "Impersonate-User",
      "jane",
      "Impersonate-Group",
      "g2",
      "Impersonate-Uid",
      "7",
      "Impersonate-Extra-acme.com%2fproject",
      "p2",
    ]);
    const checks = wanted === undefined ? [] : impersonationChecks(admin, wanted);
    expect(checks.every((check) => check.user === admin && check.verb === "impersonate")).toBe(true);
    expect(checks.map((one) => [one.group, one.resource, one.subresource, one.namespace, one.name])).toEqual([
      ["", "users", "", "", "jane"],
      ["", "groups", "", "", "g1"],
      ["", "groups", "", "", "g2"],
      ["authentication.k8s.io", "uids", "", "", "7"],
      ["authentication.k8s.io", "userextras", "acme.com/project", "", "p1"],
      ["authentication.k8s.io", "userextras", "acme.com/project", "", "p2"],
    ]);
  });

  it("checks a ServiceAccount as one", () => {
    expect(checksOf("Impersonate-User", "system:serviceaccount:a:b")).toEqual(["|serviceaccounts||a|b"]);
  });

  it.each([
    "system:serviceaccount:a",
    "system:serviceaccount:a:b:c",
    "system:serviceaccount:A:b",
    "system:serviceaccount::b",
    "system:serviceaccount:a:b\n",
  ])("checks %j as a user", (name) => expect(checksOf("Impersonate-User", name)).toEqual([`|users|||${name}`]));

  it("keeps an extra key that cannot be decoded", () => {
    expect(checksOf("Impersonate-User", "a", "Impersonate-Extra-50%", "x")).toEqual([
      "|users|||a",
      "authentication.k8s.io|userextras|50%||x",
    ]);
  });

  it("reads UTF-8 that a client in Go sent", () => {
    expect(checksOf("Impersonate-User", Buffer.from("jürgen").toString("latin1"))).toEqual(["|users|||jürgen"]);
  });
});

describe("impersonatedUser", () => {
  it("adds system:authenticated last", () => {
    expect(userOf("Impersonate-User", "jane", "Impersonate-Group", "g")).toEqual({
      username: "jane",
      groups: ["g", "system:authenticated"],
    });
  });

  it("gives a ServiceAccount its groups, unless others are asked for", () => {
    expect(userOf("Impersonate-User", "system:serviceaccount:a:b")).toEqual({
      username: "system:serviceaccount:a:b",
      groups: ["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"],
    });
    expect(userOf("Impersonate-User", "system:serviceaccount:a:b", "Impersonate-Group", "g")).toMatchObject({
      groups: ["g", "system:authenticated"],
    });
  });

  it("never makes anonymous authenticated", () => {
    expect(userOf("Impersonate-User", "system:anonymous")).toEqual({
      username: "system:anonymous",
      groups: ["system:unauthenticated"],
    });
    expect(userOf("Impersonate-User", "jane", "Impersonate-Group", "system:unauthenticated")).toMatchObject({
      groups: ["system:unauthenticated"],
    });
  });

  it("carries uid and extra, of the real user nothing", () => {
    expect(userOf("Impersonate-User", "jane", "Impersonate-Uid", "7", "Impersonate-Extra-__proto__", "x")).toEqual({
      username: "jane",
      uid: "7",
      groups: ["system:authenticated"],
      extra: Object.fromEntries([["__proto__", ["x"]]]),
    });
  });
});

function attempt(rawHeaders: readonly string[]): unknown {
  try {
    const wanted = parseImpersonation(rawHeaders);
    return wanted === undefined ? undefined : impersonatedUser(wanted).username;
  } catch (error) {
    return error instanceof StatusError ? error.code : "";
  }
}
