import { isJsonArray, isJsonObject } from "../json-value.ts";
import { endsStep, type Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";

/**
 * One step of a path as FieldsV1 writes it: `f:<field>`, `k:<key fields of a list element as JSON>`, `v:<element of a set as JSON>`
 * or `i:<index>`. Written canonically, so that equal steps are equal texts. Source: structured-merge-diff fieldpath.
 */
export type PathElement = string;

/** The step to a field of an object or an entry of a map. */
export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

/** The step to the list element with these key fields. */
export function keyElement(fields: Readonly<Record<string, unknown>>): PathElement {
  const names = Object.keys(fields).sort();
  return `k:{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(fields[name])}`).join(",")}}`;
}

/** The step to this element of a set. */
export function valueElement(value: unknown): PathElement {
  return `v:${JSON.stringify(value)}`;
}

/** The canonical form of a step that a client wrote; undefined for a malformed one, empty for one of an unknown kind. */
export function readElement(text: string): PathElement | undefined {
  const content = text.slice(2);
  switch (text.slice(0, 2)) {
    case "f:":
      return text;
    case "i:":
      return /^[+-]?\d{1,9}$/.test(content) ? `i:${Number(content)}` : undefined;
    case "k:": {
      const fields = parsed(content);
      return isJsonObject(fields) && !Object.hasOwn(fields, "__proto__") ? keyElement(fields) : undefined;
    }
    case "v:": {
      const value = parsed(content);
      return value === undefined ? undefined : valueElement(value);
    }
    default:
      return text[1] === ":" ? "" : undefined;
  }
}

/** The fields that a `k:` step names. */
export function keyFields(element: PathElement): Readonly<Record<string, unknown>> {
  const fields = parsed(element.slice(2));
  return isJsonObject(fields) ? fields : {};
}

/** Whether the steps are sorted without duplicates. Parses each step once. */
export function* inElementOrder(elements: readonly PathElement[], pace: Pace): Steps<boolean> {
  let before: PathElement | undefined;
  let contentBefore: unknown;
  for (const element of elements) {
    if (endsStep(pace)) yield;
    const code = element.charCodeAt(0);
    const codeBefore = before?.charCodeAt(0);
    const content = contentOf(element);
    if (code === codeBefore) {
      if (before === element || compareContents(code, contentBefore, content) >= 0) return false;
    } else if (codeBefore !== undefined && kindRank(codeBefore) >= kindRank(code)) return false;
    before = element;
    contentBefore = content;
  }
  return true;
}

/** The steps in the order of FieldsV1: fields, then keys, then values, then indices, each by its content. Parses each step once. */
export function* sortElements(elements: readonly PathElement[], pace: Pace): Steps<readonly PathElement[]> {
  // Field steps alone, the usual case, sort like their texts.
  if (elements.every((element) => element.charCodeAt(0) === kindCodes.field)) {
    return yield* sortedInSteps(elements, compareTexts, pace);
  }
  const read: ReadElement[] = [];
  for (const element of elements) {
    if (endsStep(pace)) yield;
    read.push({ element, code: element.charCodeAt(0), content: contentOf(element) });
  }
  const sorted = yield* sortedInSteps(read, compareRead, pace);
  return sorted.map(({ element }) => element);
}

/** A step and its sort key. */
interface ReadElement {
  readonly element: PathElement;
  readonly code: number;
  readonly content: unknown;
}

function compareRead(one: ReadElement, other: ReadElement): number {
  if (one.code !== other.code) return kindRank(one.code) - kindRank(other.code);
  return compareContents(one.code, one.content, other.content);
}

/** The sort key of a step that is not a field. */
function contentOf(element: PathElement): unknown {
  switch (element.charCodeAt(0)) {
    case kindCodes.key:
      return Object.entries(keyFields(element));
    case kindCodes.value:
      return parsed(element.slice(2));
    case kindCodes.index:
      return Number(element.slice(2));
    default:
      return element;
  }
}

function compareContents(code: number, one: unknown, other: unknown): number {
  if (code === kindCodes.field) return compareTexts(String(one), String(other));
  if (code === kindCodes.key) return compareKeys(one as KeyFields, other as KeyFields);
  return code === kindCodes.index ? Number(one) - Number(other) : compareValues(one, other);
}

type KeyFields = readonly (readonly [string, unknown])[];

/** A path as conflicts and errors show it: `.spec.containers[name="a"].image`. */
export function pathText(path: readonly PathElement[]): string {
  return path.map(elementText).join("");
}

/** One step as conflicts and errors show it. */
export function elementText(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${content}`;
    case "k": {
      const fields = Object.entries(keyFields(element)).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
      return `[${fields.join(",")}]`;
    }
    case "v":
      return `[=${content}]`;
    default:
      return `[${content}]`;
  }
}

const kindCodes = { field: 0x66, key: 0x6b, value: 0x76, index: 0x69 } as const;
const kindOrder: readonly number[] = [kindCodes.field, kindCodes.key, kindCodes.value, kindCodes.index];

function kindRank(code: number): number {
  return kindOrder.indexOf(code);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareKeys(mine: KeyFields, theirs: KeyFields): number {
  for (const [index, [name, value]] of mine.entries()) {
    const their = theirs[index];
    if (their === undefined) return 1;
    const order = compareTexts(name, their[0]) || compareValues(value, their[1]);
    if (order !== 0) return order;
  }
  return mine.length - theirs.length;
}

function compareValues(one: unknown, other: unknown): number {
  const rank = valueRank(one);
  if (rank !== valueRank(other)) return rank - valueRank(other);
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === "boolean") return Number(one) - Number(other);
  if (typeof one === "string" && typeof other === "string") return compareTexts(one, other);
  return compareTexts(JSON.stringify(one) ?? "", JSON.stringify(other) ?? "");
}

function valueRank(value: unknown): number {
  if (typeof value === "number") return 0;
  if (typeof value === "string") return 1;
  if (typeof value === "boolean") return 2;
  if (isJsonArray(value)) return 3;
  return value === null ? 5 : 4;
}

/** How many elements are sorted at once. */
const runLength = 512;

/** The elements in the order of `compare`; equal elements keep their order. */
function* sortedInSteps<Element>(
  elements: readonly Element[],
  compare: (one: Element, other: Element) => number,
  pace: Pace,
): Steps<readonly Element[]> {
  let runs: (readonly Element[])[] = [];
  for (let start = 0; start < elements.length; start += runLength) {
    const run = elements.slice(start, start + runLength);
    if (endsStep(pace, run.length)) yield;
    runs.push(run.sort(compare));
  }
  while (runs.length > 1) {
    const merged: (readonly Element[])[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergedRuns(runs[at] ?? [], runs[at + 1] ?? [], { compare, pace }));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergedRuns<Element>(
  one: readonly Element[],
  other: readonly Element[],
  { compare, pace }: { readonly compare: (one: Element, other: Element) => number; readonly pace: Pace },
): Steps<readonly Element[]> {
  if (other.length === 0) return one;
  const merged: Element[] = [];
  let [mine, theirs] = [0, 0];
  while (mine < one.length && theirs < other.length) {
    if (endsStep(pace)) yield;
    const [left, right] = [one[mine] as Element, other[theirs] as Element];
    if (compare(left, right) <= 0) {
      merged.push(left);
      mine += 1;
    } else {
      merged.push(right);
      theirs += 1;
    }
  }
  return [...merged, ...one.slice(mine), ...other.slice(theirs)];
}
