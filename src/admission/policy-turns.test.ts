import { expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { configMaps } from "../apis/config-map.ts";
import type { AdmissionRequest } from "./admission.ts";
import { mutatingPolicies } from "./mutating-policies.ts";
import { compiledBinding, compiledMutatingPolicy, compiledPolicy, compiledTarget } from "./policy.ts";
import { validatingPolicies } from "./validating-policies.ts";

const list = Array.from({ length: 400 }, (_, index) => index);
/** Costs some hundred thousand units, as much as one step may. */
const costly = "object.list.all(x, object.list.all(y, x != -1))";
const count = 6;
const names = Array.from({ length: count }, (_, index) => `p${index}`);
const matchConstraints = {
  resourceRules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
};
const object: ApiObject = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, list };

const request: AdmissionRequest = {
  operation: "CREATE",
  resource: configMaps,
  subresource: "",
  namespace: "",
  name: "m",
  object,
  oldObject: undefined,
  user: { username: "u", groups: [] },
  dryRun: false,
  warn: () => undefined,
  annotate: () => undefined,
};

const policyNamed = (name: string, spec: object): ApiObject => ({
  apiVersion: "v1",
  kind: "P",
  metadata: { name },
  spec: { matchConstraints, ...spec },
});

/** What plugins are given, and how often they left the loop to others. */
function turning(): { readonly options: object; readonly turns: () => number } {
  let turns = 0;
  const nothing = async (): Promise<undefined> => undefined;
  const turn = async (): Promise<void> => {
    turns += 1;
  };
  const lookups = { namespaceOf: () => undefined, versionsOf: () => [] };
  return { options: { lookups, params: {}, convert: nothing, authorize: nothing, turn }, turns: () => turns };
}

it("validating by several policies leaves the loop between those that cost much", async () => {
  const { options, turns } = turning();
  const policies = names.map((name) => ({
    policy: compiledPolicy(policyNamed(name, { validations: [{ expression: costly }] })),
    bindings: [compiledBinding(policyNamed(name, { policyName: name }))],
  }));
  await validatingPolicies({ ...options, policies: () => policies } as never).validate?.(request);
  expect(turns()).toBe(count - 1);
});

it("match conditions of several policies leave the loop as well", async () => {
  const { options, turns } = turning();
  const policies = names.map((name) => ({
    policy: compiledPolicy(
      policyNamed(name, { matchConditions: [{ name: "c", expression: `!${costly}` }], validations: [] }),
    ),
    bindings: [compiledBinding(policyNamed(name, { policyName: name }))],
  }));
  await validatingPolicies({ ...options, policies: () => policies } as never).validate?.(request);
  expect(turns()).toBe(count - 1);
});

it("mutating leaves the loop between mutations that cost much, of one policy and of several", async () => {
  const { options, turns } = turning();
  const mutation = {
    patchType: "JSONPatch",
    jsonPatch: { expression: `${costly} ? [JSONPatch{op: "test", path: "/kind", value: "x"}] : []` },
  };
  const policies = names.map((name) => ({
    policy: compiledMutatingPolicy(policyNamed(name, { mutations: [mutation, mutation] })),
    bindings: [compiledTarget(policyNamed(name, { policyName: name }))],
  }));
  const round = { number: 0, request, again: () => undefined } as const;
  await mutatingPolicies({ ...options, policies: () => policies } as never).mutate?.(request, round);
  // Each patch is made after the expression, in the next step.
  expect(turns()).toBe(2 * count);
});

it("a large patch is made in steps", async () => {
  const { options, turns } = turning();
  const expression = `[JSONPatch{op: "test", path: "/kind", value: object.list.map(x, object.list.filter(y, y < 50))}]`;
  const policies = [
    {
      policy: compiledMutatingPolicy(
        policyNamed("p", { mutations: [{ patchType: "JSONPatch", jsonPatch: { expression } }] }),
      ),
      bindings: [compiledTarget(policyNamed("p", { policyName: "p" }))],
    },
  ];
  const round = { number: 0, request, again: () => undefined } as const;
  await mutatingPolicies({ ...options, policies: () => policies } as never).mutate?.(request, round);
  // 20,400 values, of which a step makes 1024.
  expect(turns()).toBeGreaterThanOrEqual(19);
});
