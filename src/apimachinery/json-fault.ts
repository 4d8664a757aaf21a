import { quoted } from "./quoted.ts";

/**
 * Why text is not JSON, in the wording of Go's encoding/json, which clients of Kubernetes expect; undefined where it is JSON. Nesting is
 * not limited here. Never throws.
 */
export function jsonFault(text: string): string | undefined {
  const scan: Scan = { text, at: 0, open: [], expects: "value" };
  for (;;) {
    skipSpace(scan);
    const character = text[scan.at];
    if (character === undefined) return scan.expects === "nothing" ? undefined : ended;
    const fault = step(scan, character);
    if (fault !== undefined) return fault;
  }
}

type Expected = "value" | "value or end" | "key" | "key or end" | "colon" | "comma" | "nothing";

interface Scan {
  readonly text: string;
  at: number;
  readonly open: ("{" | "[")[];
  expects: Expected;
}

const ended = "unexpected end of JSON input";

/** One token. */
function step(scan: Scan, character: string): string | undefined {
  const { expects } = scan;
  switch (expects) {
    case "value or end":
      return character === "]" ? close(scan) : value(scan, character);
    case "value":
      return value(scan, character);
    case "key or end":
      return character === "}" ? close(scan) : key(scan, character);
    case "key":
      return key(scan, character);
    case "colon":
      return separator(scan, character === ":", { next: "value", context: "after object key" });
    case "comma":
      return afterValue(scan, character);
    case "nothing":
      return unexpected(scan, "after top-level value");
  }
}

function separator(
  scan: Scan,
  isThere: boolean,
  { next, context }: { readonly next: Expected; readonly context: string },
): string | undefined {
  if (!isThere) return unexpected(scan, context);
  scan.at += 1;
  scan.expects = next;
  return undefined;
}

function afterValue(scan: Scan, character: string): string | undefined {
  const inObject = scan.open.at(-1) === "{";
  if (character === (inObject ? "}" : "]")) return close(scan);
  const next = inObject ? "key" : "value";
  const context = inObject ? "after object key:value pair" : "after array element";
  return separator(scan, character === ",", { next, context });
}

function close(scan: Scan): undefined {
  scan.open.pop();
  scan.at += 1;
  scan.expects = scan.open.length === 0 ? "nothing" : "comma";
}

function key(scan: Scan, character: string): string | undefined {
  if (character !== '"') return unexpected(scan, "looking for beginning of object key string");
  scan.at += 1;
  const fault = stringFault(scan);
  scan.expects = "colon";
  return fault;
}

function value(scan: Scan, character: string): string | undefined {
  if (character === "{" || character === "[") {
    scan.open.push(character);
    scan.at += 1;
    scan.expects = character === "{" ? "key or end" : "value or end";
    return undefined;
  }
  const fault = scalarFault(scan, character);
  scan.expects = scan.open.length === 0 ? "nothing" : "comma";
  return fault;
}

const literals: Readonly<Record<string, string>> = { t: "true", f: "false", n: "null" };

function scalarFault(scan: Scan, character: string): string | undefined {
  if (character === '"') {
    scan.at += 1;
    return stringFault(scan);
  }
  if (character === "-" || isDigit(character)) return numberFault(scan);
  const literal = Object.hasOwn(literals, character) ? literals[character] : undefined;
  if (literal === undefined) return unexpected(scan, "looking for beginning of value");
  for (const letter of literal) {
    if (scan.text[scan.at] !== letter) return unexpected(scan, `in literal ${literal} (expecting '${letter}')`);
    scan.at += 1;
  }
  return undefined;
}

/** From after the opening quote to after the closing one. */
function stringFault(scan: Scan): string | undefined {
  for (;;) {
    const character = scan.text[scan.at];
    if (character === undefined) return ended;
    if (character < " ") return unexpected(scan, "in string literal");
    scan.at += 1;
    if (character === '"') return undefined;
    const fault = character === "\\" ? escapeFault(scan) : undefined;
    if (fault !== undefined) return fault;
  }
}

function escapeFault(scan: Scan): string | undefined {
  const escaped = scan.text[scan.at];
  if (escaped === undefined || !'bfnrt\\/"u'.includes(escaped)) return unexpected(scan, "in string escape code");
  scan.at += 1;
  for (let digit = 0; escaped === "u" && digit < 4; digit += 1) {
    if (!/^[0-9a-fA-F]$/.test(scan.text[scan.at] ?? "")) return unexpected(scan, "in \\u hexadecimal character escape");
    scan.at += 1;
  }
  return undefined;
}

function numberFault(scan: Scan): string | undefined {
  skipOne(scan, "-");
  if (!skipOne(scan, "0") && !digits(scan)) return unexpected(scan, "in numeric literal");
  if (skipOne(scan, ".") && !digits(scan)) return unexpected(scan, "after decimal point in numeric literal");
  if (!skipOne(scan, "eE")) return undefined;
  skipOne(scan, "+-");
  return digits(scan) ? undefined : unexpected(scan, "in exponent of numeric literal");
}

/** Skips one of these characters; false where there is none. */
function skipOne(scan: Scan, characters: string): boolean {
  const character = scan.text[scan.at];
  if (character === undefined || !characters.includes(character)) return false;
  scan.at += 1;
  return true;
}

function digits(scan: Scan): boolean {
  const start = scan.at;
  while (isDigit(scan.text[scan.at])) scan.at += 1;
  return scan.at > start;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}

function skipSpace(scan: Scan): void {
  while (" \t\r\n".includes(scan.text[scan.at] ?? "x")) scan.at += 1;
}

function unexpected({ text, at }: Scan, context: string): string {
  const code = text.codePointAt(at);
  return code === undefined ? ended : `invalid character ${quotedByte(String.fromCodePoint(code))} ${context}`;
}

/** Go reads bytes, and prints one as the character with that code. */
function quotedByte(character: string): string {
  if (character === "'") return String.raw`'\''`;
  if (character === '"') return `'"'`;
  const [byte = 0] = new TextEncoder().encode(character);
  return `'${quoted(String.fromCharCode(byte)).slice(1, -1)}'`;
}
