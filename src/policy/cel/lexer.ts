import { celError } from "./cel-error.ts";
import { unescapeBytes, unescapeText } from "./unescape.ts";

/** A word of an expression. `name` is an identifier in backticks, which may only name a field. */
export interface CelToken {
  readonly kind: "identifier" | "name" | "int" | "uint" | "double" | "string" | "bytes" | "sign" | "end";
  /** As written; of a string or name, its contents with escapes resolved. */
  readonly text: string;
  readonly bytes?: Uint8Array;
  readonly offset: number;
  /** Where the word ends in the source. */
  readonly end: number;
}

/** How long an expression may be, in UTF-16 units. */
export const maxSourceLength = 100_000;

const space = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const word = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const quotedName = /`([a-zA-Z0-9_.\-/ ]+)`/y;
const float = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|[0-9]+)([uU]?)/y;
const sign = /==|!=|<=|>=|&&|\|\||[<>!+\-*/%?:.,()[\]{}]/y;
const stringStart = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y;

/**
 * Splits an expression into words; the last is always of kind `end`.
 * @throws CelError `size` or `syntax`
 */
export function tokenize(source: string): readonly CelToken[] {
  if (source.length > maxSourceLength) {
    const message = `expression code point size exceeds limit: size: ${source.length}, limit ${maxSourceLength}`;
    throw celError("size", "", [{ offset: 0, message }]);
  }
  const tokens: CelToken[] = [];
  let offset = skipSpace(source, 0);
  while (offset < source.length) {
    const token = nextToken(source, offset);
    tokens.push(token);
    offset = skipSpace(source, token.end);
  }
  tokens.push({ kind: "end", text: "<EOF>", offset, end: offset });
  return tokens;
}

function match(pattern: RegExp, source: string, offset: number): RegExpExecArray | null {
  pattern.lastIndex = offset;
  return pattern.exec(source);
}

function skipSpace(source: string, offset: number): number {
  const found = match(space, source, offset);
  return found === null ? offset : offset + found[0].length;
}

function nextToken(source: string, offset: number): CelToken {
  const unit = source.charCodeAt(offset);
  if (isWordStart(unit)) return stringToken(source, offset) ?? wordToken(source, offset);
  if (unit === doubleQuote || unit === singleQuote) return stringToken(source, offset) ?? unknown(source, offset);
  return (
    numberToken(source, offset) ?? nameToken(source, offset) ?? signToken(source, offset) ?? unknown(source, offset)
  );
}

const doubleQuote = 34;
const singleQuote = 39;

function isWordStart(unit: number): boolean {
  return (unit >= 97 && unit <= 122) || (unit >= 65 && unit <= 90) || unit === 95;
}

function unknown(source: string, offset: number): never {
  throw unrecognized(source, offset, String.fromCodePoint(source.codePointAt(offset) ?? 0));
}

function wordToken(source: string, offset: number): CelToken {
  const text = match(word, source, offset)?.[0] ?? "";
  return { kind: "identifier", text, offset, end: offset + text.length };
}

function numberToken(source: string, offset: number): CelToken | undefined {
  const text = match(float, source, offset)?.[0];
  if (text !== undefined) return { kind: "double", text, offset, end: offset + text.length };
  const whole = match(integer, source, offset);
  if (whole === null) return undefined;
  const end = offset + whole[0].length;
  if (whole[1] === "") return { kind: "int", text: whole[0], offset, end };
  return { kind: "uint", text: whole[0].slice(0, -1), offset, end };
}

function nameToken(source: string, offset: number): CelToken | undefined {
  const found = match(quotedName, source, offset);
  return found === null ? undefined : { kind: "name", text: found[1] ?? "", offset, end: offset + found[0].length };
}

function signToken(source: string, offset: number): CelToken | undefined {
  const text = match(sign, source, offset)?.[0];
  return text === undefined ? undefined : { kind: "sign", text, offset, end: offset + text.length };
}

function stringToken(source: string, offset: number): CelToken | undefined {
  const opening = match(stringStart, source, offset);
  if (opening === null) return undefined;
  const prefix = (opening[1] ?? "").toLowerCase();
  const quote = opening[2] ?? "";
  const raw = prefix.includes("r");
  const start = offset + opening[0].length;
  const close = closingQuote(source, start, { quote, raw });
  if (close === -1) throw unrecognized(source, offset, source.slice(offset, offset + 40));
  const written = source.slice(start, close);
  const end = close + quote.length;
  if (prefix.includes("b")) {
    const bytes = raw ? new TextEncoder().encode(written) : unescapeBytes(written);
    if (!(bytes instanceof Uint8Array)) throw badEscape(source, offset, start + bytes.problemAt);
    return { kind: "bytes", text: written, bytes, offset, end };
  }
  const text = raw ? written : unescapeText(written);
  if (typeof text !== "string") throw badEscape(source, offset, start + text.problemAt);
  return { kind: "string", text, offset, end };
}

function badEscape(source: string, offset: number, at: number): Error {
  if (/[uU]/.test(source.charAt(at + 1)))
    return celError("syntax", source, [{ offset, message: "invalid unicode code point" }]);
  return unrecognized(source, offset, source.slice(offset, Math.min(at + 2, offset + 80)));
}

function closingQuote(source: string, start: number, form: { readonly quote: string; readonly raw: boolean }): number {
  const single = form.quote.length === 1;
  for (let at = start; at < source.length; at++) {
    const unit = source[at];
    if (unit === "\\" && !form.raw) at++;
    else if (single && (unit === "\n" || unit === "\r")) return -1;
    else if (source.startsWith(form.quote, at)) return at;
  }
  return -1;
}

/** What ANTLR says of what is no word. */
function unrecognized(source: string, offset: number, text: string): Error {
  return celError("syntax", source, [{ offset, message: `Syntax error: token recognition error at: '${text}'` }]);
}
