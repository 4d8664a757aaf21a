import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { PrinterColumn } from "./crd-object.ts";
import { printerColumns } from "./printer-columns.ts";

const now = Date.UTC(2026, 0, 2);
const object: ApiObject = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "a", creationTimestamp: "2026-01-01T00:00:00Z" },
  spec: { size: 3, part: 1.5, on: true, name: "x", list: ["a", "b"], deep: { a: 1 }, nothing: null, time: "soon" },
};
const cell = (type: PrinterColumn["type"], jsonPath: string): unknown =>
  printerColumns([{ name: "C", type, jsonPath }])[0]?.cell(object, now);

describe("the columns of a kind", () => {
  it("are its age where it names none", () => {
    const [age, ...others] = printerColumns(undefined);
    expect([age?.name, age?.type, age?.cell(object, now), others]).toEqual(["Age", "date", "24h", []]);
    expect(printerColumns([])).toHaveLength(1);
  });

  it.each([
    ["integer", ".spec.size", 3],
    ["integer", ".spec.part", 1],
    ["integer", ".spec.name", null],
    ["number", ".spec.part", 1.5],
    ["boolean", ".spec.on", true],
    ["boolean", ".spec.name", null],
    ["string", ".spec.name", "x"],
    ["string", ".spec.size", "3"],
    ["string", ".spec.list[*]", "a b"],
    ["string", ".spec.list", '["a","b"]'],
    ["string", ".spec.deep", '{"a":1}'],
    ["string", ".spec.nothing", null],
    ["string", ".spec.absent", null],
    ["date", ".metadata.creationTimestamp", "24h"],
    ["date", ".spec.time", "<invalid>"],
    ["date", ".spec.size", null],
    ["string", ".spec[", null],
  ] as const)("show %s under %s", (type, path, shown) => {
    expect(cell(type, path)).toBe(shown);
  });
});
