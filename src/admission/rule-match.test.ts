import { describe, expect, it } from "vitest";
import { matchesAnyRule, type RuleSubject } from "./rule-match.ts";

const pods = { group: "", version: "v1", plural: "pods", scope: "Namespaced" } as const;
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };

function subject(fields: Partial<RuleSubject> = {}): RuleSubject {
  return { operation: "CREATE", subresource: "", namespace: "ns", name: "p", resource: pods, ...fields };
}

describe("a rule", () => {
  it.each<[string, object, Partial<RuleSubject>, boolean]>([
    ["its own operation", {}, {}, true],
    ["another operation", {}, { operation: "UPDATE" }, false],
    ["every operation", { operations: ["*"] }, { operation: "DELETE" }, true],
    ["another group", { apiGroups: ["apps"] }, {}, false],
    ["one of several groups", { apiGroups: ["apps", ""] }, {}, true],
    ["every group", { apiGroups: ["*"] }, {}, true],
    ["another version", { apiVersions: ["v2"] }, {}, false],
    ["every version", { apiVersions: ["*"] }, {}, true],
    ["no part of the resource", {}, { subresource: "status" }, false],
    ["a part", { resources: ["pods/status"] }, { subresource: "status" }, true],
    ["a part, and not the whole", { resources: ["pods/status"] }, {}, false],
    ["all parts", { resources: ["pods/*"] }, { subresource: "log" }, true],
    // As in Kubernetes, `pods/*` means the whole as well.
    ["all parts and the whole", { resources: ["pods/*"] }, {}, true],
    ["one part of everything", { resources: ["*/scale"] }, { subresource: "scale" }, true],
    ["one part of everything, and not another", { resources: ["*/scale"] }, { subresource: "status" }, false],
    ["everything whole", { resources: ["*"] }, {}, true],
    ["everything whole, and no part", { resources: ["*"] }, { subresource: "status" }, false],
    ["everything", { resources: ["*/*"] }, { subresource: "status" }, true],
    ["everything, whole as well", { resources: ["*/*"] }, {}, true],
    ["a name that only begins alike", { resources: ["pod"] }, {}, false],
    ["both scopes", { scope: "*" }, {}, true],
    ["namespaced kinds", { scope: "Namespaced" }, {}, true],
    ["cluster kinds", { scope: "Cluster" }, {}, false],
    [
      "cluster kinds, a namespace among them",
      { scope: "Cluster", resources: ["*"] },
      { resource: { ...pods, plural: "namespaces", scope: "Cluster" } },
      true,
    ],
    ["an unknown scope", { scope: "Galaxy" }, {}, false],
    ["some names", { resourceNames: ["q", "p"] }, {}, true],
    ["other names", { resourceNames: ["q"] }, {}, false],
    ["nothing, where it lists nothing", { resources: [] }, {}, false],
    ["nothing, where it says nothing", { operations: undefined }, {}, false],
  ])("speaks of %s", (_what, fields, changed, expected) => {
    expect(matchesAnyRule([{ ...rule, ...fields }], subject(changed))).toBe(expected);
  });

  it("is enough by itself, and none is not", () => {
    expect(matchesAnyRule([{ ...rule, apiGroups: ["x"] }, rule], subject())).toBe(true);
    expect(matchesAnyRule([], subject())).toBe(false);
  });
});
