import { describe, expect, it } from "vitest";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeSums, selectedClaims } from "./spoke-facts.ts";

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
