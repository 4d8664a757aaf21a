import { describe, expect, test } from "vitest";
import { recoveryPolicies } from "./recovery-policy.ts";

function problems(spec: object): readonly string[] {
  const object = { apiVersion: "access.pratique.dev/v1alpha1", kind: "RecoveryPolicy", metadata: { name: "p" }, spec };
  return (recoveryPolicies.validate?.(object) ?? []).map(({ path }) => path);
}

describe("a recovery policy", () => {
  test.each([
    [{ nodeNames: ["*"] }],
    [
      {
        nodeNames: ["edge-*", "*-b", "exact.example"],
        windowSeconds: 60,
        times: 1,
        perSeconds: 60,
        networks: ["::/0"],
      },
    ],
    [{ nodeNames: ["a"], windowSeconds: 400 * 86_400, times: 16 }],
  ])("may say %o", (spec) => {
    expect(problems(spec)).toEqual([]);
  });

  test.each([
    ["spec.nodeNames", {}],
    ["spec.nodeNames", { nodeNames: [] }],
    ["spec.nodeNames", { nodeNames: Array.from({ length: 65 }, (_, at) => `n${at}`) }],
    ["spec.nodeNames[0]", { nodeNames: [""] }],
    ["spec.nodeNames[0]", { nodeNames: ["**"] }],
    ["spec.nodeNames[0]", { nodeNames: ["*a*"] }],
    ["spec.nodeNames[0]", { nodeNames: ["a*b"] }],
    ["spec.nodeNames[1]", { nodeNames: ["a", "UPPER"] }],
    ["spec.windowSeconds", { nodeNames: ["a"], windowSeconds: 59 }],
    ["spec.windowSeconds", { nodeNames: ["a"], windowSeconds: 400 * 86_400 + 1 }],
    ["spec.times", { nodeNames: ["a"], times: 0 }],
    ["spec.times", { nodeNames: ["a"], times: 17 }],
    ["spec.perSeconds", { nodeNames: ["a"], perSeconds: -1 }],
    ["spec.networks[0]", { nodeNames: ["a"], networks: ["10.0.0.0"] }],
    ["spec.networks", { nodeNames: ["a"], networks: Array.from({ length: 65 }, () => "10.0.0.0/8") }],
  ])("is refused for %s in %o", (field, spec) => {
    expect(problems(spec)).toEqual([field]);
  });
});
