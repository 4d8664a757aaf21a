import { describe, expect, it } from "vitest";
import {
  foldedManagers as foldedManagersInSteps,
  isReset,
  listed,
  readManagers as readManagersInSteps,
  storedManagers,
  type ManagedFieldsEntry,
} from "./managers.ts";
import { pacedAtOnce } from "../../../test/kits/at-once.ts";

const foldedManagers = pacedAtOnce(foldedManagersInSteps);
const readManagers = pacedAtOnce(readManagersInSteps);

function entry(manager: string, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry {
  return {
    manager,
    operation: "Update",
    apiVersion: "v1",
    fieldsType: "FieldsV1",
    fieldsV1: { [`f:${manager}`]: {} },
    ...more,
  };
}

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const namesOf = (entries: readonly ManagedFieldsEntry[] | undefined): unknown => entries?.map(({ manager }) => manager);

describe("the owners of an object", () => {
  it("stand in the order of operation, time and name", () => {
    const entries = [
      entry("d"),
      entry("c", { time: at(1) }),
      entry("b", { time: at(2), operation: "Apply" }),
      entry("a", { time: at(1) }),
    ];
    expect(namesOf(listed(storedManagers(entries)))).toEqual(["b", "d", "a", "c"]);
  });

  it("are none where nobody owns anything", () => {
    expect(listed(storedManagers([entry("a", { fieldsV1: {} })]))).toBeUndefined();
  });

  it("are told apart by operation, version and subresource, but appliers not by version", () => {
    const updates = [entry("a"), entry("a", { apiVersion: "v2" }), entry("a", { subresource: "status" })];
    expect(storedManagers(updates).size).toBe(3);
    const applies = [entry("a", { operation: "Apply" }), entry("a", { operation: "Apply", apiVersion: "v2" })];
    expect(storedManagers(applies).size).toBe(1);
  });

  it("are folded, the oldest first, once more than ten update", () => {
    const many = Array.from({ length: 12 }, (_none, index) => entry(`m${index}`, { time: at(index) }));
    const folded = listed(foldedManagers(storedManagers(many))) ?? [];
    expect(namesOf(folded)).toEqual(["ancient-changes", ...many.slice(3).map(({ manager }) => manager)]);
    expect(folded[0]).toMatchObject({ time: at(2), fieldsV1: { "f:m0": {}, "f:m1": {}, "f:m2": {} } });
  });

  it("are not folded while there are ten, nor when they apply", () => {
    const ten = storedManagers(Array.from({ length: 10 }, (_none, index) => entry(`m${index}`)));
    expect(foldedManagers(ten)).toBe(ten);
    const appliers = Array.from({ length: 20 }, (_none, index) => entry(`m${index}`, { operation: "Apply" }));
    expect(foldedManagers(storedManagers(appliers)).size).toBe(20);
  });

  it.each([
    ["no list", {}],
    ["an entry of no operation", [{ ...entry("a"), operation: "Patch" }]],
    ["an entry without version", [{ ...entry("a"), apiVersion: "" }]],
    ["fields of another type", [{ ...entry("a"), fieldsType: "FieldsV2" }]],
    ["fields that are no set", [{ ...entry("a"), fieldsV1: { a: 1 } }]],
    ["a time that is none", [{ ...entry("a"), time: "yesterday" }]],
    ["an entry that is no object", [1]],
  ])("are not read from %s", (_title, entries) => {
    expect(readManagers(entries)).toBeUndefined();
  });

  it("are read as they were written, apart from empty parts", () => {
    const given = [{ ...entry("a"), time: at(1), subresource: "", extra: 1 }];
    expect([...(readManagers(given)?.values() ?? [])]).toEqual([{ ...entry("a"), time: at(1) }]);
  });

  it("are forgotten by an empty list or a single empty entry only", () => {
    expect([undefined, [], [{}], [{}, {}], [entry("a")]].map(isReset)).toEqual([false, true, true, false, false]);
  });
});
