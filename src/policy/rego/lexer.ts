import { numberOf } from "./numbers.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import type { RegoNumber } from "./values.ts";

/** A word of a module. */
export interface RegoToken {
  readonly kind: "name" | "number" | "string" | "sign" | "end";
  /** As written; of a string, what it means. */
  readonly text: string;
  readonly number: RegoNumber | undefined;
  readonly at: RegoPlace;
  /** Whether a line ends between the word before and this one. */
  readonly afterNewline: boolean;
  /** Whether nothing at all is between them. */
  readonly isAdjacent: boolean;
}

/** How long one module may be, in UTF-16 units. */
const maximumSourceLength = 1_000_000;

const gap = /(?:[ \t\r\n]+|#[^\n]*)+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const text = /"(?:[^"\\\n]|\\.)*"/y;
const rawText = /`[^`]*`/y;
const sign = /:=|==|!=|<=|>=|[=<>+\-*/%&|.,:;()[\]{}]/y;

/**
 * Splits a module into words; the last is always of kind `end`.
 * @throws RegoError `size` or `rego_parse_error`
 */
export function tokenize(source: string, file: string): readonly RegoToken[] {
  if (source.length > maximumSourceLength) {
    throw new RegoError("size", `longer than ${maximumSourceLength} characters`, { file, line: 1, column: 1 });
  }
  const tokens: RegoToken[] = [];
  let offset = 0;
  let line = 1;
  let lineStart = 0;
  const step = (text: string): void => {
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
      line += 1;
      lineStart = offset + at + 1;
    }
    offset += text.length;
  };
  for (;;) {
    const skipped = match(gap, source, offset);
    const before = line;
    step(skipped);
    const at = { file, line, column: offset - lineStart + 1 };
    const rest = { at, afterNewline: line > before, isAdjacent: skipped === "", number: undefined };
    if (offset >= source.length) return [...tokens, { ...rest, kind: "end", text: "end of file" }];
    const token = tokenAt(source, offset, rest);
    tokens.push(token);
    step(token.length);
  }
}

type Rest = Omit<RegoToken, "kind" | "text">;

function match(pattern: RegExp, source: string, offset: number): string {
  pattern.lastIndex = offset;
  return pattern.exec(source)?.[0] ?? "";
}

function tokenAt(source: string, offset: number, rest: Rest): RegoToken & { readonly length: string } {
  const word = match(name, source, offset);
  if (word !== "") return { ...rest, kind: "name", text: word, length: word };
  const digits = match(number, source, offset);
  if (digits !== "") {
    const value = numberOf(digits);
    const next = source.charAt(offset + digits.length);
    if (value === undefined || /[A-Za-z0-9_]/.test(next)) throw parseError("illegal number format", rest.at);
    return { ...rest, kind: "number", text: digits, number: value, length: digits };
  }
  const written = match(text, source, offset);
  if (written !== "") return { ...rest, kind: "string", text: unquoted(written, rest.at), length: written };
  const raw = match(rawText, source, offset);
  if (raw !== "") return { ...rest, kind: "string", text: raw.slice(1, -1).replaceAll("\r", ""), length: raw };
  const operator = match(sign, source, offset);
  if (operator !== "") return { ...rest, kind: "sign", text: operator, length: operator };
  if (source[offset] === '"' || source[offset] === "`") throw parseError("non-terminated string", rest.at);
  throw parseError(`illegal token ${String.fromCodePoint(source.codePointAt(offset) ?? 0)}`, rest.at);
}

function unquoted(written: string, at: RegoPlace): string {
  try {
    const value: unknown = JSON.parse(written.replaceAll("\t", "\\t"));
    if (typeof value === "string") return value;
  } catch {
    // Told below, in the words of OPA.
  }
  throw parseError("illegal string literal", at);
}

/** What cannot be read. */
export function parseError(message: string, at: RegoPlace): RegoError {
  return new RegoError("rego_parse_error", message, at);
}
