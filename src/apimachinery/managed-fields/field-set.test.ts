import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contains as containsInSteps,
  countFields,
  difference as differenceInSteps,
  intersection as intersectionInSteps,
  isEmptySet,
  pathsOf,
  readFieldSet as readFieldSetInSteps,
  recursiveDifference as recursiveDifferenceInSteps,
  sortedSet as sortedSetInSteps,
  union as unionInSteps,
  unionOf as unionOfInSteps,
  type FieldSet,
} from "./field-set.ts";
import { pacedAtOnce } from "../../../test/kits/at-once.ts";

const contains = pacedAtOnce(containsInSteps);
const difference = pacedAtOnce(differenceInSteps);
const intersection = pacedAtOnce(intersectionInSteps);
const readFieldSet = pacedAtOnce(readFieldSetInSteps);
const recursiveDifference = pacedAtOnce(recursiveDifferenceInSteps);
const sortedSet = pacedAtOnce(sortedSetInSteps);
const union = pacedAtOnce(unionInSteps);
const unionOf = pacedAtOnce(unionOfInSteps);

type Path = readonly string[];

function setOf(...paths: readonly Path[]): FieldSet {
  return unionOf(paths.map((path) => path.reduceRight<FieldSet>((below, element) => ({ [element]: below }), {})));
}

const elements = ["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"', "v:3", "i:0"];
const path = fc.array(fc.constantFrom(...elements), { minLength: 1, maxLength: 4 });
const paths = fc.array(path, { maxLength: 8 });
const set = paths.map((list) => setOf(...list));
const key = (one: Path): string => one.join("|");
const sameFields = (one: FieldSet, other: FieldSet): boolean => contains(one, other) && contains(other, one);
const keysOf = (one: FieldSet): readonly string[] => pathsOf(one).map(key).sort();

describe("a set of fields", () => {
  it("has exactly the fields that were put in", () => {
    fc.assert(
      fc.property(paths, (list) => {
        expect(keysOf(setOf(...list))).toEqual([...new Set(list.map(key))].sort());
      }),
    );
  });

  it("is what FieldsV1 says and comes back from it", () => {
    expect(JSON.stringify(sortedSet(setOf(["f:data"], ["f:data", "f:b"], ["f:data", "f:a"])))).toBe(
      '{"f:data":{".":{},"f:a":{},"f:b":{}}}',
    );
    fc.assert(
      fc.property(set, (one) => {
        const text = JSON.stringify(sortedSet(one));
        const back = readFieldSet(JSON.parse(text));
        expect(keysOf(back ?? {})).toEqual(keysOf(one));
        expect(JSON.stringify(sortedSet(back ?? {}))).toBe(text);
      }),
    );
  });

  it("writes fields before keys, keys before values, values before indices, each in order", () => {
    const mixed = ["i:10", "i:9", 'v:"a"', "v:10", "v:9", 'k:{"n":"b"}', 'k:{"n":"a"}', "f:z", "f:a"];
    expect(Object.keys(sortedSet(setOf(...mixed.map((one) => [one]))))).toEqual(mixed.toReversed());
  });

  it("obeys the laws of sets", () => {
    fc.assert(
      fc.property(set, set, (one, other) => {
        const [mine, theirs] = [new Set(keysOf(one)), new Set(keysOf(other))];
        expect(keysOf(union(one, other))).toEqual([...new Set([...mine, ...theirs])].sort());
        expect(keysOf(intersection(one, other))).toEqual([...mine].filter((field) => theirs.has(field)));
        expect(keysOf(difference(one, other))).toEqual([...mine].filter((field) => !theirs.has(field)));
        expect(sameFields(union(one, other), union(other, one))).toBe(true);
        expect(sameFields(union(difference(one, other), intersection(one, other)), one)).toBe(true);
        expect(contains(one, other)).toBe([...theirs].every((field) => mine.has(field)));
      }),
    );
  });

  it("loses with a field what is underneath, where that is asked for", () => {
    const whole = setOf(["f:a", "f:b"], ["f:a"], ["f:c"]);
    expect(keysOf(recursiveDifference(whole, setOf(["f:a"])))).toEqual(["f:c"]);
    expect(keysOf(difference(whole, setOf(["f:a"])))).toEqual(["f:a|f:b", "f:c"]);
  });

  it("is left as it is by what changes nothing, and never changed in place", () => {
    fc.assert(
      fc.property(set, set, (one, other) => {
        const before = JSON.stringify([one, other]);
        const rest = difference(one, other);
        union(one, other);
        intersection(one, other);
        recursiveDifference(one, other);
        expect(difference(rest, other)).toBe(rest);
        expect(union(one, rest)).toBe(one);
        expect(JSON.stringify([one, other])).toBe(before);
      }),
    );
  });

  it("is empty without fields only", () => {
    expect([{}, setOf(["f:a"])].map(isEmptySet)).toEqual([true, false]);
    expect(isEmptySet(difference(setOf(["f:a", "f:b"]), setOf(["f:a", "f:b"])))).toBe(true);
  });

  it("is not read from what is no set", () => {
    const wrong = [1, "x", null, [], { "f:a": 1 }, { a: {} }, { f: {} }, { "k:{": {} }, { "v:": {} }, { "i:x": {} }];
    expect(wrong.map((one) => readFieldSet(one))).toEqual(wrong.map(() => undefined));
    expect(readFieldSet({ 'k:{"b":1, "a":"x"}': {}, "x:unknown": {}, "f:a": { ".": {} } })).toEqual({
      'k:{"a":"x","b":1}': {},
      "f:a": {},
    });
  });

  it("costs no more to take a large set from than the small one is large", () => {
    const large = counted(Object.fromEntries(Array.from({ length: 5000 }, (_, index) => [`f:k${index}`, {}])));
    expect(difference(setOf(["f:k1"], ["f:x"]), large.set)).toEqual(setOf(["f:x"]));
    expect(intersection(setOf(["f:k1"], ["f:x"]), large.set)).toEqual(setOf(["f:k1"]));
    expect(large.reads()).toBeLessThan(20);
  });

  it("reads each of many sets once to unite them, however large they are together", () => {
    const sets = Array.from({ length: 500 }, (_, index) => counted({ "f:data": { [`f:k${index}`]: {} } }));
    expect(countFields(unionOf(sets.map((one) => one.set)))).toBe(500);
    expect(sets.reduce((sum, one) => sum + one.reads(), 0)).toBeLessThan(500 * 4);
  });

  it("names no more paths than are asked for", () => {
    const many = setOf(...Array.from({ length: 50 }, (_, index) => ["f:data", `f:k${index}`]));
    expect(pathsOf(many, 7)).toEqual(pathsOf(many).slice(0, 7));
    expect(countFields(many)).toBe(50);
  });
});

/** A set that counts how often an element of it, or the list of them, is read. */
function counted(set: FieldSet): { readonly set: FieldSet; readonly reads: () => number } {
  let reads = 0;
  const proxy = new Proxy(set, {
    get: (target, key) => {
      reads += 1;
      return Reflect.get(target, key) as FieldSet;
    },
    ownKeys: (target) => {
      reads += 1 + Object.keys(target).length;
      return Reflect.ownKeys(target);
    },
  });
  return { set: proxy, reads: () => reads };
}
