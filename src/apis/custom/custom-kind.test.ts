import { describe, expect, it } from "vitest";
import { DecodeError } from "../../apimachinery/decode-error.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import type { Resource } from "../resource.ts";
import type { CrdVersion, CustomResourceDefinition } from "./crd-object.ts";
import { customKinds } from "./custom-kind.ts";

const schema = {
  openAPIV3Schema: {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: { size: { type: "integer" }, colour: { type: "string", default: "red" } },
      },
      status: { type: "object", properties: { size: { type: "integer" } } },
    },
  },
};
const one: CrdVersion = { name: "v1", served: true, storage: true, schema };

function kinds(versions: readonly CrdVersion[], metadata: object = {}): readonly Resource[] {
  const crd: CustomResourceDefinition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com", ...metadata },
    spec: { group: "example.com", names: { plural: "widgets", kind: "Widget" }, scope: "Namespaced", versions },
  };
  return customKinds(crd, { since: 7, convert: async (objects) => objects });
}

const widget = (fields: object): ApiObject => ({
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "a" },
  ...fields,
});

describe("the kinds of a definition", () => {
  it("are its served versions, the stored one first", () => {
    const made = kinds([
      { ...one, name: "v2", storage: false },
      one,
      { ...one, name: "v3", storage: false, served: false },
    ]);
    expect(made.map(({ version }) => version)).toEqual(["v1", "v2"]);
    expect(made.map(({ custom }) => custom?.storage.apiVersion)).toEqual(["example.com/v1", "example.com/v1"]);
    expect(made[0]).toMatchObject({ kind: "Widget", singular: "widget", unconditionalUpdate: false });
  });

  it("are still there in the stored version while the definition goes", () => {
    const made = kinds([{ ...one, served: false }], { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(made.map(({ custom }) => custom?.terminating)).toEqual([true]);
    expect(kinds([{ ...one, served: false }])).toEqual([]);
  });

  it("leave out what they do not know, and fill in what is missing", () => {
    const custom = kinds([one])[0]?.custom;
    expect(custom?.decode({ metadata: { name: "a", mood: 1 }, spec: { size: 1, more: 2 } })).toEqual({
      object: { metadata: { name: "a" }, spec: { size: 1, colour: "red" } },
      unknown: ["metadata.mood", "spec.more"],
    });
  });

  it("refuse metadata of wrong types and keys that no object may have", () => {
    const custom = kinds([one])[0]?.custom;
    expect(() => custom?.decode({ metadata: { labels: { a: 1 } } })).toThrow(DecodeError);
    expect(() => custom?.decode(JSON.parse('{"spec":{"__proto__":{}}}') as object as never)).toThrow(DecodeError);
  });

  it("keep status apart only where it is a subresource", () => {
    const context = { user: { username: "u", groups: [] }, now: 0 };
    const [plain] = kinds([one]);
    expect(plain?.prepareForCreate).toBeUndefined();
    const [apart] = kinds([{ ...one, subresources: { status: {} } }]);
    expect(apart?.prepareForCreate?.(widget({ status: { size: 1 } }), context)).toEqual(widget({}));
    const stored = widget({ spec: { size: 1 }, status: { size: 2 } });
    expect(apart?.prepareForUpdate?.(widget({ spec: { size: 3 }, status: { size: 4 } }), stored, context)).toEqual(
      widget({ spec: { size: 3 }, status: { size: 2 } }),
    );
    expect(
      apart?.subresources["status"]?.prepareForUpdate?.(
        widget({ spec: { size: 3 }, status: { size: 4 } }),
        stored,
        context,
      ),
    ).toEqual(widget({ spec: { size: 1 }, status: { size: 4 } }));
  });

  it("warn of what is deprecated", () => {
    expect(kinds([one])[0]?.custom?.warning).toBeUndefined();
    expect(kinds([{ ...one, deprecated: true }])[0]?.custom?.warning).toBe("example.com/v1 Widget is deprecated");
    const own = { ...one, deprecated: true, deprecationWarning: "use gadgets" };
    expect(kinds([own])[0]?.custom?.warning).toBe("use gadgets");
  });

  it("see stored objects by the schema of the version in which they lie", () => {
    const storage = kinds([one])[0]?.custom?.storage;
    const right = widget({ spec: { colour: "blue" } });
    expect(storage?.settle(right)).toBe(right);
    expect(storage?.settle(widget({ spec: { old: 1 } }))).toEqual(widget({ spec: { colour: "red" } }));
  });

  it("compile many rules in steps when the first object is validated, and never again", () => {
    const rules = Array.from({ length: 1_000 }, (_, index) => ({ rule: `self.size > ${index}` }));
    const ruled = { type: "object", properties: { size: { type: "integer" } }, "x-kubernetes-validations": rules };
    const openAPIV3Schema = { type: "object", properties: { spec: ruled } };
    const [kind] = kinds([{ ...one, schema: { openAPIV3Schema } }]);
    const count = (): number => {
      const steps = kind?.validateInSteps?.(widget({ spec: { size: 2_000 } }));
      let yields = 0;
      while (steps?.next().done === false) yields += 1;
      return yields;
    };
    const [first, later] = [count(), count()];
    expect([first > 50, later < 3]).toEqual([true, true]);
    expect(kind?.validate?.(widget({ spec: { size: 2_000 } }))).toEqual([]);
    expect(kind?.validate?.(widget({ spec: { size: 999 } }))).toHaveLength(1);
  });
});
