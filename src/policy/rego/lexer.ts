import { RegoError, type RegoPlace } from "./rego-error.ts";
import { numberOf, type RegoNumber } from "./values.ts";

/** A token of a module. */
export interface RegoToken {
  readonly kind: "name" | "number" | "string" | "template" | "templateRest" | "sign" | "end";
  /** As written; of a string or a part of a template, the unescaped text. */
  readonly text: string;
  readonly number: RegoNumber | undefined;
  readonly at: RegoPlace;
  /** Whether a line break precedes it. */
  readonly afterNewline: boolean;
  /** Whether it follows the previous token without a gap. */
  readonly isAdjacent: boolean;
  /** Whether an expression follows a part of a template. */
  readonly isOpen: boolean;
}

/** Maximum length of one module, in UTF-16 units. */
const maxSourceLength = 1_000_000;

const gap = /(?:[ \t\r\n]+|#[^\n]*)+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const text = /"(?:[^"\\\n]|\\.)*"/y;
const rawText = /`[^`]*`/y;
const templatePart = /(?:\\.|[^"\\\n{])*/y;
const rawTemplatePart = /(?:\\\{|[^`{])*/y;
const sign = /:=|==|!=|<=|>=|[=<>+\-*/%&|.,:;()[\]{}]/y;

/**
 * Splits a module into tokens; the last is always of kind `end`.
 * @throws RegoError `size` or `rego_parse_error`
 */
export function tokenize(source: string, file: string): readonly RegoToken[] {
  if (source.length > maxSourceLength) {
    throw new RegoError("size", `longer than ${maxSourceLength} characters`, { file, line: 1, column: 1 });
  }
  const tokens: RegoToken[] = [];
  const templates: Template[] = [];
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
    const place: Place = { at, afterNewline: line > before, isAdjacent: skipped === "" };
    if (offset >= source.length) {
      if (templates.length > 0) throw parseError("non-terminated string", at);
      tokens.push(token(place, { kind: "end", text: "end of file" }));
      return tokens;
    }
    const word = inTemplates({ source, offset, place }, templates) ?? wordAt({ source, offset, place });
    tokens.push(word.token);
    step(word.written);
  }
}

type Place = Pick<RegoToken, "at" | "afterNewline" | "isAdjacent">;

/** A token and its source text. */
interface Word {
  readonly token: RegoToken;
  readonly written: string;
}

/** Where a token begins. */
interface Start {
  readonly source: string;
  readonly offset: number;
  readonly place: Place;
}

type Meaning = Pick<RegoToken, "kind" | "text"> & Partial<Pick<RegoToken, "number" | "isOpen">>;

function token(place: Place, meaning: Meaning): RegoToken {
  return { number: undefined, isOpen: false, ...meaning, ...place };
}

/** A template whose expression is being read, and the number of open braces in that. */
interface Template {
  readonly isRaw: boolean;
  braces: number;
}

/** The token where a template begins, or an expression in one ends; counts braces inside. */
function inTemplates(start: Start, templates: Template[]): Word | undefined {
  const { source, offset } = start;
  const [first, second] = [source[offset], source[offset + 1]];
  if (first === "$" && (second === '"' || second === "`")) {
    templates.push({ isRaw: second === "`", braces: 0 });
    return partOfTemplate(start, "template", templates);
  }
  const inner = templates.at(-1);
  if (inner === undefined) return undefined;
  if (first === "}" && inner.braces === 0) return partOfTemplate(start, "templateRest", templates);
  if (first === "{") inner.braces += 1;
  if (first === "}") inner.braces -= 1;
  return undefined;
}

function partOfTemplate(
  { source, offset, place }: Start,
  kind: "template" | "templateRest",
  templates: Template[],
): Word {
  const isRaw = templates.at(-1)?.isRaw === true;
  const from = offset + (kind === "template" ? 2 : 1);
  const part = match(isRaw ? rawTemplatePart : templatePart, source, from);
  const end = source[from + part.length];
  if (end !== "{" && end !== (isRaw ? "`" : '"')) throw parseError("non-terminated string", place.at);
  if (end !== "{") templates.pop();
  const plain = part.replaceAll(/\\([^])/g, (escape, letter: string) => (letter === "{" ? "{" : escape));
  const text = isRaw ? part.replaceAll("\\{", "{") : unquoted(`"${plain}"`, place.at);
  const written = source.slice(offset, from + part.length + 1);
  return { token: token(place, { kind, text, isOpen: end === "{" }), written };
}

function match(pattern: RegExp, source: string, offset: number): string {
  pattern.lastIndex = offset;
  return pattern.test(source) ? source.slice(offset, pattern.lastIndex) : "";
}

const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95;
const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function wordAt(start: Start): Word {
  const { source, offset, place } = start;
  const code = source.charCodeAt(offset);
  const first = source[offset];
  if (isLetter(code)) {
    const written = match(name, source, offset);
    return { token: token(place, { kind: "name", text: written }), written };
  }
  const numeral = isDigit(code) || first === "." ? match(number, source, offset) : "";
  if (numeral !== "") return { token: numberToken(start, numeral), written: numeral };
  if (first === '"' || first === "`") return stringAt(start, first === '"' ? text : rawText);
  const written = match(sign, source, offset);
  if (written !== "") return { token: token(place, { kind: "sign", text: written }), written };
  throw parseError(`illegal token ${String.fromCodePoint(source.codePointAt(offset) ?? 0)}`, place.at);
}

function stringAt({ source, offset, place }: Start, form: RegExp): Word {
  const written = match(form, source, offset);
  if (written === "") throw parseError("non-terminated string", place.at);
  const meaning = form === rawText ? written.slice(1, -1).replaceAll("\r", "") : unquoted(written, place.at);
  return { token: token(place, { kind: "string", text: meaning }), written };
}

function numberToken({ source, offset, place }: Start, written: string): RegoToken {
  const value = numberOf(written);
  const next = source.charCodeAt(offset + written.length);
  if (value === undefined || isLetter(next) || isDigit(next)) throw parseError("illegal number format", place.at);
  return token(place, { kind: "number", text: written, number: value });
}

function unquoted(written: string, at: RegoPlace): string {
  try {
    const value: unknown = JSON.parse(written.replaceAll("\t", "\\t"));
    if (typeof value === "string") return value;
  } catch {
    // Reported below, in OPA's wording.
  }
  throw parseError("illegal string literal", at);
}

/** Reports invalid text. */
export function parseError(message: string, at: RegoPlace): RegoError {
  return new RegoError("rego_parse_error", message, at);
}
