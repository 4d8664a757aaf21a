import { mapKey } from "./equality.ts";
import { charge, failStep, occupy, type Frame, type Step } from "./frame.ts";
import { celKind, kindOf, type CelOptional, type CelValue } from "./values.ts";

/** An element of a list; optional ones are left out when they are absent. */
export interface ElementStep {
  readonly step: Step;
  readonly optional: boolean;
}

/** An entry of a map. */
export interface EntryStep extends ElementStep {
  readonly key: Step;
}

/** `[a, ?b]`. */
export function listStep(elements: readonly ElementStep[]): Step {
  return (frame) => {
    charge(frame, 10);
    occupy(frame, elements.length);
    const list: CelValue[] = [];
    for (const element of elements) {
      const value = element.step(frame);
      if (value === undefined) return undefined;
      const held = element.optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value !== undefined) list.push(held.value);
    }
    return list;
  };
}

/** `{a: b, ?c: d}`. */
export function mapStep(entries: readonly EntryStep[]): Step {
  return (frame) => {
    charge(frame, 30);
    occupy(frame, entries.length);
    const map = new Map<unknown, readonly [CelValue, CelValue]>();
    for (const entry of entries) {
      const key = entry.key(frame);
      if (key === undefined) return undefined;
      const value = entry.step(frame);
      if (value === undefined) return undefined;
      const found = mapKey(key);
      if (found === undefined || kindOf(key) === "double") return failStep(frame, "unsupported key type");
      const held = entry.optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value === undefined) continue;
      if (map.has(found)) return failStep(frame, "Failed with repeated key");
      map.set(found, [key, held.value]);
    }
    return { [celKind]: "map", entries: map };
  };
}

/** A field of a message. */
export interface FieldStep extends ElementStep {
  readonly name: string;
}

/** `a.b{c: d, ?e: f}`. */
export function messageStep(message: string, fields: readonly FieldStep[]): Step {
  return (frame) => {
    charge(frame, 40);
    occupy(frame, fields.length);
    const entries = new Map<unknown, readonly [CelValue, CelValue]>();
    for (const { name, step, optional } of fields) {
      const value = step(frame);
      if (value === undefined) return undefined;
      const held = optional ? unwrap(frame, value) : { value };
      if (held === undefined) return undefined;
      if (held.value !== undefined) entries.set(name, [name, held.value]);
    }
    return { [celKind]: "map", entries, message };
  };
}

function unwrap(frame: Frame, value: CelValue): { readonly value: CelValue | undefined } | undefined {
  return kindOf(value) === "optional" ? (value as CelOptional) : failStep(frame, "no such overload");
}
