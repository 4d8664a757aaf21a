import { describe, expect, it } from "vitest";
import { countedList, longestRun } from "../../../test/kits/longest-run.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { customKinds } from "./custom-kind.ts";
import type { Resource } from "../resource.ts";

const text = { type: "string" };
const properties = {
  names: { type: "array", items: { ...text, pattern: "^(a|b|c)+[0-9]{1,20}x?$" } },
  set: { type: "array", "x-kubernetes-list-type": "set", items: text },
  keyed: {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", required: ["name"], properties: { name: text } },
  },
  resources: { type: "array", items: { type: "object", "x-kubernetes-embedded-resource": true } },
  ruled: { type: "array", items: { ...text, "x-kubernetes-validations": [{ rule: "self != 'z'" }] } },
  open: { type: "array", items: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
};

function things(): Resource {
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } } };
  const [kind] = customKinds(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names: { plural: "things", kind: "Thing" },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, subresources: { status: {} }, schema }],
      },
    },
    { since: 0, convert: undefined },
  );
  if (kind === undefined) throw new TypeError("no kind");
  return kind;
}

const thing = (spec: object): ApiObject => ({
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "a", namespace: "default" },
  spec,
});

const elements: Readonly<Record<keyof typeof properties, (index: number) => unknown>> = {
  names: (index) => `${"a".repeat(40)}${index}`,
  set: (index) => `s${index}`,
  keyed: (index) => ({ name: `n${index}` }),
  resources: (index) => ({ apiVersion: "v1", kind: "K", metadata: { name: `r${index}` } }),
  ruled: (index) => `r${index}`,
  open: (index) => ({ a: index }),
};
const fields = Object.keys(elements) as readonly (keyof typeof properties)[];
const count = 9_900;
/** Several walks over the object each take up to 1,024 places in one step. */
const maxReadsPerStep = 3_072;

describe("validation of a large custom object", () => {
  it.each(fields)("is left after at most 3,072 elements of %s", (field) => {
    const { list, reads } = countedList(Array.from({ length: count }, (_, index) => elements[field](index)));
    const steps = things().validateInSteps?.(thing({ [field]: list }));
    if (steps === undefined) throw new TypeError("no steps");
    const { longest, result } = longestRun(steps, reads);
    expect(result).toEqual([]);
    expect(reads()).toBeGreaterThanOrEqual(count);
    expect(longest).toBeLessThanOrEqual(maxReadsPerStep);
  });

  it.each(fields)("is left after as many where %s stay as they were", (field) => {
    const list = countedList(Array.from({ length: count }, (_, index) => elements[field](index)));
    const stored = Array.from({ length: count }, (_, index) => elements[field](index));
    const steps = things().validateInSteps?.(thing({ [field]: list.list }), thing({ [field]: stored }));
    if (steps === undefined) throw new TypeError("no steps");
    const { longest, result } = longestRun(steps, list.reads);
    expect(result).toEqual([]);
    expect(list.reads()).toBeGreaterThanOrEqual(count);
    expect(longest).toBeLessThanOrEqual(maxReadsPerStep);
  });

  it("is left while its status alone is looked at", () => {
    const { list, reads } = countedList(Array.from({ length: count }, (_, index) => elements.set(index)));
    const object = thing({ set: list });
    const steps = things().subresources["status"]?.validateUpdateInSteps?.(object, thing({}));
    if (steps === undefined) throw new TypeError("no steps");
    const { longest, result } = longestRun(steps, reads);
    expect(result).toEqual([]);
    expect(reads()).toBeGreaterThanOrEqual(count);
    expect(longest).toBeLessThanOrEqual(maxReadsPerStep);
  });
});
