import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json-value.ts";
import type { ObjectSchema, Schema } from "../schema.ts";
import { StatusError } from "../status.ts";
import { finish } from "../steps.ts";
import { applyObject, type Applied } from "./apply-object.ts";
import { listed, type Managers } from "./managers.ts";
import { mergeObjects as mergeObjectsInSteps } from "./merge-objects.ts";
import { trackUpdate as trackUpdateInSteps, type Tracking } from "./track-update.ts";
import { atOnce, pacedAtOnce } from "../../../test/kits/at-once.ts";

const mergeObjects = pacedAtOnce(mergeObjectsInSteps);
const trackUpdate = atOnce(trackUpdateInSteps);

const text: Schema = { type: "string" };
const item: ObjectSchema = {
  type: "object",
  properties: { name: { schema: text }, value: { schema: text }, tags: { schema: { type: "map", values: text } } },
};
const schema: ObjectSchema = {
  type: "object",
  properties: {
    apiVersion: { schema: text },
    kind: { schema: text },
    data: { schema: { type: "map", values: text } },
    whole: { schema: { type: "map", values: text, mapType: "atomic" } },
    items: { schema: { type: "array", items: item, listType: "map", listMapKeys: ["name"] } },
    set: { schema: { type: "array", items: text, listType: "set" } },
    list: { schema: { type: "array", items: text, listType: "atomic" } },
    open: { schema: { type: "object", properties: {}, open: true } },
    status: { schema: { type: "map", values: text } },
  },
};

function tracking(manager: string, operation: "Apply" | "Update" = "Apply", time = "2026-01-01T00:00:00Z"): Tracking {
  return {
    schema,
    writer: { manager, operation, apiVersion: "v1", subresource: "" },
    time,
    ignored: { "f:status": {} },
  };
}

const nothing: Applied = { object: {}, managers: new Map() };

function apply(from: Applied, manager: string, config: JsonObject, force = false): Applied {
  return finish(applyObject(tracking(manager), { live: from.object, config, managers: from.managers, force }));
}

function update(from: Applied, manager: string, object: JsonObject): Applied {
  const objects = { before: from.object, after: object };
  return { object, managers: trackUpdate(tracking(manager, "Update"), from.managers, objects) };
}

const owned = (managers: Managers): unknown =>
  Object.fromEntries((listed(managers) ?? []).map(({ manager, fieldsV1 }) => [manager, JSON.stringify(fieldsV1)]));

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error.message;
    throw error;
  }
  throw new TypeError("nothing was refused");
}

