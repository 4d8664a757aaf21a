import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { configMaps } from "./config-map.ts";
import { tableFor } from "../serializer/table.ts";

function configMap(fields: object): ApiObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "n" }, ...fields };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

describe("a config map", () => {
  const cases: Readonly<Record<string, { readonly fields: object; readonly errors: readonly string[] }>> = {
    "may be empty": { fields: {}, errors: [] },
    "refuses a key in both maps": {
      fields: { data: { a: "1" }, binaryData: { a: "MQ==" } },
      errors: ['data[a]: Invalid value: "a": duplicate of key present in binaryData'],
    },
    "checks the keys of both maps": {
      fields: { data: { ".": "" }, binaryData: { "..": "" } },
      errors: [`data[.]: Invalid value: ".": must not be '.'`, `binaryData[..]: Invalid value: "..": must not be '..'`],
    },
    "counts bytes, not characters": {
      fields: { data: { a: "ü".repeat(512 * 1024) } },
      errors: [],
    },
    "refuses one byte more than 1 MiB over both maps": {
      fields: { data: { a: "ü".repeat(512 * 1024) }, binaryData: { b: "MQ==" } },
      errors: [": Too long: may not be more than 1048576 bytes"],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { fields, errors }) => {
    expect(said(configMaps.validate?.(configMap(fields)))).toStrictEqual(errors);
  });

  test("cannot change once it is immutable", () => {
    const stored = configMap({ immutable: true, data: { a: "1" } });
    const next = configMap({ data: { a: "2" }, binaryData: { b: "MQ==" } });
    expect(said(configMaps.validateUpdate?.(next, stored))).toStrictEqual([
      "immutable: Forbidden: field is immutable when `immutable` is set",
      "data: Forbidden: field is immutable when `immutable` is set",
      "binaryData: Forbidden: field is immutable when `immutable` is set",
    ]);
  });

  test("may change, and may become immutable, before that", () => {
    expect(configMaps.validateUpdate?.(configMap({ immutable: true, data: { a: "2" } }), configMap({}))).toStrictEqual(
      [],
    );
  });

  test("shows how many keys it has", () => {
    const one = configMap({ data: { a: "1" }, binaryData: { b: "MQ==" } });
    expect(tableFor(configMaps, [one], { now: 0 }).rows[0]?.cells).toStrictEqual(["a", 2, "<unknown>"]);
  });
});
