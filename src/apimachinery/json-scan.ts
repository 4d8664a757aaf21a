import { truncate } from "./truncate.ts";

/** How many duplicates are reported. Source: sigs.k8s.io/json. */
const maxReported = 100;
/** Objects with fewer keys than this are searched key by key, which is faster than a set. */
const smallObject = 8;

/**
 * The paths of keys that occur twice in one object of the JSON text, such as `spec.replicas` or `items[1].a`, each once and at
 * most 100 of them. One pass; for text that is not JSON the result is unspecified, but it never throws.
 */
export function findDuplicateFields(text: string): readonly string[] {
  const found = new Set<string>();
  eachKey(text, (stack, isNew) => {
    if (!isNew) found.add(pathOf(stack));
    return found.size < maxReported;
  });
  return [...found];
}

/** A field that strict decoding reports. */
interface StrictField {
  readonly fault: "duplicate" | "unknown";
  readonly path: string;
}

/**
 * The fields of `findDuplicateFields` and those at the `unknown` paths, in the order of the text, each once and at most 100; the value
 * of an unknown field is not searched for duplicates. Source: sigs.k8s.io/json UnmarshalStrict.
 */
export function strictFields(text: string, unknown: readonly string[]): readonly StrictField[] {
  const left = new Set(unknown);
  const all = new Set(unknown);
  const found = new Map<string, StrictField>();
  eachKey(text, (stack, isNew) => {
    const path = pathOf(stack);
    const frame = stack.at(-1);
    const isUnknown = all.has(path);
    if (frame !== undefined) frame.isUnknown = isUnknown;
    if (isUnknown && left.delete(path)) found.set(`unknown ${path}`, { fault: "unknown", path });
    if (!isNew && !isUnknown && !stack.some((one) => one.isUnknown)) {
      found.set(`duplicate ${path}`, { fault: "duplicate", path });
    }
    return found.size < maxReported;
  });
  // A path that is too long to compare.
  const rest = Array.from(left, (path): StrictField => ({ fault: "unknown", path }));
  return [...found.values(), ...rest].slice(0, maxReported);
}

/** Calls `visit` at each key with its position, and whether it is the first of its name in its object, until that returns false. */
function eachKey(text: string, visit: (stack: readonly Frame[], isNew: boolean) => boolean): void {
  const stack: Frame[] = [];
  let frame: Frame | undefined;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    index += 1;
    if (code === quote) {
      const start = index;
      index = stringEnd(text, start);
      // A string right after { or a comma in an object is a key.
      if (frame?.expectsKey === true && !visit(stack, addKey(frame, keyText(text, start, index - 1)))) return;
    } else if (isOpening(code)) {
      const expectsKey = code === openBrace;
      frame = { step: expectsKey ? "" : 0, expectsKey, keys: [], set: undefined, isUnknown: false };
      stack.push(frame);
    } else if (isClosing(code)) {
      stack.pop();
      frame = stack.at(-1);
    } else if (code === comma) expectNext(frame);
  }
}

function expectNext(frame: Frame | undefined): void {
  if (typeof frame?.step === "number") frame.step += 1;
  else if (frame !== undefined) frame.expectsKey = true;
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const backslash = 0x5c;

function isOpening(code: number): boolean {
  return code === openBrace || code === openBracket;
}

function isClosing(code: number): boolean {
  return code === closeBrace || code === closeBracket;
}

interface Frame {
  /** The current key or index. */
  step: string | number;
  expectsKey: boolean;
  readonly keys: string[];
  set: Set<string> | undefined;
  /** Whether the current key is of a field that the kind does not have. */
  isUnknown: boolean;
}

/** The index after the closing quote of the JSON string whose characters begin at `start`; past the end of the text if there is none. */
export function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end >= 0) {
    let slashes = 0;
    while (end - slashes > start && text.charCodeAt(end - 1 - slashes) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  return text.length + 1;
}

function keyText(text: string, start: number, end: number): string {
  const raw = text.slice(start, end);
  if (!raw.includes("\\")) return raw;
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw;
  }
}

/** Sets the current key; false when the object has it already. */
function addKey(frame: Frame, key: string): boolean {
  frame.expectsKey = false;
  frame.step = key;
  if (frame.set !== undefined) {
    const before = frame.set.size;
    return frame.set.add(key).size > before;
  }
  if (frame.keys.includes(key)) return false;
  frame.keys.push(key);
  if (frame.keys.length > smallObject) frame.set = new Set(frame.keys);
  return true;
}

function pathOf(stack: readonly Frame[]): string {
  let path = "";
  for (const { step } of stack) {
    if (path.length > 1024) break;
    if (typeof step === "number") path += `[${step}]`;
    else path += path === "" ? step : `.${step}`;
  }
  return truncate(path, 1024);
}

/** The limits of one JSON text. */
interface JsonLimits {
  /** Levels of objects and arrays. */
  readonly maxDepth: number;
  /** Values of any kind, objects and arrays included, keys not. */
  readonly maxValues: number;
}

/**
 * Which limit a JSON text exceeds; undefined where it is within the limits. One pass that allocates nothing, before parsing, which
 * takes a hundred times the memory of the text for brackets alone. For text that is not JSON the result is unspecified, but it never throws.
 */
export function jsonExcess(text: string, { maxDepth, maxValues }: JsonLimits): "depth" | "values" | undefined {
  let depth = 0;
  let values = 1;
  let isFirst = false;
  let index = 0;
  while (index < text.length) {
    const code = text.charCodeAt(index);
    index += 1;
    if (code <= space) continue;
    if (beginsValue(code, isFirst)) values += 1;
    isFirst = isOpening(code);
    if (isFirst) {
      depth += 1;
      if (depth > maxDepth) return "depth";
      continue;
    }
    if (isClosing(code)) depth -= 1;
    else if (code === quote) index = stringEnd(text, index);
    if (values > maxValues) return "values";
  }
  return undefined;
}

/** The first member of an object or array begins with its first character, those after it with a comma. */
function beginsValue(code: number, isFirst: boolean): boolean {
  return code === comma || (isFirst && !isClosing(code));
}
