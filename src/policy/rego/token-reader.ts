import type { Literal, RegoVersion, Term } from "./ast.ts";
import { parseError, tokenize, type RegoToken } from "./lexer.ts";
import { RegoError, type RegoPlace } from "./rego-error.ts";

const always = ["as", "default", "else", "false", "true", "null", "import", "package", "not", "some", "with"];
const future = ["contains", "every", "if", "in"];
/** Keywords that every version has only by import; `not` exists without, and has another meaning then. */
const later = ["and", "not", "or"];

/** Reads the tokens of one module, back and forth. */
export interface TokenReader {
  readonly file: string;
  readonly version: RegoVersion;
  /** Reserved words; `import` may add some. */
  readonly keywords: Set<string>;
  /** The keywords that `import future.keywords` adds. */
  readonly future: readonly string[];
  /** Whether `not` accepts a body, and evaluates all of it inside. */
  readonly notBodies: { areOn: boolean };
  peek(ahead?: number): RegoToken;
  next(): RegoToken;
  /** Whether the next token is this sign. */
  isSign(text: string): boolean;
  /** Whether the next token is this keyword, and not the beginning of a reference. */
  isKeyword(text: string): boolean;
  /** Whether the next token begins a reference, even if it is a keyword. */
  isReference(): boolean;
  /** Allows the next token as a name, even if it is a keyword. */
  allowAsName(): void;
  /** Whether the token, which is next or was just read, is a keyword here. */
  isReserved(token: RegoToken): boolean;
  /** Reads the sign or keyword if it is next. */
  took(text: string): boolean;
  /** @throws RegoError when it is not next */
  expect(text: string): RegoToken;
  /** The position, for `backTo`. */
  mark(): number;
  backTo(mark: number): void;
  /** Guards against nesting deeper than the stack allows. @throws RegoError */
  nested<T>(read: () => T): T;
  /** Reads a term once: every further read at the same position returns the same term or throws the same error. */
  remembered(read: () => Term): Term;
  /** A number that is new in this module. */
  fresh(): number;
  /** Expressions up to a closing sign, inclusive. */
  body(close: string): readonly Literal[];
  literal(): Literal;
  fail(message?: string, at?: RegoPlace): never;
}

const deepest = 100;
/** How often each token may be reread, on average. */
const rereads = 20;

/** The source's file and version, and the parsers of bodies and expressions. */
export interface ReaderOptions {
  readonly file: string;
  readonly version: RegoVersion;
  readonly parseBody: (reader: TokenReader, close: string) => readonly Literal[];
  readonly parseLiteral: (reader: TokenReader) => Literal;
}

function extendsReference({ kind, text, isAdjacent }: RegoToken): boolean {
  return kind === "sign" && (text === "." || text === "[") && isAdjacent;
}

interface ReadTerm {
  readonly term: Term;
  /** The position after it. */
  readonly end: number;
}

/** The result of each read by its position, errors too. */
function newMemory(): (start: number, read: () => ReadTerm) => ReadTerm {
  const memory = new Map<number, ReadTerm | RegoError>();
  return (start, read) => {
    const known = memory.get(start);
    if (known instanceof RegoError) throw known;
    if (known !== undefined) return known;
    try {
      const found = read();
      memory.set(start, found);
      return found;
    } catch (error) {
      if (error instanceof RegoError) memory.set(start, error);
      throw error;
    }
  };
}

interface Cursor extends Pick<TokenReader, "peek" | "next" | "mark" | "backTo"> {
  /** Counts one step. @throws RegoError when there are too many for a module of this size */
  readonly spend: () => void;
}

function newCursor(tokens: readonly RegoToken[]): Cursor {
  const last = tokens.length - 1;
  let position = 0;
  let work = (tokens.length + 100) * rereads;
  const peek = (ahead = 0): RegoToken => tokens[Math.min(position + ahead, last)] as RegoToken;
  const spend = (): void => {
    if ((work -= 1) < 0) throw new RegoError("size", "too many ways to read this", peek().at);
  };
  const next = (): RegoToken => {
    const token = peek();
    spend();
    if (position < last) position += 1;
    return token;
  };
  const backTo = (mark: number): void => {
    position = mark;
  };
  return { peek, next, mark: () => position, backTo, spend };
}

/** Tests of the next token. */
function lookAhead(
  peek: TokenReader["peek"],
  keywords: ReadonlySet<string>,
): Pick<TokenReader, "isSign" | "isKeyword" | "isReference"> {
  const isReference = (): boolean => peek().kind === "name" && extendsReference(peek(1));
  return {
    isSign: (text) => peek().kind === "sign" && peek().text === text,
    isReference,
    isKeyword: (text) => peek().kind === "name" && peek().text === text && keywords.has(text) && !isReference(),
  };
}

/** @throws RegoError `size` or `rego_parse_error` */
export function tokenReader(source: string, { file, version, parseBody, parseLiteral }: ReaderOptions): TokenReader {
  const { spend, ...cursor } = newCursor(tokenize(source, file));
  const { peek, next, mark, backTo } = cursor;
  const keywords = new Set(version === "v1" ? [...always, ...future] : always);
  let depth = 0;
  let counter = 0;
  const remember = newMemory();
  const ahead = lookAhead(peek, keywords);
  let name: RegoToken | undefined;
  const fail = (message?: string, at = peek().at): never => {
    const { kind, text } = peek();
    throw parseError(message ?? `unexpected ${kind === "sign" ? `${text} token` : `${kind} ${text}`}`, at);
  };
  const took = (text: string): boolean => {
    if (!ahead.isSign(text) && !ahead.isKeyword(text)) return false;
    next();
    return true;
  };
  const reader: TokenReader = {
    file,
    version,
    keywords,
    future: [...future, ...later],
    notBodies: { areOn: false },
    ...cursor,
    ...ahead,
    allowAsName: () => {
      name = peek();
    },
    isReserved: (token) => keywords.has(token.text) && token !== name,
    took,
    expect: (text) => {
      const token = peek();
      return took(text) ? token : fail(`unexpected ${token.text}: expected ${text}`);
    },
    nested: (read) => {
      spend();
      if (depth >= deepest) throw new RegoError("size", `nested deeper than ${deepest} levels`, peek().at);
      depth += 1;
      try {
        return read();
      } finally {
        depth -= 1;
      }
    },
    remembered: (read) => {
      const { term, end } = remember(mark(), () => ({ term: read(), end: mark() }));
      backTo(end);
      return term;
    },
    fresh: () => (counter += 1),
    body: (close) => parseBody(reader, close),
    literal: () => parseLiteral(reader),
    fail,
  };
  return reader;
}
