import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TokenError } from "./token.ts";
import { readTokenSecret, tokenIdOfName, tokenSecret } from "./token-secret.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const now = Date.UTC(2026, 10, 21, 2, 5, 49, 700);
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("tokenSecret", () => {
  it("writes what kubeadm writes by default", () => {
    expect(tokenSecret({ token, now, description: "for rack 7" })).toEqual({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
      type: "bootstrap.kubernetes.io/token",
      data: {
        "token-id": base64("abcdef"),
        "token-secret": base64("0123456789abcdef"),
        description: base64("for rack 7"),
        expiration: base64("2026-11-22T02:05:49Z"),
        "usage-bootstrap-signing": base64("true"),
        "usage-bootstrap-authentication": base64("true"),
        "auth-extra-groups": base64("system:bootstrappers:kubeadm:default-node-token"),
      },
    });
  });

  it("leaves out expiration, description and groups that are not asked for", () => {
    const secret = tokenSecret({ token, now, ttlSeconds: 0, usages: ["signing"] });
    expect(Object.keys(secret.data)).toEqual(["token-id", "token-secret", "usage-bootstrap-signing"]);
  });

  it.each([
    ["an unknown usage", { usages: ["signing", "encrypting"] }, "unknown-usage"],
    ["no usage", { usages: [] }, "unknown-usage"],
    ["a group of somebody else", { groups: ["system:masters"] }, "malformed-group"],
    ["a group that hides a second one", { groups: ["system:bootstrappers:a,system:masters"] }, "malformed-group"],
    ["groups without authentication", { usages: ["signing"], groups: ["system:bootstrappers:a"] }, "malformed-group"],
    ["a negative time to live", { ttlSeconds: -1 }, "bad-ttl"],
    ["half a second", { ttlSeconds: 0.5 }, "bad-ttl"],
    ["a time to live without end", { ttlSeconds: Number.POSITIVE_INFINITY }, "bad-ttl"],
    ["a malformed secret", { token: { id: "abcdef", secret: "short" } }, "malformed-token"],
  ] as const)("refuses %s", (_name, wrong, code) => {
    expect(() => tokenSecret({ token, now, ...wrong })).toThrow(expect.objectContaining({ code }));
    expect(() => tokenSecret({ token, now, ...wrong })).toThrow(TokenError);
  });
});

describe("readTokenSecret", () => {
  it("reads back what tokenSecret wrote", () => {
    expect(readTokenSecret(tokenSecret({ token, now }))).toEqual({
      name: "bootstrap-token-abcdef",
      type: "bootstrap.kubernetes.io/token",
      hasData: true,
      deleting: false,
      id: "abcdef",
      secret: "0123456789abcdef",
      expiration: "2026-11-22T02:05:49Z",
      usages: ["signing", "authentication"],
      groups: ["system:bootstrappers:kubeadm:default-node-token"],
      description: "",
    });
  });

  it("counts a usage only when it is exactly true, and trims nothing in the groups", () => {
    const data = {
      "usage-bootstrap-signing": base64("True"),
      "usage-bootstrap-authentication": base64("true "),
      "auth-extra-groups": base64("system:bootstrappers:a, system:bootstrappers:b,"),
    };
    const facts = readTokenSecret({ apiVersion: "v1", kind: "Secret", metadata: {}, data });
    expect(facts.usages).toEqual([]);
    expect(facts.groups).toEqual(["system:bootstrappers:a", " system:bootstrappers:b", ""]);
  });

  it("takes values that are not base64 text for absent", () => {
    const data = { "token-id": "ab*=", "token-secret": 7, expiration: "YQ", description: null };
    const facts = readTokenSecret({ apiVersion: "v1", kind: "Secret", metadata: {}, data });
    expect([facts.id, facts.secret, facts.expiration, facts.description]).toEqual(["", "", "", ""]);
  });

  it("reads no key off the prototype", () => {
    const data: unknown = JSON.parse('{"__proto__": {"token-id": "YWJjZGVm"}}');
    expect(readTokenSecret({ apiVersion: "v1", kind: "Secret", metadata: {}, data }).id).toBe("");
  });

  it("never throws, whatever the data", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (data, type) => {
        expect(readTokenSecret({ apiVersion: "v1", kind: "Secret", metadata: {}, data, type }).usages).toHaveLength(0);
      }),
    );
  });
});

describe("tokenIdOfName", () => {
  it("knows names of tokens alone", () => {
    expect(tokenIdOfName("bootstrap-token-abcdef")).toBe("abcdef");
    for (const name of [
      "bootstrap-token-abcde",
      "bootstrap-token-abcdef-",
      "xbootstrap-token-abcdef",
      "bootstrap-token-ABCDEF",
    ]) {
      expect(tokenIdOfName(name)).toBeUndefined();
    }
  });
});
