import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { PrinterColumn } from "./crd-object.ts";
import { printerColumns, pathReader } from "./printer-columns.ts";

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

const holder = {
  metadata: { name: "a", labels: { "a.b/c": "x", "d.e": "y" } },
  spec: {
    hosts: ["h", "i", "j"],
    ports: [
      { name: "web", port: 80 },
      { name: "tls", port: 443 },
    ],
  },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Synced", status: "False" },
    ],
  },
};

describe("a path", () => {
  it.each([
    [".metadata.name", ["a"]],
    [".metadata.labels['a.b/c']", ["x"]],
    [".metadata.labels.d\\.e", ["y"]],
    ['.metadata.labels["d.e"]', ["y"]],
    [".spec.hosts", [holder.spec.hosts]],
    [".spec.hosts[*]", ["h", "i", "j"]],
    [".spec.hosts[0]", ["h"]],
    [".spec.hosts[-1]", ["j"]],
    [".spec.hosts[1:]", ["i", "j"]],
    [".spec.hosts[-1:]", ["j"]],
    [".spec.hosts[0:3:2]", ["h", "j"]],
    [".spec.ports[*].port", [80, 443]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type == 'Synced')].status", ["False"]],
    [".spec.ports[?(@.port>100)].name", ["tls"]],
    [".spec.ports[?(@.port<=80)].name", ["web"]],
    [".spec.ports[?(@.name!='web')].port", [443]],
    [".status.conditions[?(@.status)].type", ["Ready", "Synced"]],
    [".spec..port", [80, 443]],
    [".spec.*[0]", ["h", holder.spec.ports[0]]],
    [".none.at.all", []],
    [".spec.hosts.name", []],
    [".metadata.constructor", []],
  ])("%s finds what stands there", (path, found) => {
    expect(pathReader(path)?.(holder)).toEqual(found);
  });

  it.each(["spec", ".spec[", ".spec[a]", ".spec[?(@.a==]", ".spec[0:1:0]", ".spec['a"])("%s cannot be read", (path) => {
    expect(pathReader(path)).toBeUndefined();
  });

  it("of any form over any holder takes little time and space, and never throws", () => {
    const steps = fc.constantFrom(".", "..", "*", "[*]", "[0]", "a", "[?(@.a==", '"x"', ")]", "[:]", "'", "\\");
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 12 }), fc.jsonValue(), (parts, value) => {
        expect((pathReader(parts.join(""))?.(value) ?? []).length).toBeLessThanOrEqual(1000);
      }),
      { numRuns: 200 },
    );
  });
});