describe("applying", () => {
  it("gives the manager every leaf that it names, and no more", () => {
    const { managers } = apply(nothing, "a", { data: { x: "1" }, list: ["p"], items: [{ name: "i", value: "v" }] });
    expect(owned(managers)).toEqual({
      a: '{"f:data":{"f:x":{}},"f:items":{"k:{\\"name\\":\\"i\\"}":{".":{},"f:name":{},"f:value":{}}},"f:list":{}}',
    });
  });

  it("removes what the manager applied before and does not any more", () => {
    const first = apply(nothing, "a", {
      data: { x: "1", y: "1" },
      items: [{ name: "i" }, { name: "j" }],
      set: ["s", "t"],
    });
    const second = apply(first, "a", { data: { y: "1" }, items: [{ name: "j" }], set: ["t"] });
    expect(second.object).toEqual({ data: { y: "1" }, items: [{ name: "j" }], set: ["t"] });
    expect(apply(second, "a", {})).toEqual(nothing);
  });

  it("keeps what another manager owns as well, until that one lets go too", () => {
    const shared = apply(apply(nothing, "a", { data: { x: "1" } }), "b", { data: { x: "1" } });
    const left = apply(shared, "a", {});
    expect(left.object).toEqual({ data: { x: "1" } });
    expect(apply(left, "b", {}).object).toEqual({});
  });

  it("keeps what others put into an item, and the item with it", () => {
    const both = apply(apply(nothing, "a", { items: [{ name: "i" }] }), "b", { items: [{ name: "i", value: "v" }] });
    expect(apply(both, "a", {}).object).toEqual({ items: [{ name: "i", value: "v" }] });
    expect(apply(both, "b", {}).object).toEqual({ items: [{ name: "i" }] });
  });

  it("refuses to change what another owns, and names every field and owner", () => {
    const created = update(nothing, "u", { data: { x: "1", y: "1" } });
    const live = apply(created, "a", { whole: { k: "1" } });
    expect(refusal(() => apply(live, "b", { data: { x: "2" } }))).toBe(
      'Apply failed with 1 conflict: conflict with "u" using v1: .data.x',
    );
    expect(refusal(() => apply(live, "b", { data: { x: "2", y: "2" }, whole: { k: "2" } }))).toBe(
      'Apply failed with 3 conflicts: conflicts with "a":\n- .whole\nconflicts with "u" using v1:\n- .data.x\n- .data.y',
    );
  });

  it("name 100 fields at most, and say how many more there are", () => {
    const data = (value: string): JsonObject => ({
      data: Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`k${index}`, value])),
    });
    const from = apply(nothing, "a", data("1"));
    const message = refusal(() => apply(from, "b", data("2")));
    expect(message).toMatch(/^Apply failed with 5000 conflicts: conflicts with "a":\n- \.data\.k0\n/);
    expect(message).toMatch(/\nand 4900 more conflicts$/);
    expect(message.split("\n- ")).toHaveLength(101);
  });

  it("takes over by force, and the other then owns only the rest", () => {
    const forced = apply(apply(nothing, "a", { data: { x: "1", y: "1" } }), "b", { data: { x: "2" } }, true);
    expect(forced.object).toEqual({ data: { x: "2", y: "1" } });
    expect(owned(forced.managers)).toEqual({ a: '{"f:data":{"f:y":{}}}', b: '{"f:data":{"f:x":{}}}' });
  });

  it("takes atomic lists and maps as one value", () => {
    const first = apply(nothing, "a", { list: ["p", "q"], whole: { k: "1" } });
    expect(refusal(() => apply(first, "b", { list: ["p"] }))).toContain('"a": .list');
    expect(apply(first, "b", { list: ["p"], whole: { l: "1" } }, true).object).toEqual({
      list: ["p"],
      whole: { l: "1" },
    });
  });

  it("keeps the order of the live list, and the order in which items are applied", () => {
    const named = (...names: readonly string[]): JsonObject => ({ items: names.map((name) => ({ name })) });
    const live = apply(nothing, "a", named("1", "2", "3"));
    expect(apply(live, "b", named("3", "1")).object).toEqual(named("2", "3", "1"));
    expect(apply(live, "b", named("2")).object).toEqual(named("1", "2", "3"));
    expect(apply(live, "b", named("x", "2", "y")).object).toEqual(named("1", "x", "2", "3", "y"));
  });

  it("owns every level of what has no schema", () => {
    const { managers } = apply(nothing, "a", { open: { p: { q: [1] } } });
    expect(owned(managers)).toEqual({ a: '{"f:open":{"f:p":{".":{},"f:q":{}}}}' });
  });

  it("owns nothing of what is ignored", () => {
    expect(owned(apply(nothing, "a", { status: { s: "1" } }).managers)).toEqual({});
  });

  it("takes an object without owners to be before-first-apply's", () => {
    const live = { object: { data: { x: "1", y: "1" } }, managers: new Map() };
    expect(refusal(() => apply(live, "a", { data: { x: "2" } }))).toContain('"before-first-apply" using v1: .data.x');
    expect(owned(apply(live, "a", { data: { x: "1" } }).managers)).toEqual({
      a: '{"f:data":{"f:x":{}}}',
      "before-first-apply": '{"f:data":{".":{},"f:x":{},"f:y":{}}}',
    });
  });

  it("leaves the time where nothing changes", () => {
    const later = "2026-02-02T00:00:00Z";
    const first = apply(nothing, "a", { data: { x: "1" } });
    const again = (config: JsonObject): unknown =>
      [
        ...finish(
          applyObject(tracking("a", "Apply", later), {
            live: first.object,
            config,
            managers: first.managers,
            force: false,
          }),
        ).managers.values(),
      ][0]?.time;
    expect(again({ data: { x: "1" } })).toBe("2026-01-01T00:00:00Z");
    expect(again({ data: { x: "2" } })).toBe(later);
  });
});

