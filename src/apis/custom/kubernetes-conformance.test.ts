import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { FieldError } from "../../apimachinery/field-error.ts";
import type { JsonObject } from "../../apimachinery/json-value.ts";
import { withDefaults } from "./settle.ts";
import { pruned } from "./settle.ts";
import { schemaErrors } from "./schema-errors.ts";
import { readStructural, type StructuralSchema } from "./structural-schema.ts";
import { valueErrors } from "./validate-value.ts";

// What the packages of apiextensions-apiserver 1.36.3 themselves answered to the same schemas and objects.

type Recorded = readonly [path: string, type: string, message: string];

interface SchemaCase {
  readonly schema: JsonObject;
  readonly status?: boolean;
  readonly errors: readonly Recorded[];
}

interface ValueCase {
  readonly schema: JsonObject;
  readonly value: JsonObject;
  readonly stored?: JsonObject;
  /** After pruning and defaulting, where that differs from `value`. */
  readonly object?: JsonObject;
  readonly unknown?: readonly string[];
  readonly errors?: readonly Recorded[];
}

const schemaCases: readonly SchemaCase[] = JSON.parse(recorded("schemas"));
const valueCases: readonly ValueCase[] = JSON.parse(recorded("values"));
/** Kubernetes keeps the schema here where all versions share one. */
const path = "spec.validation.openAPIV3Schema";
const base = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };

function recorded(what: string): string {
  return readFileSync(new URL(`testdata/kubernetes-1.36-${what}.json`, import.meta.url), "utf8");
}

function lines(errors: readonly FieldError[]): readonly string[] {
  return [...new Set(errors.map((error) => `${error.path} ${error.type} ${error.message}`))].sort();
}

function recordedLines(errors: readonly Recorded[] = []): readonly string[] {
  return errors.map((error) => error.join(" ")).sort();
}

function settled(schema: StructuralSchema, value: JsonObject): ReturnType<typeof pruned> {
  const known = pruned(schema, { ...base, ...value }, { isResourceRoot: true });
  return { ...known, object: withDefaults(schema, known.object) };
}

describe("agreement with Kubernetes 1.36", () => {
  test("schemas are refused for the same reasons in the same words", () => {
    expect(schemaCases.length).toBeGreaterThan(400);
    for (const { schema, status = false, errors } of schemaCases) {
      const found = lines(schemaErrors(schema, path, { statusSubresource: status }));
      expect({ schema, errors: found }).toEqual({ schema, errors: recordedLines(errors) });
    }
  });

  test("objects are pruned, get their defaults and are refused for the same reasons in the same words", () => {
    expect(valueCases.length).toBeGreaterThan(700);
    for (const one of valueCases) {
      const schema = readStructural(one.schema);
      const { object, unknown } = settled(schema, one.value);
      const stored = one.stored === undefined ? undefined : settled(schema, one.stored).object;
      const errors = lines(valueErrors(schema, object, { path: "", stored }));
      expect({ one, object, unknown, errors }).toEqual({
        one,
        object: { ...base, ...(one.object ?? one.value) },
        unknown: one.unknown ?? [],
        errors: recordedLines(one.errors),
      });
    }
  });
});
