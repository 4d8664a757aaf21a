import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { nameProblems, validateObjectMeta, validateObjectMetaUpdate } from "./object-validation.ts";
import type { Resource } from "./resource.ts";

const namespaced: Pick<Resource, "group" | "names" | "scope"> = {
  group: "",
  names: "dns-subdomain",
  scope: "Namespaced",
};
const cluster: Pick<Resource, "group" | "names" | "scope"> = { group: "", names: "path", scope: "Cluster" };

function object(metadata: object): ApiObject {
  return { apiVersion: "v1", kind: "Thing", metadata: { name: "a", namespace: "default", ...metadata } };
}

function said(errors: readonly FieldError[]): readonly string[] {
  return errors.map((error) => `${error.path}: ${error.message}`);
}

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };

describe("creating an object", () => {
  const cases: Readonly<Record<string, { readonly metadata: object; readonly errors: readonly string[] }>> = {
    "accepts a plain name": { metadata: {}, errors: [] },
    "accepts a generated name with its prefix": { metadata: { name: "a-x7k2p", generateName: "a-" }, errors: [] },
    "refuses an object without a name": {
      metadata: { name: "" },
      errors: ["metadata.name: Required value: name or generateName is required"],
    },
    "refuses a name in capitals": {
      metadata: { name: "Big" },
      errors: [`metadata.name: Invalid value: "Big": ${subdomain}`],
    },
    "refuses a prefix in capitals": {
      metadata: { generateName: "Big-" },
      errors: [`metadata.generateName: Invalid value: "Big-": ${subdomain}`],
    },
    "refuses an object without a namespace": {
      metadata: { namespace: "" },
      errors: ["metadata.namespace: Required value"],
    },
    "refuses a namespace with a dot": {
      metadata: { namespace: "a.b" },
      errors: ['metadata.namespace: Invalid value: "a.b": must not contain dots'],
    },
    "accepts one controller among the owners": {
      metadata: { ownerReferences: [{ ...owner, controller: true }, owner] },
      errors: [],
    },
    "refuses two controllers": {
      metadata: {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: "q", controller: true },
        ],
      },
      errors: [
        `metadata.ownerReferences: Invalid value: ${JSON.stringify([
          { ...owner, controller: true },
          { ...owner, name: "q", controller: true },
        ])}: Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q`,
      ],
    },
    "refuses an owner without a uid": {
      metadata: { ownerReferences: [{ ...owner, uid: "" }] },
      errors: ['metadata.ownerReferences.uid: Invalid value: "": must not be empty'],
    },
    "refuses an event as an owner": {
      metadata: { ownerReferences: [{ ...owner, kind: "Event" }] },
      errors: [
        `metadata.ownerReferences: Invalid value: ${JSON.stringify({ ...owner, kind: "Event" })}: /v1, Kind=Event is disallowed from being an owner`,
      ],
    },
    "accepts the finalizers of Kubernetes and those with a domain": {
      metadata: { finalizers: ["orphan", "example.com/keep"] },
      errors: [],
    },
    "refuses a finalizer without a domain": {
      metadata: { finalizers: ["keep"] },
      errors: [
        'metadata.finalizers[0]: Invalid value: "keep": name is neither a standard finalizer name nor is it fully qualified',
      ],
    },
    "refuses orphan and foregroundDeletion together": {
      metadata: { finalizers: ["orphan", "foregroundDeletion"] },
      errors: [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    },
    "refuses annotations of more than 256 KiB": {
      metadata: { annotations: { a: "x".repeat(256 * 1024) } },
      errors: ["metadata.annotations: Too long: may not be more than 262144 bytes"],
    },
    "accepts annotations of exactly 256 KiB": {
      metadata: { annotations: { a: "x".repeat(256 * 1024 - 1) } },
      errors: [],
    },
    "accepts an annotation key in capitals with a domain": {
      metadata: { annotations: { "Example.com/Key": "x" } },
      errors: [],
    },
    "refuses managed fields of an unknown operation": {
      metadata: { managedFields: [{ manager: "m", operation: "Steal" }] },
      errors: ['metadata.managedFields[0].operation: Invalid value: "Steal": must be `Apply` or `Update`'],
    },
  };

  test.each(Object.entries(cases))("%s", (_title, { metadata, errors }) => {
    expect(said(validateObjectMeta(object(metadata), namespaced, { isCreate: true }))).toStrictEqual(errors);
  });

  test("refuses a bad label key and a bad label value, naming each", () => {
    const errors = said(validateObjectMeta(object({ labels: { "-a": "b c" } }), namespaced, { isCreate: true }));
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain('metadata.labels: Invalid value: "-a": name part must consist of');
    expect(errors[1]).toContain('metadata.labels: Invalid value: "b c": a valid label must be an empty string or');
  });

  test("refuses a namespace on a cluster-scoped kind", () => {
    expect(said(validateObjectMeta(object({}), cluster, { isCreate: true }))).toStrictEqual([
      "metadata.namespace: Forbidden: not allowed on this type",
    ]);
  });

  test("lets a custom kind have finalizers without a domain", () => {
    const custom = { ...namespaced, group: "example.com" };
    expect(validateObjectMeta(object({ finalizers: ["keep"] }), custom, { isCreate: true })).toStrictEqual([]);
  });
});

