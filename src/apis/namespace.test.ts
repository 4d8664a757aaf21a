import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { namespaces } from "./namespace.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };
const base: ApiObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } };
const stored = namespaces.prepareForCreate?.(base, context) ?? base;
const terminating = { ...stored, metadata: { ...stored.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

describe("creating a namespace", () => {
  test("adds the content finalizer, the name label and phase Active", () => {
    expect(stored).toStrictEqual({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "a", labels: { "kubernetes.io/metadata.name": "a" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });

  test("keeps further finalizers and overwrites a false name label and status", () => {
    const made = namespaces.prepareForCreate?.(
      {
        ...base,
        metadata: { name: "a", labels: { "kubernetes.io/metadata.name": "b", x: "y" } },
        spec: { finalizers: ["example.com/x"] },
        status: { phase: "Terminating" },
      },
      context,
    );
    expect(made).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "a", x: "y" } },
      spec: { finalizers: ["example.com/x", "kubernetes"] },
      status: { phase: "Active" },
    });
  });

  test("refuses a content finalizer without a domain", () => {
    expect(said(namespaces.validate?.({ ...base, spec: { finalizers: ["mine"] } }))).toStrictEqual([
      'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });
});

describe("updating a namespace", () => {
  test("changes neither finalizers nor status, and puts the name label back", () => {
    const next = namespaces.prepareForUpdate?.({ ...base, spec: {}, status: { phase: "Gone" } }, stored, context);
    expect(next).toStrictEqual(stored);
  });

  test("through status changes the status only", () => {
    const incoming = { ...stored, spec: {}, status: { phase: "Active", conditions: [] } };
    expect(namespaces.subresources["status"]?.prepareForUpdate?.(incoming, stored, context)).toStrictEqual({
      ...stored,
      status: { phase: "Active", conditions: [] },
    });
  });

  test("through finalize changes the finalizers only", () => {
    const incoming = { ...stored, spec: { finalizers: [] }, status: { phase: "Gone" } };
    const next = namespaces.subresources["finalize"]?.prepareForUpdate?.(incoming, stored, context);
    expect(next).toStrictEqual({ ...stored, spec: { finalizers: [] } });
  });

  const validate = namespaces.subresources["status"]?.validateUpdate;

  test("refuses phase Terminating without a deletion time", () => {
    expect(said(validate?.({ ...stored, status: { phase: "Terminating" } }, stored))).toStrictEqual([
      "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
    ]);
  });

  test("refuses phase Active with a deletion time", () => {
    expect(said(validate?.(terminating, terminating))).toStrictEqual([
      "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
    ]);
  });
});

describe("deleting a namespace", () => {
  test("is held by its content finalizer, and marked as terminating", () => {
    expect(namespaces.deletion?.held?.(stored)).toBe(true);
    expect(namespaces.deletion?.held?.({ ...stored, spec: { finalizers: [] } })).toBe(false);
    expect(namespaces.deletion?.marked?.(stored)["status"]).toStrictEqual({ phase: "Terminating" });
  });
});

test("is selected by phase", () => {
  expect(namespaces.selectableFields?.["status.phase"]?.(stored)).toBe("Active");
});
