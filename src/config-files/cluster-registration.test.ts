import { describe, expect, it } from "vitest";
import { parseClusterRegistration } from "./cluster-registration.ts";

const base = { apiVersion: "pratique.dev/v1alpha1", kind: "ClusterRegistration" };
const paths = (value: unknown): readonly string[] => parseClusterRegistration(value).errors.map(({ path }) => path);

describe("the file of who joins without a person", () => {
  it("names users and clusters, and lets nobody join again unless it says so", () => {
    const { rules, errors } = parseClusterRegistration({
      ...base,
      autoApproval: [{ user: "u", clusters: ["lab", "edge-*"] }],
    });
    expect([rules, errors]).toEqual([[{ user: "u", clusters: ["lab", "edge-*"], rejoin: false }], []]);
    expect(parseClusterRegistration(base)).toEqual({ rules: [], errors: [] });
  });

  it.each([
    ["another kind", { ...base, kind: "Other" }, ["kind"]],
    ["another version", { ...base, apiVersion: "v1" }, ["apiVersion"]],
    ["an unknown field", { ...base, autoAproval: [] }, ["autoAproval"]],
    ["a rule for nobody", { ...base, autoApproval: [{ clusters: ["a"] }] }, ["autoApproval[0].user"]],
    ["a rule for no cluster", { ...base, autoApproval: [{ user: "u" }] }, ["autoApproval[0].clusters"]],
    [
      "a pattern with two stars",
      { ...base, autoApproval: [{ user: "u", clusters: ["*a*"] }] },
      ["autoApproval[0].clusters[0]"],
    ],
    [
      "a name that is none",
      { ...base, autoApproval: [{ user: "u", clusters: ["A_b"] }] },
      ["autoApproval[0].clusters[0]"],
    ],
  ])("is refused with %s", (_what, value, expected) => {
    expect(paths(value)).toEqual(expected);
  });

  it.each([null, 1, "x", []])("is refused where it is %j", (value) => {
    expect(paths(value).length).toBeGreaterThan(0);
  });
});
