/** How many duplicates are reported. Source: sigs.k8s.io/json. */
const maxReported = 100;
/** Objects with fewer keys than this are searched key by key, which is faster than a set. */
const smallObject = 8;

/**
 * The paths of keys that stand twice in one object of the JSON text, such as `spec.replicas` or `items[1].a`, each once and at
 * most 100 of them. One pass; text that is not JSON gives something or nothing, and never throws.
 */
export function findDuplicateFields(text: string): readonly string[] {
  const found = new Set<string>();
  const stack: Frame[] = [];
  let frame: Frame | undefined;
  let index = 0;
  while (index < text.length && found.size < maxReported) {
    const code = text.charCodeAt(index);
    index += 1;
    if (code === quote) {
      const start = index;
      index = stringEnd(text, start);
      // A string right after { or a comma in an object is a key.
      if (frame?.expectsKey === true) {
        frame.expectsKey = false;
        frame.step = keyText(text, start, index - 1);
        if (!addKey(frame, frame.step)) found.add(pathOf(stack));
      }
    } else if (code === openBrace || code === openBracket) {
      frame = { step: code === openBrace ? "" : 0, expectsKey: code === openBrace, keys: [], set: undefined };
      stack.push(frame);
    } else if (code === closeBrace || code === closeBracket) {
      stack.pop();
      frame = stack.at(-1);
    } else if (code === comma && frame !== undefined) {
      if (typeof frame.step === "number") frame.step += 1;
      else frame.expectsKey = true;
    }
  }
  return [...found];
}

const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const backslash = 0x5c;

interface Frame {
  /** The key or index at hand. */
  step: string | number;
  expectsKey: boolean;
  readonly keys: string[];
  set: Set<string> | undefined;
}

/** The index after the closing quote of the JSON string whose characters begin at `start`; past the end of a text that ends before. */
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

/** False when the object has the key already. */
function addKey(frame: Frame, key: string): boolean {
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
  return path.length > 1024 ? `${path.slice(0, 1024)}…` : path;
}
