import { isJsonArray, type JsonObject } from "../../apimachinery/json-value.ts";
import type { Converter } from "./convert.ts";
import { isCelMap, isMap, mapGet } from "./equality.ts";
import { charge, failStep, type Frame, type Step } from "./frame.ts";
import {
  celDouble,
  celOptional,
  kindOf,
  type CelDouble,
  type CelFailure,
  type CelMap,
  celFailure,
  isCelFailure,
  type CelOptional,
  type CelUint,
  type CelValue,
} from "./values.ts";

/** Which member is selected, and its conversion to a value. */
export interface Selection {
  readonly field: string;
  /** The name in JSON. */
  readonly key: string;
  readonly convert: Converter;
  readonly optional: boolean;
  /** Whether a member that is null counts as absent, as with the fields of declared objects. */
  readonly nullIsAbsent: boolean;
}

/** `a.b`, or `a.?b`. */
export function selectStep(operand: Step, selection: Selection): Step {
  const { field, convert, optional } = selection;
  return (frame) => {
    const value = operand(frame);
    if (value === undefined) return undefined;
    charge(frame, 1);
    if (isMap(value)) {
      const raw = selectMember(value, selection);
      if (raw === undefined) return optional ? celOptional(undefined) : failStep(frame, `no such key: ${field}`);
      return optional ? celOptional(convert(raw, frame)) : convert(raw, frame);
    }
    return withinOptional(frame, value, (held) => {
      if (!isMap(held)) return celFailure("no such overload");
      const raw = selectMember(held, selection);
      return raw === undefined ? undefined : convert(raw, frame);
    });
  };
}

/** The raw member, or undefined where there is none. */
function selectMember(map: JsonObject | CelMap, { key, nullIsAbsent }: Selection): unknown {
  const raw = isCelMap(map) ? map.entries.get(key)?.[1] : Object.hasOwn(map, key) ? map[key] : undefined;
  return raw === null && nullIsAbsent ? undefined : raw;
}

/** A member of the value inside an optional one: absent when either is, or a failure. */
function withinOptional(
  frame: Frame,
  value: CelValue,
  member: (held: CelValue) => CelValue | CelFailure | undefined,
): CelValue | undefined {
  if (kindOf(value) !== "optional") return failStep(frame, "no such overload");
  const { value: held } = value as CelOptional;
  if (held === undefined) return value;
  const found = member(held);
  return isCelFailure(found) ? failStep(frame, found.error) : celOptional(found);
}

/** `has(a.b)`. */
export function hasStep(operand: Step, selection: Selection): Step {
  return (frame) => {
    const value = operand(frame);
    if (value === undefined) return undefined;
    charge(frame, 1);
    const held = kindOf(value) === "optional" ? (value as CelOptional).value : value;
    if (held === undefined) return false;
    return isMap(held) ? selectMember(held, selection) !== undefined : failStep(frame, "no such overload");
  };
}

/** `a[b]`. */
export function indexStep(operand: Step, index: Step, convert: Converter): Step {
  return (frame) => {
    const value = operand(frame);
    if (value === undefined) return undefined;
    const key = index(frame);
    if (key === undefined) return undefined;
    charge(frame, 1);
    if (kindOf(value) === "optional")
      return withinOptional(frame, value, (held) => member(held, key, (raw) => convert(raw, frame)));
    const found = member(value, key, (raw) => convert(raw, frame));
    if (found === undefined) return failStep(frame, missing(value, key));
    return isCelFailure(found) ? failStep(frame, found.error) : found;
  };
}

/** `a[?b]`. */
export function optionalIndexStep(operand: Step, index: Step, convert: Converter): Step {
  return (frame) => {
    const value = operand(frame);
    if (value === undefined) return undefined;
    const key = index(frame);
    if (key === undefined) return undefined;
    charge(frame, 1);
    const optional = kindOf(value) === "optional" ? value : celOptional(value);
    return withinOptional(frame, optional, (held) => member(held, key, (raw) => convert(raw, frame)));
  };
}

function missing(value: CelValue, key: CelValue): string {
  return isJsonArray(value) ? `index out of bounds: ${showKey(key)}` : `no such key: ${showKey(key)}`;
}

function showKey(key: CelValue): string {
  if (typeof key !== "object" || key === null) return String(key);
  const kind = kindOf(key);
  return kind === "uint" || kind === "double" ? String((key as CelUint | CelDouble).value) : "<value>";
}

/** Converts the member to a value. */
type Finish = (raw: unknown) => CelValue;

/** The element or entry under a key; undefined when there is none. */
function member(value: CelValue, key: CelValue, convert: Finish): CelValue | CelFailure | undefined {
  if (isJsonArray(value)) {
    const at = position(key);
    if (at === undefined) return celFailure("no such overload");
    const raw = at >= 0 && at < value.length ? value[at] : undefined;
    return raw === undefined ? undefined : convert(raw);
  }
  if (!isMap(value)) return celFailure("no such overload");
  const raw = mapGet(value, key);
  return raw === undefined ? undefined : convert(raw);
}

function position(key: CelValue): number | undefined {
  if (typeof key === "number") return key;
  if (typeof key === "bigint") return Number(key);
  const kind = kindOf(key);
  if (kind === "uint") return Number((key as CelUint).value);
  const { value } = kind === "double" ? (key as CelDouble) : celDouble(Number.NaN);
  return Number.isInteger(value) ? value : undefined;
}

/** `a.or(b)`, or with `unwraps` `a.orValue(b)`: the fallback is evaluated only if the value is absent. */
export function fallbackStep(operand: Step, fallback: Step, unwraps: boolean): Step {
  return (frame) => {
    const value = operand(frame);
    if (value === undefined) return undefined;
    if (kindOf(value) !== "optional") return failStep(frame, "no such overload");
    charge(frame, 1);
    const held = (value as CelOptional).value;
    if (held !== undefined) return unwraps ? held : value;
    const other = fallback(frame);
    if (other === undefined || unwraps || kindOf(other) === "optional") return other;
    return failStep(frame, "no such overload");
  };
}
