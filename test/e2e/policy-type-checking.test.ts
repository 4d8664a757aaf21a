import { expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const { api, post } = await hubForFile();
const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] };
const specOf = (expression: string): object => ({
  matchConstraints: { resourceRules: [rule] },
  validations: [{ expression }],
});

/** The status of the policy once its generation is checked. */
async function checked(name: string, generation: number): Promise<unknown> {
  let status: Readonly<Record<string, unknown>> | undefined;
  await expect
    .poll(async () => {
      status = (await api(`${policies}/${name}`)).object()["status"] as typeof status;
      return status?.["observedGeneration"];
    })
    .toBe(generation);
  return status;
}

it("the status of a policy names the expressions that do not fit the kinds that it matches, for each generation", async () => {
  await post(policies, { metadata: { name: "typed" }, spec: specOf("object.dat.size() > 0") });
  expect(await checked("typed", 1)).toEqual({
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [
        {
          fieldRef: "spec.validations[0].expression",
          warning:
            "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'dat'\n | object.dat.size() > 0\n | ......^\n",
        },
      ],
    },
  });
  await api(`${policies}/typed`, {
    method: "PATCH",
    type: "application/merge-patch+json",
    body: { spec: specOf("object.data.size() > 0") },
  });
  expect(await checked("typed", 2)).toEqual({ observedGeneration: 2, typeChecking: {} });
});

it("a policy on a custom kind is checked against its definition", async () => {
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { seats: { type: "integer" } } } },
    },
  };
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await post(definitions, {
    metadata: { name: "boats.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "boats", kind: "Boat" },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
  await expect.poll(async () => (await api("/apis/example.com/v1/boats")).status).toBe(200);
  const boats = { ...rule, apiGroups: ["example.com"], resources: ["boats"] };
  const validations = [{ expression: 'object.spec.seats == "x"' }];
  const spec = { matchConstraints: { resourceRules: [boats] }, validations };
  const policy: Partial<ApiObject> = { metadata: { name: "boats" }, spec };
  await post(policies, policy);
  expect(await checked("boats", 1)).toMatchObject({
    typeChecking: {
      expressionWarnings: [
        {
          warning:
            "example.com/v1, Kind=Boat: ERROR: <input>:1:19: found no matching overload for '_==_' applied to '(int, string)'\n | object.spec.seats == \"x\"\n | ..................^\n",
        },
      ],
    },
  });
});
