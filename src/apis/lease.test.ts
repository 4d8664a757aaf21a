import { describe, expect, test } from "vitest";

import { leases } from "./lease.ts";
import { tableFor } from "../serializer/table.ts";

function lease(spec: object): { apiVersion: string; kind: string; metadata: object; spec: object } {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "a", namespace: "n" }, spec };
}

describe("a lease", () => {
  const cases: Readonly<Record<string, { readonly spec: object; readonly errors: readonly string[] }>> = {
    "may say nothing": { spec: {}, errors: [] },
    "may last a second and never have changed hands": {
      spec: { leaseDurationSeconds: 1, leaseTransitions: 0 },
      errors: [],
    },
    "may not last no time": {
      spec: { leaseDurationSeconds: 0 },
      errors: ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
    },
    "may not have changed hands less than never": {
      spec: { leaseTransitions: -1 },
      errors: ["spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { spec, errors }) => {
    const found = leases.validate?.(lease(spec)) ?? [];
    expect(found.map((error) => `${error.path}: ${error.message}`)).toStrictEqual(errors);
  });

  test("is created by PUT, and overwritten only with a resourceVersion", () => {
    expect([leases.createOnUpdate, leases.unconditionalUpdate]).toStrictEqual([true, false]);
  });

  test("shows its holder", () => {
    const table = tableFor(leases, [lease({ holderIdentity: "me" })], { now: 0 });
    expect(table.rows[0]?.cells).toStrictEqual(["a", "me", "<unknown>"]);
  });
});