const names = ["p", "q", "r"];
const values = fc.constantFrom("1", "2");
const config = fc
  .record(
    {
      data: fc.dictionary(fc.constantFrom(...names), values, { minKeys: 1 }),
      set: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
      items: fc
        .dictionary(fc.constantFrom(...names), values, { minKeys: 1 })
        .map((all) => Object.entries(all).map(([name, value]) => ({ name, value }))),
      list: fc.array(values, { minLength: 1, maxLength: 2 }),
      whole: fc.dictionary(fc.constantFrom(...names), values, { minKeys: 1 }),
    },
    { requiredKeys: [] },
  )
  .map((one): JsonObject => ({ ...one }));

describe("any applies", () => {
  it("change nothing when they are repeated", () => {
    fc.assert(
      fc.property(config, config, (one, other) => {
        const first = apply(apply(nothing, "a", one), "b", other, true);
        expect(apply(first, "b", other)).toEqual(first);
      }),
    );
  });

  it("leave no trace when all is let go again", () => {
    fc.assert(
      fc.property(config, config, (one, other) => {
        const both = apply(apply(nothing, "a", one), "b", other, true);
        expect(apply(apply(both, "a", {}, true), "b", {})).toEqual(nothing);
      }),
    );
  });

  it("give the one who forces exactly what it applies", () => {
    fc.assert(
      fc.property(config, config, (one, other) => {
        const { object, managers } = apply(apply(nothing, "a", one), "b", other, true);
        expect(apply({ object, managers }, "b", other).object).toEqual(object);
        expect(mergeObjects(schema, { live: object, applied: other })).toEqual(object);
      }),
    );
  });

  it("of different fields come to the same in either order", () => {
    fc.assert(
      fc.property(values, values, config, (mine, theirs, rest) => {
        const { data: _data, ...base } = rest;
        const start = apply(nothing, "base", base);
        const [one, other] = [{ data: { p: mine } }, { data: { q: theirs } }];
        const left = apply(apply(start, "a", one), "b", other);
        const right = apply(apply(start, "b", other), "a", one);
        expect(left.object).toEqual(right.object);
        expect(owned(left.managers)).toEqual(owned(right.managers));
      }),
    );
  });
});

describe("updating", () => {
  it("moves what it changes to its manager and what it removes to nobody", () => {
    const created = update(nothing, "c", { data: { x: "1", y: "1", z: "1" } });
    const updated = update(created, "u", { data: { x: "2", y: "1" } });
    expect(owned(updated.managers)).toEqual({ c: '{"f:data":{".":{},"f:y":{}}}', u: '{"f:data":{"f:x":{}}}' });
  });

  it("is nothing where no value changes", () => {
    const created = update(nothing, "c", { data: { x: "1" } });
    expect(update(created, "u", { data: { x: "1" } }).managers).toBe(created.managers);
  });

  it("only moves the time where the manager owns all already", () => {
    const created = update(nothing, "c", { data: { x: "1" } });
    const later = trackUpdate(tracking("c", "Update", "2026-02-02T00:00:00Z"), created.managers, {
      before: created.object,
      after: { data: { x: "2" } },
    });
    const [[before], [after]] = [[...created.managers.values()], [...later.values()]];
    expect(after).toEqual({ ...before, time: "2026-02-02T00:00:00Z" });
    expect(after?.fieldsV1).toBe(before?.fieldsV1);
  });

  it("takes items that share a key as one", () => {
    const twice = update(nothing, "c", {
      items: [
        { name: "i", value: "1" },
        { name: "i", value: "2" },
      ],
    });
    expect(owned(twice.managers)).toEqual({ c: '{"f:items":{".":{},"k:{\\"name\\":\\"i\\"}":{}}}' });
    expect(owned(update(twice, "u", { items: [{ name: "i", value: "1" }] }).managers)).toEqual({
      c: '{"f:items":{}}',
      u: '{"f:items":{"k:{\\"name\\":\\"i\\"}":{".":{},"f:name":{},"f:value":{}}}}',
    });
  });
});
