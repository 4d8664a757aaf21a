import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pathReader } from "./printer-path.ts";

const object = {
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
    [".spec.hosts", [object.spec.hosts]],
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
    [".spec.*[0]", ["h", object.spec.ports[0]]],
    [".none.at.all", []],
    [".spec.hosts.name", []],
    [".metadata.constructor", []],
  ])("%s finds what stands there", (path, found) => {
    expect(pathReader(path)?.(object)).toEqual(found);
  });

  it.each(["spec", ".spec[", ".spec[a]", ".spec[?(@.a==]", ".spec[0:1:0]", ".spec['a"])("%s cannot be read", (path) => {
    expect(pathReader(path)).toBeUndefined();
  });

  it("of any form over any object takes little time and space, and never throws", () => {
    const steps = fc.constantFrom(".", "..", "*", "[*]", "[0]", "a", "[?(@.a==", '"x"', ")]", "[:]", "'", "\\");
    fc.assert(
      fc.property(fc.array(steps, { maxLength: 12 }), fc.jsonValue(), (parts, value) => {
        expect((pathReader(parts.join(""))?.(value) ?? []).length).toBeLessThanOrEqual(1000);
      }),
      { numRuns: 200 },
    );
  });
});
