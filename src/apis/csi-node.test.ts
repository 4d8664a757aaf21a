import { describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { csiNodes } from "./csi-node.ts";

const driver = { name: "d.example.com", nodeID: "n", topologyKeys: ["example.com/zone"], allocatable: { count: 1 } };

function csiNode(...drivers: readonly object[]): ApiObject {
  return { apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name: "n1" }, spec: { drivers } };
}

const messages = (drivers: readonly object[]): readonly string[] =>
  (csiNodes.validate?.(csiNode(...drivers)) ?? []).map(({ path, message }) => `${path}: ${message}`);

describe("a CSINode", () => {
  test("may have no drivers, or several", () => {
    expect(messages([])).toEqual([]);
    expect(messages([driver, { ...driver, name: "e.example.com" }])).toEqual([]);
  });

  test.each([
    [{ ...driver, nodeID: "" }, "spec.drivers[0].nodeID: Required value"],
    [{ ...driver, nodeID: "x".repeat(193) }, "must be 192 characters or less"],
    [{ ...driver, name: "No" }, "spec.drivers[0].name: Invalid value"],
    [{ ...driver, allocatable: { count: -1 } }, "spec.drivers[0].count: Invalid value: -1"],
    [{ ...driver, topologyKeys: ["a", "a"] }, 'spec.drivers[0]: Duplicate value: "a"'],
    [{ ...driver, topologyKeys: ["a b"] }, "spec.drivers[0]: Invalid value"],
  ])("is refused with the driver %j", (wrong, message) => {
    expect(messages([wrong]).join("\n")).toContain(message);
  });

  test("names each driver once, and changes of one that stays nothing but how much there is of it", () => {
    expect(messages([driver, driver])).toEqual(['spec.drivers[1].name: Duplicate value: "d.example.com"']);
    const update = (next: object): number => csiNodes.validateUpdate?.(csiNode(next), csiNode(driver)).length ?? -1;
    expect(update({ ...driver, allocatable: { count: 9 } })).toBe(0);
    expect(update({ ...driver, nodeID: "m" })).toBe(1);
    expect(update({ ...driver, name: "other.example.com", nodeID: "m" })).toBe(0);
  });
});
