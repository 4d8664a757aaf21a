import * as fc from "fast-check";
import type { JsonObject } from "../../src/apimachinery/json-value.ts";

const names = fc.constantFrom("a", "b", "k", "metadata", "constructor", "__proto__");

/** Own properties whatever the keys, as JSON.parse makes them. */
function record<T>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> {
  return fc.array(fc.tuple(names, values), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));
}

const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthIdentifier: "value" },
    fc.constantFrom<unknown>("", "a", "ab", 0, 1, 2.5, true, false, null),
    record(tie("value")),
    fc.array(tie("value"), { maxLength: 4 }),
  ),
}));

/** JSON objects whose keys meet those of `customSchema` often. */
export const jsonObject: fc.Arbitrary<JsonObject> = record(value);

const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, depthIdentifier: "schema" },
    fc.record(
      {
        type: fc.constantFrom("string", "integer", "number", "boolean"),
        nullable: fc.boolean(),
        default: fc.constantFrom<unknown>("a", 1, true),
      },
      { requiredKeys: ["type"] },
    ),
    fc.constantFrom<JsonObject>(
      { "x-kubernetes-int-or-string": true },
      { "x-kubernetes-preserve-unknown-fields": true },
      { type: "object", "x-kubernetes-preserve-unknown-fields": true, "x-kubernetes-embedded-resource": true },
    ),
    fc.record(
      {
        type: fc.constant("object"),
        properties: record(tie("schema")),
        default: fc.constant({}),
        "x-kubernetes-preserve-unknown-fields": fc.constant(true),
        required: fc.array(names, { maxLength: 2 }),
      },
      { requiredKeys: ["type", "properties"] },
    ),
    fc.record({ type: fc.constant("object"), additionalProperties: fc.oneof(fc.constant(true), tie("schema")) }),
    fc.record(
      {
        type: fc.constant("array"),
        items: tie("schema"),
        maxItems: fc.constantFrom(1, 3),
        "x-kubernetes-list-type": fc.constantFrom("set", "atomic"),
      },
      { requiredKeys: ["type", "items"] },
    ),
  ),
}));

/** Schemas of custom kinds as JSON, most of them structural. */
export const customSchema: fc.Arbitrary<JsonObject> = record(schema).map((properties) => ({
  type: "object",
  properties,
}));
