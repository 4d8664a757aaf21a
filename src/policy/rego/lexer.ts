import { numberOf } from "./numbers.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";
import type { RegoNumber } from "./values.ts";

/** A word of a module. */
export interface RegoToken {
  readonly kind: "name" | "number" | "string" | "template" | "templateRest" | "sign" | "end";
  /** As written; of a string or a part of a template, what it means. */
  readonly text: string;
  readonly number: RegoNumber | undefined;
  readonly at: RegoPlace;
  /** Whether a line ends between the word before and this one. */
  readonly afterNewline: boolean;
  /** Whether nothing at all is between them. */
  readonly isAdjacent: boolean;
  /** Whether an expression follows a part of a template. */
  readonly isOpen: boolean;
}

/** How long one module may be, in UTF-16 units. */
const maximumSourceLength = 1_000_000;

const gap = /(?:[ \t\r\n]+|#[^\n]*)+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const text = /"(?:[^"\\\n]|\\.)*"/y;
const rawText = /`[^`]*`/y;
const templatePart = /(?:\\.|[^"\\\n{])*/y;
const rawTemplatePart = /(?:\\\{|[^`{])*/y;
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
    const rest = { at, afterNewline: line > before, isAdjacent: skipped === "", number: undefined, isOpen: false };
    if (offset >= source.length) {
      if (templates.length > 0) throw parseError("non-terminated string", at);
      tokens.push({ ...rest, kind: "end", text: "end of file" });
      return tokens;
    }
    const { written, ...token } = inTemplates(source, offset, rest, templates) ?? tokenAt(source, offset, rest);
    tokens.push(token);
    step(written);
  }
}

/** A template whose expression is being read, and how many braces are open in that. */
interface Template {
  readonly isRaw: boolean;
  braces: number;
}

/** The word where a template begins, or an expression in one ends; braces within are counted. */
function inTemplates(source: string, offset: number, rest: Rest, templates: Template[]): Word | undefined {
  const [first, second] = [source[offset], source[offset + 1]];
  if (first === "$" && (second === '"' || second === "`")) {
    templates.push({ isRaw: second === "`", braces: 0 });
    return partOfTemplate(source, { offset, skip: 2, kind: "template" }, rest, templates);
  }
  const inner = templates.at(-1);
  if (inner === undefined) return undefined;
  if (first === "}" && inner.braces === 0)
    return partOfTemplate(source, { offset, skip: 1, kind: "templateRest" }, rest, templates);
  if (first === "{") inner.braces += 1;
  if (first === "}") inner.braces -= 1;
  return undefined;
}

interface PartPlace {
  readonly offset: number;
  readonly skip: number;
  readonly kind: "template" | "templateRest";
}

function partOfTemplate(source: string, { offset, skip, kind }: PartPlace, rest: Rest, templates: Template[]): Word {
  const isRaw = templates.at(-1)?.isRaw === true;
  const part = match(isRaw ? rawTemplatePart : templatePart, source, offset + skip);
  const end = source[offset + skip + part.length];
  if (end !== "{" && end !== (isRaw ? "`" : '"')) throw parseError("non-terminated string", rest.at);
  if (end !== "{") templates.pop();
  const plain = part.replaceAll(/\\([^])/g, (escape, letter: string) => (letter === "{" ? "{" : escape));
  const text = isRaw ? part.replaceAll("\\{", "{") : unquoted(`"${plain}"`, rest.at);
  return { ...rest, kind, text, isOpen: end === "{", written: source.slice(offset, offset + skip + part.length + 1) };
}

type Rest = Omit<RegoToken, "kind" | "text">;

function match(pattern: RegExp, source: string, offset: number): string {
  pattern.lastIndex = offset;
  return pattern.exec(source)?.[0] ?? "";
}

/** A token and what of the source it takes. */
type Word = RegoToken & { readonly written: string };

function tokenAt(source: string, offset: number, rest: Rest): Word {
  const word = match(name, source, offset);
  if (word !== "") return { ...rest, kind: "name", text: word, written: word };
  const digits = match(number, source, offset);
  if (digits !== "") {
    const value = numberOf(digits);
    const next = source.charAt(offset + digits.length);
    if (value === undefined || /[A-Za-z0-9_]/.test(next)) throw parseError("illegal number format", rest.at);
    return { ...rest, kind: "number", text: digits, number: value, written: digits };
  }
  const written = match(text, source, offset);
  if (written !== "") return { ...rest, kind: "string", text: unquoted(written, rest.at), written };
  const raw = match(rawText, source, offset);
  if (raw !== "") return { ...rest, kind: "string", text: raw.slice(1, -1).replaceAll("\r", ""), written: raw };
  const operator = match(sign, source, offset);
  if (operator !== "") return { ...rest, kind: "sign", text: operator, written: operator };
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
