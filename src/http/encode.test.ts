import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configMaps } from "../resources/config-map.ts";
import { encodeObject, entryOf, type Entry } from "../storage/stored-object.ts";
import { listReply, type View } from "./encode.ts";
import { negotiate } from "./negotiate.ts";

const media = negotiate("application/json", { meta: true, protobuf: true });
const view: View = { resource: configMaps, now: 0, includeObject: "Metadata", media };

function entry(text: string, index: number): Entry {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `a${index}` }, data: { text } };
  return entryOf(`/registry/core/configmaps/ns/a${index}`, encodeObject(object), index + 1);
}

async function listed(texts: readonly string[]): Promise<unknown> {
  const entries = texts.map(entry);
  const { body } = await listReply(view, { entries, revision: 9, continue: undefined, remaining: undefined });
  return JSON.parse(Buffer.from(body).toString("utf8"));
}

const items = (texts: readonly string[]): unknown => texts.map((text, index) => JSON.parse(entry(text, index).json));

describe("a list in JSON", () => {
  it.each([
    ["nothing", []],
    ["one", ["a"]],
    ["plain texts", ["a", "b", ""]],
    ["characters of two, three and four bytes", ["é", "€", "𝄞"]],
    ["a longer character in the last alone", ["a", "b", "é"]],
    ["a longer character in the first alone", ["é", "b", "c"]],
  ])("holds the texts of its entries as they are: %s", async (_what, texts) => {
    const list = { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: "9" } };
    expect(await listed(texts)).toEqual({ ...list, items: items(texts) });
  });

  it("is right for any texts", async () => {
    const texts = fc.array(fc.oneof(fc.string(), fc.string({ unit: "binary" })), { maxLength: 5 });
    const property = fc.asyncProperty(texts, async (some) => {
      expect(await listed(some)).toMatchObject({ items: items(some) });
    });
    await expect(fc.assert(property, { numRuns: 200 })).resolves.toBeUndefined();
  });
});