describe("names that are path segments", () => {
  test.each(["node-csr-ABC_x-", "kubeadm:get-nodes", "system:node", "a b", "ü"])("accepts %j", (name) => {
    expect(nameProblems(name, "path")).toStrictEqual([]);
  });

  const refused: Readonly<Record<string, readonly string[]>> = {
    ".": ["may not be '.'"],
    "..": ["may not be '..'"],
    "a/b": ["may not contain '/'"],
    "a%2fb": ["may not contain '%'"],
    "a\u0000b": ["may not contain control characters"],
    "a\nb": ["may not contain control characters"],
    "a\ud800": ["may not contain control characters"],
    ["x".repeat(513)]: ["must be no more than 512 bytes"],
  };
  test.each(Object.entries(refused))("refuses %j", (name, problems) => {
    expect(nameProblems(name, "path")).toStrictEqual(problems);
  });

  test("two accepted names are never the same bytes: each is read again from its own", () => {
    // UTF-16 code units, so that halves of surrogate pairs are among them: as UTF-8, all of these are the same three bytes.
    const unit = fc.oneof(fc.constantFrom(0x61, 0xd800, 0xdbff, 0xdc00, 0xdfff), fc.integer({ min: 0, max: 0xffff }));
    const texts = fc.array(unit, { minLength: 1, maxLength: 3 }).map((units) => String.fromCharCode(...units));
    const seen = { accepted: 0, refusedHalves: 0 };
    fc.assert(
      fc.property(texts, (name) => {
        const isAccepted = nameProblems(name, "path").length === 0;
        if (isAccepted) seen.accepted += 1;
        else if (/\p{Cs}/u.test(name)) seen.refusedHalves += 1;
        expect(isAccepted ? Buffer.from(name).toString() : name).toBe(name);
      }),
      { numRuns: 500 },
    );
    expect(seen.accepted).toBeGreaterThan(20);
    expect(seen.refusedHalves).toBeGreaterThan(20);
  });
});

describe("updating an object", () => {
  const stored = object({ uid: "u", creationTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/a"] });
  const going = { ...stored, metadata: { ...stored.metadata, deletionTimestamp: "2026-01-02T00:00:00Z" } };

  test("accepts new labels and finalizers", () => {
    const next = { ...stored, metadata: { ...stored.metadata, labels: { a: "b" }, finalizers: ["example.com/b"] } };
    expect(validateObjectMetaUpdate(next, stored)).toStrictEqual([]);
  });

  test.each(["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"])("refuses a changed %s", (field) => {
    const next = { ...stored, metadata: { ...stored.metadata, [field]: "other" } };
    expect(said(validateObjectMetaUpdate(next, stored))).toStrictEqual([
      `metadata.${field}: Invalid value: "other": field is immutable`,
    ]);
  });

  test("refuses an object that is no longer to be deleted", () => {
    expect(said(validateObjectMetaUpdate(stored, going))).toStrictEqual([
      'metadata.deletionTimestamp: Invalid value: "null": field is immutable',
    ]);
  });

  test("refuses a new finalizer while the object is being deleted", () => {
    const next = { ...going, metadata: { ...going.metadata, finalizers: ["example.com/a", "example.com/b"] } };
    expect(said(validateObjectMetaUpdate(next, going))).toStrictEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.com/b"}',
    ]);
  });

  test("lets finalizers go while the object is being deleted", () => {
    expect(
      validateObjectMetaUpdate({ ...going, metadata: { ...going.metadata, finalizers: [] } }, going),
    ).toStrictEqual([]);
  });
});
