import { describe, expect, it } from "vitest";
import { internalError } from "../apimachinery/status.ts";
import { configMaps } from "../apis/config-map.ts";
import { customKinds, type CustomKindOptions } from "../apis/custom/custom-kind.ts";
import type { Resource } from "../apis/resource.ts";
import { encodeObject, entryAt, entryOf, objectOf, type Entry } from "../storage/stored-object.ts";
import { entryVersions } from "./conversion.ts";

const schema = {
  openAPIV3Schema: {
    type: "object",
    properties: { spec: { type: "object", properties: { colour: { type: "string", default: "red" } } } },
  },
};

/** The kinds v1, which is stored, and v2; written under this definition is what is newer than 10. */
function kinds(convert?: CustomKindOptions["convert"]): { readonly v1: Resource; readonly v2: Resource } {
  const [v1, v2] = customKinds(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "widgets", kind: "Widget" },
        scope: "Namespaced",
        versions: ["v1", "v2"].map((name) => ({ name, served: true, storage: name === "v1", schema })),
        conversion: { strategy: convert === undefined ? "None" : "Webhook" },
      },
    },
    { since: 10, convert },
  );
  if (v1 === undefined || v2 === undefined) throw new TypeError("two kinds");
  return { v1, v2 };
}

function entry(revision: number, spec: object, apiVersion = "example.com/v1"): Entry {
  const metadata = { name: "a", namespace: "default", uid: "u" };
  return entryOf("/registry/k", encodeObject({ kind: "Widget", apiVersion, metadata, spec }), revision);
}

describe("entries", () => {
  it("of built-in kinds, and those that are as they are asked for, pass through", () => {
    const versions = entryVersions();
    const one = entry(11, { colour: "blue" });
    const all = [one];
    expect(versions.shown(configMaps, one)).toBe(one);
    expect(versions.shown(kinds().v1, one)).toBe(one);
    expect(versions.shownAll(kinds().v1, all)).toBe(all);
    expect(one.parsed).toBeUndefined();
  });

  it("from before the definition get what is missing, and keep their version and place", async () => {
    const versions = entryVersions();
    const { v1 } = kinds();
    const old = entry(9, { more: 1 });
    const shown = await versions.shown(v1, old);
    expect(objectOf(shown)).toMatchObject({ metadata: { resourceVersion: "9" }, spec: { colour: "red" } });
    expect([shown.key, shown.revision]).toEqual([old.key, 9]);
    expect(await versions.shown(v1, old)).toBe(shown);
    expect(objectOf(entryAt(shown, 12)).metadata.resourceVersion).toBe("12");
    const right = entry(9, { colour: "blue" });
    expect(await versions.shown(v1, right)).toBe(right);
  });

  it("are shown in another version with nothing else changed", async () => {
    const versions = entryVersions();
    const one = entry(11, { colour: "blue" });
    const shown = objectOf(await versions.shown(kinds().v2, one));
    expect(shown).toEqual({ ...objectOf(one), apiVersion: "example.com/v2" });
    expect(await versions.stored(kinds().v2, shown)).toEqual(objectOf(one));
  });

  it("go to a webhook once, and together", async () => {
    const calls: number[] = [];
    const { v2 } = kinds(async (objects, apiVersion) => {
      calls.push(objects.length);
      return objects.map((object) => ({ ...object, apiVersion, spec: { colour: "converted" } }));
    });
    const versions = entryVersions();
    const entries = [entry(11, { colour: "a" }), entry(12, { colour: "b" }, "example.com/v2"), entry(13, {})];
    const shown = await versions.shownAll(v2, entries);
    expect(shown.map((one) => (objectOf(one)["spec"] as { colour: string }).colour)).toEqual([
      "converted",
      "b",
      "converted",
    ]);
    await versions.shownAll(v2, entries);
    expect(calls).toEqual([2]);
  });

  it("that a webhook does not convert are tried again by the next reader", async () => {
    let works = false;
    const { v2 } = kinds(async (objects, apiVersion) => {
      if (!works) throw internalError("no");
      return objects.map((object) => ({ ...object, apiVersion }));
    });
    const versions = entryVersions();
    const one = entry(11, { colour: "a" });
    await expect(versions.shown(v2, one)).rejects.toThrow("no");
    works = true;
    expect(objectOf(await versions.shown(v2, one)).apiVersion).toBe("example.com/v2");
  });
});
