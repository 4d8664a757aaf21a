import { describe, expect, test } from "vitest";
import { compileRego } from "./compile.ts";
import { usualLimits } from "./limits.ts";

const v0 = `package k8s

import future.keywords

default allow = false

groups := {group | some group in input.spec.groups}
verb := input.spec.resourceAttributes.verb

allow {
	"admin" in groups
	verb in ["create", "list", "delete", "update"]
}

allow {
	groups["conf"]
	verb == "list"
}
`;

const v1 = `package k8s

default allow := false

permissions := {
	"admin": {"create", "list", "delete", "update"},
	"conf": {"list"},
}

allow if {
	some group in input.spec.groups
	input.spec.resourceAttributes.verb in permissions[group]
}
`;

const verbs = ["create", "list", "delete", "update", "watch", "get"];

describe.each([
  ["Rego v0 with future.keywords", v0],
  ["Rego v1", v1],
])("the example of two groups in %s", (_name, text) => {
  const ask = compileRego([{ file: "k8s.rego", text }]).prepare("data.k8s.allow");
  const allowed = (groups: readonly string[]): readonly string[] =>
    verbs.filter((verb) => {
      const input = { spec: { groups, resourceAttributes: { verb } } };
      const outcome = ask({ input, limits: usualLimits, now: () => 0 });
      return "value" in outcome && outcome.value === true;
    });

  test("lets admin create, list, delete and update, and nothing else", () => {
    expect(allowed(["admin"])).toEqual(["create", "list", "delete", "update"]);
  });

  test("lets conf list, and nothing else", () => {
    expect(allowed(["conf"])).toEqual(["list"]);
  });

  test("denies all others", () => {
    expect(allowed([])).toEqual([]);
    expect(allowed(["system:authenticated"])).toEqual([]);
    expect(ask({ input: {}, limits: usualLimits, now: () => 0 })).toEqual({ value: false });
    expect(ask({ limits: usualLimits, now: () => 0 })).toEqual({ value: false });
  });
});
