import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StatusError } from "../apimachinery/status.ts";
import type { ResourceRef } from "./client.ts";
import { listQuery, resourcePath, withQuery } from "./paths.ts";

const secrets: ResourceRef = { group: "", version: "v1", kind: "Secret", plural: "secrets", scope: "Namespaced" };
const csrs: ResourceRef = {
  group: "certificates.k8s.io",
  version: "v1",
  kind: "CertificateSigningRequest",
  plural: "certificatesigningrequests",
  scope: "Cluster",
};

describe("resourcePath", () => {
  test.each([
    ["all namespaces", resourcePath(secrets), "/api/v1/secrets"],
    ["one namespace", resourcePath(secrets, { namespace: "a" }), "/api/v1/namespaces/a/secrets"],
    ["one object", resourcePath(secrets, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/secrets/b"],
    [
      "a subresource of a cluster-scoped object",
      resourcePath(csrs, { name: "node-csr-A_b", subresource: "approval" }),
      "/apis/certificates.k8s.io/v1/certificatesigningrequests/node-csr-A_b/approval",
    ],
    [
      "a namespace given for a cluster-scoped kind",
      resourcePath(csrs, { namespace: "a", name: "b" }),
      "/apis/certificates.k8s.io/v1/certificatesigningrequests/b",
    ],
    ["a name with a colon", resourcePath(csrs, { name: "kubeadm:x y?" }).split("/").at(-1), "kubeadm%3Ax%20y%3F"],
  ])("writes %s", (_, path, expected) => {
    expect(path).toBe(expected);
  });

  test.each([".", "..", "", "a/b", "%2e%2e"])("refuses the name %j, which would lead elsewhere", (name) => {
    expect(() => resourcePath(csrs, { name })).toThrow(StatusError);
    expect(() => resourcePath(secrets, { namespace: name === "" ? "." : name })).toThrow(StatusError);
  });

  test("refuses an object of a namespaced kind without its namespace", () => {
    expect(() => resourcePath(secrets, { name: "a" })).toThrow("an empty namespace may not be set");
  });

  test("keeps any name it takes within one segment of a parsed URL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }), (name) => {
        fc.pre(name !== "." && name !== ".." && !/[/%]/.test(name));
        const path = resourcePath(csrs, { name });
        const parts = new URL(path, "https://host").pathname.split("/");
        expect(parts).toHaveLength(6);
        expect(decodeURIComponent(parts[5] ?? "")).toBe(name);
      }),
      { numRuns: 200 },
    );
  });
});

describe("withQuery", () => {
  test("leaves out what is undefined and encodes the rest", () => {
    const query = listQuery({ labelSelector: "a in (b,c)", fieldSelector: "", limit: 5 });
    expect(withQuery("/x", query)).toBe("/x?labelSelector=a%20in%20(b%2Cc)&limit=5");
    expect(withQuery("/x", listQuery({}))).toBe("/x");
  });
});
