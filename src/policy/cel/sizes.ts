import { isJsonArray } from "../../core/json-value.ts";
import { isMap, mapSize } from "./equality.ts";
import type { CelValue } from "./values.ts";

const surrogate = /[\ud800-\udfff]/;

/** Whether a text has characters that take two UTF-16 units, so that positions are not those of JavaScript. */
export function isWide(text: string): boolean {
  return surrogate.test(text);
}

/** The number of code points of a text. */
export function textLength(text: string): number {
  if (!isWide(text)) return text.length;
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** The size that costs are computed from: characters, octets, elements or entries, and 1 for everything else. */
export function sizeOf(value: CelValue): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  if (isJsonArray(value) || value instanceof Uint8Array) return value.length;
  return isMap(value) ? mapSize(value) : 1;
}

/** What a pass over a value costs: a tenth of its size, rounded up. */
export function passCost(value: CelValue): number {
  return Math.ceil(sizeOf(value) * 0.1);
}
