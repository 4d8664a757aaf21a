import { Composer, type Document, isMap, isScalar, isSeq, Lexer, LineCounter, Parser } from "yaml";

/** Text that is not one YAML document within the limits. The message quotes nothing of the text. */
export class YamlError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "YamlError";
  }
}

/** A document in plain values. */
export type YamlValue = string | number | boolean | null | readonly YamlValue[] | YamlObject;

/** A mapping; every key is its own property, `__proto__` too. */
export interface YamlObject {
  readonly [key: string]: YamlValue;
}

export interface YamlOptions {
  readonly maximumCharacters: number;
  /** `text` keeps numbers to the letter, so that `123456.7890` can be a token; `number` reads them as JSON would. Default `text`. */
  readonly numbers?: "text" | "number";
}

type ComposerOptions = NonNullable<ConstructorParameters<typeof Composer>[0]>;

const maximumDepth = 64;

/**
 * Reads one YAML or JSON document of at most so many characters, nested at most 64 deep. Aliases, duplicate keys and keys
 * that are not text are refused. @throws YamlError
 */
export function loadYaml(text: string, options: YamlOptions): YamlValue {
  if (text.length > options.maximumCharacters) {
    throw new YamlError(`larger than ${options.maximumCharacters} characters`);
  }
  const lines = lineCounter();
  const [document, another] = compose(text, lines, options.numbers ?? "text");
  if (document === undefined || another !== undefined) {
    throw new YamlError("not exactly one YAML document");
  }
  return valueOf(document, lines);
}

/**
 * Reads any number of documents, separated by `---`, of so many characters together; what is true of one for `loadYaml` is true of
 * each. Documents that hold nothing are null. @throws YamlError
 */
export function loadYamlDocuments(text: string, options: YamlOptions): readonly YamlValue[] {
  if (text.length > options.maximumCharacters) {
    throw new YamlError(`larger than ${options.maximumCharacters} characters`);
  }
  const lines = lineCounter();
  return compose(text, lines, options.numbers ?? "text").map((document) => valueOf(document, lines));
}

function lineCounter(): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  return lines;
}

function valueOf(document: Document.Parsed, lines: LineCounter): YamlValue {
  const [error] = document.errors;
  if (error !== undefined) {
    throw new YamlError(`not valid YAML at line ${lines.linePos(error.pos[0]).line}`, { cause: error });
  }
  return plain(document.contents);
}

function compose(text: string, lines: LineCounter, numbers: "text" | "number"): readonly Document.Parsed[] {
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    // Composing recurses: nesting without bound overflows the stack, in which V8 can abort the whole process.
    if (parser.stack.length > maximumDepth) {
      throw new YamlError(`nested more than ${maximumDepth} deep`);
    }
  }
  tokens.push(...parser.end());
  // The library's own search for duplicate keys is quadratic; `plain` does it.
  const scalars =
    numbers === "number"
      ? ({ schema: "core" } as const)
      : ({ schema: "failsafe", customTags: ["null", "bool"] } as const);
  return [...new Composer({ ...scalars, uniqueKeys: false } as ComposerOptions).compose(tokens)];
}

function plain(node: unknown): YamlValue {
  if (node === null) {
    return null;
  }
  if (isScalar(node)) {
    const { value } = node;
    return typeof value === "string" || typeof value === "boolean" || typeof value === "number" ? value : null;
  }
  if (isSeq(node)) {
    return node.items.map(plain);
  }
  if (!isMap(node)) {
    throw new YamlError("YAML aliases are not accepted");
  }
  const entries = new Map<string, YamlValue>();
  for (const { key, value } of node.items) {
    if (!isScalar(key) || typeof key.value !== "string") {
      throw new YamlError("a YAML key is not text");
    }
    if (entries.has(key.value)) {
      throw new YamlError("a YAML key stands twice in one mapping");
    }
    entries.set(key.value, plain(value));
  }
  return Object.fromEntries(entries);
}
