import { isJsonArray } from "../../apimachinery/json-value.ts";
import type { CelMacro, CelNode } from "./ast.ts";
import { converterFor, type Converter } from "./convert.ts";
import { isMap, mapGet, mapKey, isCelMap } from "./equality.ts";
import { charge, failStep, occupy, type Frame, type Step } from "./frame.ts";
import { countedKeys } from "./sizes.ts";
import type { Compiler, Slots } from "./steps.ts";
import { celKind, type CelValue } from "./values.ts";

/** The outcome for one element: `next` to continue, `stop` when the result is known, `fail` when there will be none. */
type Visit = (frame: Frame) => "next" | "stop" | "fail";

interface Loop {
  readonly range: Step;
  readonly convert: Converter;
  readonly first: number;
  readonly second: number | undefined;
}

/** A macro that walks a list or a map. Each element costs what the macro's expansion costs in cel-go. */
export function comprehensionStep(compiler: Compiler, node: CelNode<"comprehension">, locals: Slots): Step {
  const range = compiler.compile(node.range, locals);
  const first = compiler.newSlot();
  const [firstName, secondName] = node.variables;
  const inner = new Map(locals).set(firstName, first);
  const second = secondName === undefined ? undefined : compiler.newSlot();
  if (secondName !== undefined && second !== undefined) inner.set(secondName, second);
  const type = compiler.checked.typeOf(node.range);
  const element = type.kind === "list" ? type.element : type.kind === "map" ? type.value : type;
  const convert = converterFor(type.kind === "list" || type.kind === "map" ? element : { kind: "dyn" });
  const condition = node.condition === undefined ? always : compiler.compile(node.condition, inner);
  const transform = node.transform === undefined ? always : compiler.compile(node.transform, inner);
  return results[node.macro]({ range, convert, first, second }, { condition, transform });
}

interface Parts {
  readonly condition: Step;
  readonly transform: Step;
}

const results: Readonly<Record<CelMacro, (loop: Loop, parts: Parts) => Step>> = {
  all: (loop, { condition }) => quantifier(loop, condition, false),
  exists: (loop, { condition }) => quantifier(loop, condition, true),
  exists_one: (loop, { condition }) => exactlyOne(loop, condition),
  filter: (loop, { condition }) => collect(loop, condition, (frame) => frame.slots[loop.first]),
  map: (loop, { condition, transform }) => collect(loop, condition, transform),
  transformList: (loop, { condition, transform }) => collect(loop, condition, transform),
  transformMap: (loop, { condition, transform }) =>
    collectMap(loop, condition, (frame, map) => insert(frame, map, [frame.slots[loop.first], transform(frame)])),
  transformMapEntry: (loop, { condition, transform }) =>
    collectMap(loop, condition, (frame, map) => insertAll(frame, map, transform(frame))),
};

const always: Step = () => true;

/** Runs `visit` for every element; false when the walk failed. */
function walk(frame: Frame, loop: Loop, visit: Visit): boolean {
  const range = loop.range(frame);
  if (range === undefined) return false;
  charge(frame, 1);
  if (isJsonArray(range)) return walkList(frame, { ...loop, list: range }, visit);
  if (!isMap(range)) {
    failStep(frame, "no such overload");
    return false;
  }
  for (const key of countedKeys(frame, range)) {
    frame.slots[loop.first] = key;
    if (loop.second !== undefined) frame.slots[loop.second] = loop.convert(mapGet(range, key), frame);
    const next = visit(frame);
    if (next !== "next") return next === "stop";
  }
  return true;
}

function walkList(frame: Frame, loop: Loop & { readonly list: readonly unknown[] }, visit: Visit): boolean {
  const { list, first, second, convert } = loop;
  for (let at = 0; at < list.length; at++) {
    const element = convert(list[at], frame);
    frame.slots[first] = second === undefined ? element : at;
    if (second !== undefined) frame.slots[second] = element;
    const next = visit(frame);
    if (next !== "next") return next === "stop";
  }
  return true;
}

/** `all` and `exists`: an element that decides the result overrides those that failed. */
function quantifier(loop: Loop, condition: Step, decisive: boolean): Step {
  const cost = decisive ? 5 : 4;
  return (frame) => {
    let decided = false;
    let problem: string | undefined;
    const walked = walk(frame, loop, () => {
      charge(frame, cost);
      const value = condition(frame);
      if (value === decisive) {
        decided = true;
        return "stop";
      }
      if (typeof value !== "boolean") problem ??= value === undefined ? frame.error : "no such overload";
      return "next";
    });
    if (!walked) return undefined;
    if (decided) return decisive;
    return problem === undefined ? !decisive : failStep(frame, problem);
  };
}

function exactlyOne(loop: Loop, condition: Step): Step {
  return (frame) => {
    let count = 0;
    const walked = walk(frame, loop, () => {
      charge(frame, 2);
      const value = condition(frame);
      if (value === true) count++;
      return accepted(frame, value) === undefined ? "fail" : "next";
    });
    return walked ? count === 1 : undefined;
  };
}

/** A condition's value; undefined with the reason in the frame when it is not boolean. */
function accepted(frame: Frame, value: CelValue | undefined): boolean | undefined {
  if (typeof value === "boolean" || value === undefined) return value;
  return failStep(frame, "no such overload");
}

function collect(loop: Loop, condition: Step, transform: Step): Step {
  return (frame) => {
    const list: CelValue[] = [];
    const walked = walk(frame, loop, () => {
      charge(frame, 2);
      const wanted = accepted(frame, condition(frame));
      if (wanted !== true) return wanted === undefined ? "fail" : "next";
      charge(frame, 10);
      occupy(frame, 1);
      const value = transform(frame);
      if (value === undefined) return "fail";
      list.push(value);
      return "next";
    });
    return walked ? list : undefined;
  };
}

type Entries = Map<unknown, readonly [CelValue, CelValue]>;

function collectMap(loop: Loop, condition: Step, add: (frame: Frame, map: Entries) => boolean): Step {
  return (frame) => {
    const entries: Entries = new Map();
    const walked = walk(frame, loop, () => {
      charge(frame, 2);
      const wanted = accepted(frame, condition(frame));
      if (wanted !== true) return wanted === undefined ? "fail" : "next";
      charge(frame, 10);
      return add(frame, entries) ? "next" : "fail";
    });
    return walked ? { [celKind]: "map", entries } : undefined;
  };
}

function insert(frame: Frame, map: Entries, entry: readonly [CelValue | undefined, CelValue | undefined]): boolean {
  const [key, value] = entry;
  if (key === undefined || value === undefined) return false;
  occupy(frame, 1);
  const found = mapKey(key);
  if (found === undefined || map.has(found)) {
    const repeated = `insert failed: key ${String(found)} already exists`;
    failStep(frame, found === undefined ? "unsupported key type" : repeated);
    return false;
  }
  map.set(found, [key, value]);
  return true;
}

function insertAll(frame: Frame, map: Entries, value: CelValue | undefined): boolean {
  if (value === undefined) return false;
  if (!isMap(value) || !isCelMap(value)) {
    failStep(frame, "no such overload");
    return false;
  }
  for (const entry of value.entries.values()) if (!insert(frame, map, entry)) return false;
  return true;
}
