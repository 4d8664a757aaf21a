import {
  Composer,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  Parser,
  stringify,
  type YAMLMap,
} from "yaml";
import { YamlError } from "./yaml-error.ts";

export { YamlError } from "./yaml-error.ts";

/** A document in plain values. */
export type YamlValue = string | number | boolean | null | readonly YamlValue[] | YamlObject;

/** A mapping; every key is its own property, `__proto__` too. */
export interface YamlObject {
  readonly [key: string]: YamlValue;
}

export interface YamlOptions {
  readonly maxCharacters: number;
  /** How many values all documents may contain together: mappings, lists and scalars, keys not counted. Default: as many as fit. */
  readonly maxValues?: number;
  /** `text` keeps numbers verbatim, so that `123456.7890` can be a token; `number` reads them as JSON would. Default `text`. */
  readonly numbers?: "text" | "number";
}

type ComposerOptions = NonNullable<ConstructorParameters<typeof Composer>[0]>;

const maxDepth = 64;

/**
 * Reads one YAML or JSON document of at most so many characters, nested at most 64 deep. Aliases, duplicate keys and keys
 * that are not text are refused. @throws YamlError
 */
export function loadYaml(text: string, options: YamlOptions): YamlValue {
  return valueOf(onlyDocument(text, lineCounter(), options));
}

/** A document, and the duplicate keys of its mappings. */
export interface YamlRead {
  readonly value: YamlValue;
  /** The line of each such key's value and the key, at most 100; a mapping comes after those inside it. */
  readonly duplicates: readonly YamlDuplicate[];
}

/** A duplicate key; `line` counts from 1. */
export interface YamlDuplicate {
  readonly line: number;
  readonly key: string;
}

/** How many are reported, and how many characters of each. Source: sigs.k8s.io/json, of JSON. */
const [maxDuplicates, maxKey] = [100, 1024];

/** The same as `loadYaml`, but that of two values of one key the later one counts, and the key is reported. @throws YamlError */
export function readYaml(text: string, options: YamlOptions): YamlRead {
  const lines = lineCounter();
  const duplicates: YamlDuplicate[] = [];
  const onDuplicate = (offset: number, key: string): void => {
    if (duplicates.length >= maxDuplicates) return;
    const shown = key.length > maxKey ? `${key.slice(0, maxKey)}…` : key;
    duplicates.push({ line: lines.linePos(offset).line, key: shown });
  };
  return { value: valueOf({ ...onlyDocument(text, lines, options), onDuplicate }), duplicates };
}

function onlyDocument(text: string, lines: LineCounter, options: YamlOptions): Reading {
  const [document, another] = compose(text, lines, options);
  if (document === undefined || another !== undefined) {
    throw new YamlError("syntax", "not exactly one YAML document");
  }
  return { document, lines, counter: counterOf(options), onDuplicate: refuseDuplicate };
}

/**
 * Reads any number of documents, separated by `---`, of so many characters together; the rules of `loadYaml` apply to
 * each. Empty documents are null. @throws YamlError
 */
export function loadYamlDocuments(text: string, options: YamlOptions): readonly YamlValue[] {
  const lines = lineCounter();
  const counter = counterOf(options);
  return compose(text, lines, options).map((document) =>
    valueOf({ document, lines, counter, onDuplicate: refuseDuplicate }),
  );
}

type OnDuplicate = (offset: number, key: string) => void;

interface Reading {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
  readonly counter: Counter;
  /** Called with where the value begins, after what that value itself has. */
  readonly onDuplicate: OnDuplicate;
}

function refuseDuplicate(): never {
  throw new YamlError("syntax", "a YAML key occurs twice in one mapping");
}

function lineCounter(): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  return lines;
}

function valueOf({ document, lines, counter, onDuplicate }: Reading): YamlValue {
  const [error] = document.errors;
  if (error !== undefined) {
    throw new YamlError("syntax", `not valid YAML at line ${lines.linePos(error.pos[0]).line}`, { cause: error });
  }
  return plain(document.contents, counter, onDuplicate);
}

/** The remaining number of values of a text. */
interface Counter {
  left: number;
  readonly maxValues: number;
}

function counterOf({ maxValues = Infinity }: YamlOptions): Counter {
  return { left: maxValues, maxValues };
}

function tooManyValues(maxValues: number): YamlError {
  return new YamlError("values", `more than ${maxValues} values`);
}

/** One value in a mapping takes eight lexemes: indentation, key, colon, space, scalar and line break, with a marker before each scalar. */
const lexemesPerValue = 12;
/** For comments and blank lines in texts with few values. */
const spareLexemes = 4096;

function compose(text: string, lines: LineCounter, options: YamlOptions): readonly Document.Parsed[] {
  const { maxCharacters, maxValues = Infinity, numbers = "text" } = options;
  if (text.length > maxCharacters) {
    throw new YamlError("characters", `larger than ${maxCharacters} characters`);
  }
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  let lexemesLeft = lexemesPerValue * maxValues + spareLexemes;
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    // Composing recurses: nesting without bound overflows the stack, in which V8 can abort the whole process.
    if (parser.stack.length > maxDepth) {
      throw new YamlError("depth", `nested more than ${maxDepth} deep`);
    }
    // Tokens take fifty times the memory of their text, so they are counted before there are values.
    lexemesLeft -= 1;
    if (lexemesLeft < 0) throw tooManyValues(maxValues);
  }
  tokens.push(...parser.end());
  // The library's own search for duplicate keys is quadratic; `plain` does it.
  const scalars =
    numbers === "number"
      ? ({ schema: "core" } as const)
      : ({ schema: "failsafe", customTags: ["null", "bool"] } as const);
  return [...new Composer({ ...scalars, uniqueKeys: false } as ComposerOptions).compose(tokens)];
}

function plain(node: unknown, counter: Counter, onDuplicate: OnDuplicate): YamlValue {
  counter.left -= 1;
  if (counter.left < 0) throw tooManyValues(counter.maxValues);
  if (node === null) return null;
  if (isScalar(node)) return scalar(node.value);
  if (isSeq(node)) return node.items.map((item) => plain(item, counter, onDuplicate));
  if (isMap(node)) return mapping(node, counter, onDuplicate);
  throw new YamlError("syntax", "YAML aliases are not accepted");
}

function mapping({ items }: YAMLMap, counter: Counter, onDuplicate: OnDuplicate): YamlObject {
  const entries = new Map<string, YamlValue>();
  for (const { key, value } of items) {
    if (!isScalar(key) || typeof key.value !== "string") throw new YamlError("syntax", "a YAML key is not text");
    const read = plain(value, counter, onDuplicate);
    if (entries.has(key.value)) onDuplicate(startOf(value) ?? startOf(key) ?? 0, key.value);
    entries.set(key.value, read);
  }
  return Object.fromEntries(entries);
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Only types that JSON has too. */
function scalar(value: unknown): YamlValue {
  if (typeof value !== "number") return typeof value === "string" || typeof value === "boolean" ? value : null;
  if (!Number.isFinite(value)) throw new YamlError("syntax", "a YAML number is not finite");
  return value === 0 ? 0 : value;
}

/**
 * A value as YAML. This file is imported on first use: a bundle that imports the library itself at run time
 * finds none of its names.
 */
export function yamlText(value: unknown): string {
  // Readers of YAML 1.1 read more words and digits as other types than text.
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" });
}
