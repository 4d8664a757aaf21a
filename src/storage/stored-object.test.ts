import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { metadataOf } from "./stored-object.ts";
import { encodeObject, entryOf, objectOf, type Entry } from "./stored-object.ts";

const entryFor = (object: ApiObject): Entry => entryOf("/registry/a", encodeObject(object), 7);

const value = fc.jsonValue({ maxDepth: 3 });
const metadata = fc.record(
  {
    name: fc.string(),
    labels: fc.dictionary(fc.string(), fc.string()),
    managedFields: fc.array(fc.dictionary(fc.string(), value)),
    annotations: fc.dictionary(fc.oneof(fc.constant("managedFields"), fc.string()), fc.string()),
    finalizers: fc.array(fc.string()),
  },
  { requiredKeys: [] },
);

describe("the metadata of a stored object", () => {
  it("is that of the parsed object, without managedFields, wherever those stand", () => {
    fc.assert(
      fc.property(metadata, value, (meta, data) => {
        const entry = entryFor({ kind: "K", apiVersion: "v1", metadata: meta, data });
        const found = metadataOf(entry);
        const { managedFields: _managedFields, ...expected } = objectOf(entry).metadata;
        expect(found).toEqual(expected);
      }),
    );
  });

  it("is found among brackets, quotes and names that look like others, in texts", () => {
    const meta = {
      labels: { managedFields: "[", a: '"managedFields":[{' },
      managedFields: [{ fieldsV1: { 'f:"}]': {}, "f:\\": {} }, manager: '\\"' }],
      finalizers: ["}", "]", '"metadata":{'],
    };
    const entry = entryFor({ kind: "K", apiVersion: "v1", metadata: meta, data: { metadata: { labels: { a: "b" } } } });
    expect(metadataOf(entry)).toEqual({
      resourceVersion: "7",
      labels: meta.labels,
      finalizers: meta.finalizers,
    });
  });

  it("is looked up without parsing the rest", () => {
    const entry = entryFor({ kind: "K", apiVersion: "v1", metadata: { name: "a" }, data: { a: "b" } });
    expect(metadataOf({ ...entry, json: `${entry.json.slice(0, -1)}, not JSON` })).toEqual({
      resourceVersion: "7",
      name: "a",
    });
  });
});
