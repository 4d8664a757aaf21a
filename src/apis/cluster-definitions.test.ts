import { describe, expect, it } from "vitest";
import { decodeObject } from "../apimachinery/decode.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { clusterDefinitions } from "./cluster-definitions.ts";
import { customResourceDefinitions } from "./custom-resource-definition.ts";
import { valueAt } from "./json-fields.ts";
import { agentOf } from "./managed-cluster.ts";

describe("the definitions of managed clusters", () => {
  it("are such as Kubernetes takes", () => {
    for (const definition of clusterDefinitions()) {
      const { object, unknown } = decodeObject(customResourceDefinitions.schema, definition);
      const context = { user: { username: "u", groups: [] }, now: 0 };
      const made = customResourceDefinitions.prepareForCreate?.(object as unknown as ApiObject, context) ?? object;
      expect([unknown, customResourceDefinitions.validate?.(made as ApiObject)]).toEqual([[], []]);
    }
  });

  it("go by the names that agents and people know", () => {
    expect(
      clusterDefinitions().map((one) => [
        valueAt(one, "metadata", "name"),
        valueAt(one, "spec", "names", "shortNames"),
      ]),
    ).toEqual([
      ["managedclusters.cluster.open-cluster-management.io", ["mcl", "mcls"]],
      ["managedclustersets.cluster.open-cluster-management.io", ["mclset", "mclsets"]],
      ["managedclustersetbindings.cluster.open-cluster-management.io", ["mclsetbinding", "mclsetbindings"]],
      ["managedclusteraddons.addon.open-cluster-management.io", ["mca", "mcas"]],
    ]);
  });
});

describe("the user name of an agent", () => {
  it.each([
    ["system:open-cluster-management:prod:a1b2c", { cluster: "prod", agent: "a1b2c" }],
    ["system:open-cluster-management:prod", undefined],
    ["system:open-cluster-management:prod:", undefined],
    ["system:open-cluster-management::a", undefined],
    ["system:open-cluster-management:prod:a:b", undefined],
    ["system:open-cluster-management:cluster:prod:addon:x:agent:a", undefined],
    ["open-cluster-management:prod:a", undefined],
    ["prod:a", undefined],
  ])("%s is read exactly", (username, expected) => {
    expect(agentOf(username)).toEqual(expected);
  });
});
