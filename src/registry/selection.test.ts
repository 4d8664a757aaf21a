import { expect, test } from "vitest";
import { configMaps } from "../apis/config-map.ts";
import { encodeObject, entryOf } from "../storage/stored-object.ts";
import { selectionOf } from "./selection.ts";

test("a selection of one name finds it in each namespace, and parses no object of another name", () => {
  const entries = ["a/wanted", "a/other", "b/unwanted", "b/wanted"].map((key, index) => {
    const [namespace = "", name = ""] = key.split("/");
    const object = { kind: "ConfigMap", apiVersion: "v1", metadata: { namespace, name } };
    return entryOf(`/registry/core/configmaps/${key}`, encodeObject(object), index + 1);
  });
  const { matches } = selectionOf(configMaps, { labelSelector: "", fieldSelector: "metadata.name=wanted" });
  expect(entries.map(matches)).toEqual([true, false, false, true]);
  expect(entries.map(({ parsed }) => parsed !== undefined)).toEqual([true, false, false, true]);
});
