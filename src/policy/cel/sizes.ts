import { isJsonArray, type JsonObject } from "../../apimachinery/json-value.ts";
import { isMap, mapKeys } from "./equality.ts";
import type { CelMeter } from "./frame.ts";
import type { CelMap, CelValue } from "./values.ts";

const surrogate = /[\ud800-\udfff]/;

/** Whether a text has characters that take two UTF-16 units, so that its positions differ from those of JavaScript. */
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

/** The length from which the characters of a text are counted once in an evaluation. */
const longText = 256;

/** The number of code points of a text, counted once when it is long. */
export function countedLength(meter: CelMeter, text: string): number {
  if (text.length <= longText) return textLength(text);
  const known = meter.counted.get(text);
  if (typeof known === "number") return known;
  const length = textLength(text);
  meter.counted.set(text, length);
  return length;
}

/** The keys of a map, collected once. */
export function countedKeys(meter: CelMeter, map: JsonObject | CelMap): readonly CelValue[] {
  const known = meter.counted.get(map);
  if (typeof known === "object") return known;
  const keys = mapKeys(map);
  meter.counted.set(map, keys);
  return keys;
}

/** The size that costs are computed from: characters, octets, elements or entries; 1 for any other value. */
export function sizeOf(meter: CelMeter, value: CelValue): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  if (isJsonArray(value) || value instanceof Uint8Array) return value.length;
  return isMap(value) ? countedKeys(meter, value).length : 1;
}

/** The cost of a pass over a text, octets or a list: a tenth of its size, rounded up; 1 for any other value. */
export function passCost(value: CelValue): number {
  const sized = typeof value === "string" || value instanceof Uint8Array || isJsonArray(value);
  return sized ? Math.ceil(value.length * 0.1) : 1;
}

/** The cost of a search for a pattern, from the lengths of text and pattern. Source: cel-go common RegexStringLengthCostFactor. */
export function searchCost(textLength: number, patternLength: number): number {
  return Math.ceil((textLength + 1) * 0.1) * Math.ceil(patternLength * 0.25);
}
