import { describe, expect, it } from "vitest";

import { builtinResources } from "../../apis/builtin.ts";
import { protobufKinds } from "./protobuf-kinds.ts";
import { published, publishedMeta } from "../../apis/schemas/published.ts";

describe("the kinds that have protobuf", () => {
  const schemaOf = protobufKinds(builtinResources);

  it("are all built-in resources, with the schema that OpenAPI shows", () => {
    expect(schemaOf("v1", "Pod")).toBe(published("io.k8s.api.core.v1.Pod"));
    expect(builtinResources.length).toBeGreaterThan(10);
    for (const { group, version, kind, schema } of builtinResources) {
      expect(schemaOf(group === "" ? version : `${group}/${version}`, kind)).toBe(schema);
    }
  });

  it("include DeleteOptions under any group version", () => {
    expect(schemaOf("rbac.authorization.k8s.io/v1", "DeleteOptions")).toBe(publishedMeta("DeleteOptions"));
  });

  it("are told apart by group and version", () => {
    expect(schemaOf("apps/v1", "Pod")).toBeUndefined();
    expect(schemaOf("v2", "Pod")).toBeUndefined();
  });

  it("do not include custom kinds", () => {
    const [first] = builtinResources;
    if (first === undefined) throw new TypeError("no resources");
    const custom = {
      ...first,
      group: "example.com",
      kind: "Widget",
      schema: { type: "object", properties: {} } as const,
    };
    expect(protobufKinds([custom])("example.com/v1", "Widget")).toBeUndefined();
  });
});
