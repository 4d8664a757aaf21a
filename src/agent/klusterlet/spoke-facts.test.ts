import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeSums, selectedClaims, quantitySum } from "./spoke-facts.ts";

const claim = (name: string, value = "x", labels = {}): ApiObject => ({
  apiVersion: "cluster.open-cluster-management.io/v1alpha1",
  kind: "ClusterClaim",
  metadata: { name, labels },
  spec: { value },
});

describe("the claims of a cluster", () => {
  it("begin with the reserved names, and go on by name", () => {
    const names = ["zebra", "platform.open-cluster-management.io", "apple", "id.k8s.io"];
    expect(selectedClaims(names.map((name) => claim(name))).map(({ name }) => name)).toEqual([
      "id.k8s.io",
      "platform.open-cluster-management.io",
      "apple",
      "zebra",
    ]);
  });

  it("are at most twenty beside the reserved ones", () => {
    const many = Array.from({ length: 30 }, (_, index) => claim(`c${String(index).padStart(2, "0")}`));
    const found = selectedClaims([...many, claim("id.k8s.io")]);
    expect([found.length, found.at(-1)?.name]).toEqual([21, "c19"]);
  });

  it("do not leave the cluster where they are for it alone, and are never too long", () => {
    const found = selectedClaims([
      claim("secret", "x", { "open-cluster-management.io/spoke-only": "" }),
      claim("long", "y".repeat(2000)),
      claim("empty", ""),
    ]);
    expect(found).toEqual([{ name: "long", value: "y".repeat(1024) }]);
  });
});

describe("the size of a cluster", () => {
  it("counts no unschedulable nodes as allocatable", () => {
    const node = (name: string, unschedulable: boolean): ApiObject => ({
      apiVersion: "v1",
      kind: "Node",
      metadata: { name },
      spec: { unschedulable },
      status: { capacity: { cpu: "2" }, allocatable: { cpu: "1900m", "example.com/gpu": "1" } },
    });
    expect(nodeSums([node("a", false), node("b", true)])).toEqual({
      capacity: { cpu: "4" },
      allocatable: { cpu: "1900m", "example.com/gpu": "1" },
    });
  });
});

describe("the sum of quantities", () => {
  it.each([
    [["1", "1"], "2"],
    [["2", "500m"], "2500m"],
    [["1500m", "500m"], "2"],
    [["1Gi", "1Gi"], "2Gi"],
    [["512Mi", "512Mi"], "1Gi"],
    [["16393244Ki", "1Ki"], "16393245Ki"],
    [["0", "1Ki"], "1Ki"],
    [["500", "500"], "1k"],
    [["1e3", "1.5k"], "2500"],
    [["1Gi", "1"], "1073741825"],
    [["0.5Gi", "0.5Gi"], "1Gi"],
    [["110", "110"], "220"],
    [[], "0"],
    [["100n", "900n"], "1u"],
  ])("of %j is %s", (texts, sum) => {
    expect(quantitySum(texts)).toBe(sum);
  });

  it.each([["a lot"], [""], ["1KiB"], ["-1"], ["__proto__"], ["9".repeat(40)]])("leaves out %j", (text) => {
    expect(quantitySum([text, "2"])).toBe("2");
  });

  it("of whole numbers is what numbers add up to", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000_000), { maxLength: 5 }), (numbers) => {
        const total = numbers.reduce((sum, one) => sum + one, 0);
        expect(quantitySum([quantitySum(numbers.map(String)), `-`])).toBe(quantitySum([String(total)]));
      }),
      { numRuns: 100 },
    );
  });

  it("never fails, whatever the texts", () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 4 }), (texts) => {
        expect(quantitySum(texts)).toMatch(/^\d+([KMGTPE]i|[numkMGTPE])?$/);
      }),
      { numRuns: 100 },
    );
  });
});
