import { describe, expect, it } from "vitest";
import { countedList, longestRun } from "../../test/kits/longest-run.ts";
import { appliedProblem } from "../apimachinery/managed-fields/check-applied.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { finish } from "../apimachinery/steps.ts";
import { customKinds } from "../apis/custom/custom-kind.ts";
import type { Resource } from "../apis/resource.ts";
import { appliedTo, withCreator, withUpdater, type Write } from "./managed-fields.ts";

const text = { type: "string" };
const properties = {
  set: { type: "array", "x-kubernetes-list-type": "set", items: text },
  keyed: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", required: ["name"], properties: { name: text } },
  },
};

function things(): Resource {
  const [kind] = customKinds(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "things", kind: "Thing" },
        scope: "Namespaced",
        versions: [
          { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
        ],
      },
    },
    { since: 0, convert: undefined },
  );
  if (kind === undefined) throw new TypeError("no kind");
  return kind;
}

const write = (fieldManager: string): Write => ({
  resource: things(),
  subresource: "",
  context: { fieldManager, now: Date.UTC(2026, 0, 1) },
});

const thing = (fields: object): ApiObject => ({
  kind: "Thing",
  apiVersion: "example.com/v1",
  metadata: { name: "a", namespace: "default" },
  ...fields,
});

const count = 9_900;
const maxReadsPerStep = 3_072;
type Field = keyof typeof properties;
/** In an order that is not that of FieldsV1. */
const elementsOf = (field: Field, prefix: string): readonly unknown[] =>
  Array.from({ length: count }, (_, index) => {
    const name = `${prefix}${count - index}`;
    return field === "set" ? name : { name };
  });

describe.each(["set", "keyed"] as const)("the owners of a %s of 9,900 elements", (field) => {
  const counted = (prefix: string): ReturnType<typeof countedList> => countedList(elementsOf(field, prefix));

  it("are found in steps of at most 3,072 elements when it is created", () => {
    const { list, reads } = counted("a");
    const { longest, result } = longestRun(withCreator(write("m"), thing({ [field]: list })), reads);
    expect(result.metadata.managedFields).toHaveLength(1);
    expect(reads()).toBeGreaterThanOrEqual(count);
    expect(longest).toBeLessThanOrEqual(maxReadsPerStep);
  });

  it("are found in such steps when another manager replaces it", () => {
    const stored = finish(withCreator(write("m"), thing({ [field]: elementsOf(field, "a") })));
    const { list, reads } = counted("b");
    const next = thing({ [field]: list });
    const { longest, result } = longestRun(withUpdater(write("n"), { stored, next, given: undefined }), reads);
    expect(result.metadata.managedFields).toHaveLength(2);
    expect(reads()).toBeGreaterThanOrEqual(count);
    expect(longest).toBeLessThanOrEqual(maxReadsPerStep);
  });

  it("are found in such steps when it is applied over what another manager owns", () => {
    const stored = finish(withCreator(write("m"), thing({ [field]: elementsOf(field, "a") })));
    const { list, reads } = counted("b");
    const config = { ...thing({ [field]: list }) };
    const problem = longestRun(appliedProblem(things().schema, config), reads);
    expect(problem.result).toBeUndefined();
    const { longest, result } = longestRun(appliedTo(write("n"), stored, { config, force: true }), reads);
    expect(result[field]).toHaveLength(2 * count);
    expect(Math.max(longest, problem.longest)).toBeLessThanOrEqual(maxReadsPerStep);
  });
});
