import type { Literal, RegoVersion, Term } from "./ast.ts";
import { parseError, tokenize, type RegoToken } from "./lexer.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";

const always = ["as", "default", "else", "false", "true", "null", "import", "package", "not", "some", "with"];
const future = ["contains", "every", "if", "in"];

/** Reads the words of one module, back and forth. */
export interface TokenReader {
  readonly file: string;
  readonly version: RegoVersion;
  /** Words that are no names; `import` may add some. */
  readonly keywords: Set<string>;
  readonly future: readonly string[];
  peek(ahead?: number): RegoToken;
  next(): RegoToken;
  /** Whether the next word is this sign. */
  isSign(text: string): boolean;
  isKeyword(text: string): boolean;
  /** Reads the sign or keyword if it is next. */
  took(text: string): boolean;
  /** @throws RegoError when it is not next */
  expect(text: string): RegoToken;
  /** The place to come back to. */
  mark(): number;
  backTo(mark: number): void;
  /** Guards against nesting deeper than the stack allows. @throws RegoError */
  nested<T>(read: () => T): T;
  /** Reads a term, once: what stands at a place is the same term, or the same mistake, whoever reads it again. */
  remembered(read: () => Term): Term;
  /** A number that is new in this module. */
  fresh(): number;
  /** Expressions up to a closing sign, which is read, too. */
  body(close: string): readonly Literal[];
  fail(message?: string, at?: RegoPlace): never;
}

const deepest = 100;
/** How often each word may be read anew, on average. */
const rereads = 20;

/** What is read, and how its bodies are. */
export interface ReaderOptions {
  readonly file: string;
  readonly version: RegoVersion;
  readonly parseBody: (reader: TokenReader, close: string) => readonly Literal[];
}

/** @throws RegoError `size` or `rego_parse_error` */
export function tokenReader(source: string, { file, version, parseBody }: ReaderOptions): TokenReader {
  const tokens = tokenize(source, file);
  const keywords = new Set(version === "v1" ? [...always, ...future] : always);
  const last = tokens.length - 1;
  let position = 0;
  let depth = 0;
  let counter = 0;
  const memory = new Map<number, { readonly term: Term; readonly end: number } | RegoError>();
  let work = (tokens.length + 100) * rereads;
  const peek = (ahead = 0): RegoToken => tokens[Math.min(position + ahead, last)] as RegoToken;
  const isSign = (text: string): boolean => peek().kind === "sign" && peek().text === text;
  const isKeyword = (text: string): boolean => peek().kind === "name" && peek().text === text && keywords.has(text);
  const fail = (message?: string, at = peek().at): never => {
    const { kind, text } = peek();
    throw parseError(message ?? `unexpected ${kind === "sign" ? `${text} token` : `${kind} ${text}`}`, at);
  };
  const next = (): RegoToken => {
    const token = peek();
    if ((work -= 1) < 0) throw new RegoError("size", "too many ways to read this", token.at);
    if (position < last) position += 1;
    return token;
  };
  const took = (text: string): boolean => {
    if (!isSign(text) && !isKeyword(text)) return false;
    next();
    return true;
  };
  const reader: TokenReader = {
    file,
    version,
    keywords,
    future,
    peek,
    next,
    isSign,
    isKeyword,
    took,
    expect: (text) => {
      const token = peek();
      return took(text) ? token : fail(`unexpected ${token.text}: expected ${text}`);
    },
    mark: () => position,
    backTo: (mark) => {
      position = mark;
    },
    nested: (read) => {
      if (depth >= deepest) throw new RegoError("size", `nested deeper than ${deepest} levels`, peek().at);
      depth += 1;
      try {
        return read();
      } finally {
        depth -= 1;
      }
    },
    remembered: (read) => {
      const start = position;
      const known = memory.get(start);
      if (known instanceof RegoError) throw known;
      if (known !== undefined) {
        position = known.end;
        return known.term;
      }
      try {
        const term = read();
        memory.set(start, { term, end: position });
        return term;
      } catch (error) {
        if (error instanceof RegoError) memory.set(start, error);
        throw error;
      }
    },
    fresh: () => (counter += 1),
    body: (close) => parseBody(reader, close),
    fail,
  };
  return reader;
}
