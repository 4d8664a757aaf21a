import type { CelLiteral } from "./ast.ts";
import { celError } from "./cel-error.ts";
import { celDouble, celInt, celUint, maxInt64, minInt64, maxUint64 } from "./values.ts";

/** A token of an expression. `name` is an identifier in backticks, which is valid as a field only. */
export interface CelToken {
  readonly kind: "identifier" | "name" | "int" | "uint" | "double" | "string" | "bytes" | "sign" | "end";
  /** As written; of a string or name, its contents with escapes resolved. */
  readonly text: string;
  readonly bytes?: Uint8Array;
  readonly offset: number;
  /** Where the token ends in the source. */
  readonly end: number;
}

/** Reserved words. Source: CEL language definition, syntax. */
export const reservedWords: ReadonlySet<string> = new Set(
  "as break const continue else false for function if import in let loop package namespace null return true var void while".split(
    " ",
  ),
);

/** Maximum length of an expression, in UTF-16 units. */
const maxSourceLength = 100_000;

const space = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const word = /[_a-zA-Z][_a-zA-Z0-9]*/y;
/** Tokens that do not begin with a letter or a quote, in the order in which they are tried; the text of some is only a part. */
const forms: readonly (readonly [CelToken["kind"], RegExp])[] = [
  ["sign", /==|!=|<=|>=|&&|\|\||[<>!+\-*/%?:,()[\]{}]|\.(?![0-9])/y],
  ["double", /[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?/y],
  ["uint", /(0x[0-9a-fA-F]+|[0-9]+)[uU]/y],
  ["int", /0x[0-9a-fA-F]+|[0-9]+/y],
  ["name", /`([a-zA-Z0-9_.\-/ ]+)`/y],
];
const stringStart = /([rR]?[bB]?|[bB][rR])("""|'''|"|')/y;

/**
 * Splits an expression into tokens; the last is always of kind `end`.
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
  for (const [kind, form] of forms) {
    const found = match(form, source, offset);
    if (found !== null) return { kind, text: found[1] ?? found[0], offset, end: offset + found[0].length };
  }
  return unknown(source, offset);
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

/** ANTLR's message for an unknown token. */
function unrecognized(source: string, offset: number, text: string): Error {
  return celError("syntax", source, [{ offset, message: `Syntax error: token recognition error at: '${text}'` }]);
}

const simple: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["b", 8],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
  ["\\", 92],
  ["?", 63],
  ['"', 34],
  ["'", 39],
  ["`", 96],
]);

const escapePattern =
  /\\(?:([abfnrtv\\?"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y;

/** One escape: its number, whether it is a code point or an octet, and where it ends. */
interface Escape {
  readonly code: number;
  readonly unicode: boolean;
  readonly end: number;
}

function escapeAt(written: string, offset: number): Escape | undefined {
  escapePattern.lastIndex = offset;
  const found = escapePattern.exec(written);
  if (found === null) return undefined;
  const end = offset + found[0].length;
  const [, letter, hexadecimal, short, long, octal] = found;
  if (letter !== undefined) return { code: simple.get(letter) ?? 0, unicode: false, end };
  if (octal !== undefined) return { code: Number.parseInt(octal, 8), unicode: false, end };
  if (hexadecimal !== undefined) return { code: Number.parseInt(hexadecimal, 16), unicode: false, end };
  const code = Number.parseInt(short ?? long ?? "", 16);
  return isCharacter(code) ? { code, unicode: true, end } : undefined;
}

/** Whether a code point exists and is no surrogate. */
function isCharacter(code: number): boolean {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

/** The position of an invalid escape in a literal. */
interface BadEscape {
  readonly problemAt: number;
}

/** The texts and escapes of a literal without its quotes, in order; in octets, code points beyond one octet are no escapes. */
function piecesOf(written: string, inOctets: boolean): readonly (string | Escape)[] | BadEscape {
  const pieces: (string | Escape)[] = [];
  let offset = 0;
  for (;;) {
    const next = written.indexOf("\\", offset);
    if (next === -1) return [...pieces, written.slice(offset)];
    const escape = escapeAt(written, next);
    if (escape === undefined || (inOctets && escape.unicode)) return { problemAt: next };
    pieces.push(written.slice(offset, next), escape);
    offset = escape.end;
  }
}

/** The text of a string literal. */
function unescapeText(written: string): string | BadEscape {
  if (!written.includes("\\")) return written;
  const pieces = piecesOf(written, false);
  if ("problemAt" in pieces) return pieces;
  return pieces.map((piece) => (typeof piece === "string" ? piece : String.fromCodePoint(piece.code))).join("");
}

/** The octets of a bytes literal. */
function unescapeBytes(written: string): Uint8Array | BadEscape {
  const pieces = piecesOf(written, true);
  if ("problemAt" in pieces) return pieces;
  const encoder = new TextEncoder();
  return Uint8Array.from(
    pieces.flatMap((piece) => (typeof piece === "string" ? Array.from(encoder.encode(piece)) : [piece.code])),
  );
}

/** A literal and its number of tokens, or why it is invalid. */
type LiteralResult = { readonly value: CelLiteral; readonly length: number } | { readonly problem: string };

const constants: ReadonlyMap<string, CelLiteral> = new Map<string, CelLiteral>([
  ["true", true],
  ["false", false],
  ["null", null],
]);

/** The literal that starts at a token, its sign included; undefined when none does. */
export function literalOf(tokens: readonly CelToken[], at: number): LiteralResult | undefined {
  const first = tokens[at];
  const second = tokens[at + 1];
  if (first?.kind === "sign" && first.text === "-" && second !== undefined) return numberOf(second, { negative: true });
  return first === undefined ? undefined : (numberOf(first, { negative: false }) ?? wordOf(first));
}

function numberOf(token: CelToken, { negative }: { readonly negative: boolean }): LiteralResult | undefined {
  const length = negative ? 2 : 1;
  if (token.kind === "int") {
    const value = BigInt(token.text) * (negative ? -1n : 1n);
    if (value < minInt64 || value > maxInt64) return { problem: "invalid int literal" };
    return { value: celInt(value), length };
  }
  if (token.kind !== "double") return undefined;
  const value = Number(token.text);
  return Number.isFinite(value)
    ? { value: celDouble(negative ? -value : value), length }
    : { problem: "invalid double literal" };
}

function wordOf(token: CelToken): LiteralResult | undefined {
  switch (token.kind) {
    case "uint": {
      const value = BigInt(token.text);
      return value > maxUint64 ? { problem: "invalid uint literal" } : { value: celUint(value), length: 1 };
    }
    case "string":
      return { value: token.text, length: 1 };
    case "bytes":
      return { value: token.bytes ?? new Uint8Array(), length: 1 };
    case "identifier": {
      const value = constants.get(token.text);
      return value === undefined ? undefined : { value, length: 1 };
    }
    default:
      return undefined;
  }
}
