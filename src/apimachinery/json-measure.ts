import { stringEnd } from "./json-duplicates.ts";

/** How much one JSON text may hold. */
export interface JsonLimits {
  /** Levels of objects and arrays. */
  readonly maxDepth: number;
  /** Values of any kind, objects and arrays included, keys not. */
  readonly maxValues: number;
}

/**
 * What a JSON text has too much of; undefined where it is within the limits. One pass that allocates nothing, asked before parsing, which
 * takes a hundred times the memory of the text for brackets alone. Text that is not JSON gives anything, and never throws.
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
    if (code === comma) values += 1;
    else if (code === openBrace || code === openBracket) {
      depth += 1;
      if (depth > maxDepth) return "depth";
      if (isFirst) values += 1;
      isFirst = true;
      continue;
    } else if (code === closeBrace || code === closeBracket) depth -= 1;
    else {
      // The first member of an object or array; those after it follow a comma.
      if (isFirst) values += 1;
      if (code === quote) index = stringEnd(text, index);
    }
    isFirst = false;
    if (values > maxValues) return "values";
  }
  return undefined;
}

const space = 0x20;
const quote = 0x22;
const comma = 0x2c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
