import type { AnyForm, AnySchema, ArraySchema, Field, ObjectSchema, Schema, StringSchema } from "../../core/schema.ts";
import { kubernetesDefinitions } from "../generated/kubernetes-definitions.ts";

// A line of the data file is words separated by spaces, then a bar and the description. A definition begins in the first column
// with its name, and each of its fields in the second column with key, protobuf number (where it has one) and type.

interface Definitions {
  /** The lines of each definition, by its name. */
  readonly blocks: ReadonlyMap<string, string>;
  /** The schemas that were asked for. Each is made once, since the protobuf codecs are kept by the identity of the schema. */
  readonly schemas: Map<string, ObjectSchema | AnySchema>;
}

let loaded: Definitions | undefined;

/** The data file is split into definitions at the first use, so that a program that uses none of them holds none. */
function definitions(): Definitions {
  loaded ??= { blocks: splitDefinitions(kubernetesDefinitions()), schemas: new Map() };
  return loaded;
}

/**
 * The schema of a kind of Kubernetes, or of a part of one, by its name in OpenAPI, such as `io.k8s.api.core.v1.Pod`, as the release
 * that `generate/inputs.mts` names publishes it. It is made when it is first asked for, with everything that it refers to.
 * @throws TypeError for a name that the kinds of `generate/kinds.mts` do not refer to, or one of something else than an object.
 */
export function published(name: string): ObjectSchema {
  const schema = schemaOf(name);
  if (schema.type === "object") return schema;
  throw new TypeError(`${name} is not an object`);
}

/** The same for a type of k8s.io/apimachinery meta/v1, such as `ObjectMeta`. */
export function publishedMeta(type: string): ObjectSchema {
  return published(`io.k8s.apimachinery.pkg.apis.meta.v1.${type}`);
}

/** What Kubernetes says of the fields that every object has, those of custom kinds included. */
export interface TypeDescriptions {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: string;
}

/** Source: meta/v1 TypeMeta and PartialObjectMetadata. */
export function typeDescriptions(): TypeDescriptions {
  const { apiVersion, kind } = publishedMeta("TypeMeta").properties;
  return { apiVersion: apiVersion?.description ?? "", kind: kind?.description ?? "", metadata: standardMetadata };
}

/** What Kubernetes says of the metadata of an object. */
export const standardMetadata: string =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/** Whether a definition of this name was published. */
export function isPublished(name: string): boolean {
  return definitions().blocks.has(name);
}

/** The description of a definition, such as Quantity. @throws TypeError for a name that is not published. */
export function publishedDescription(name: string): string | undefined {
  return parseLine(firstLine(blockOf(name))).description;
}

function schemaOf(name: string): ObjectSchema | AnySchema {
  const { schemas } = definitions();
  const existing = schemas.get(name);
  if (existing !== undefined) return existing;
  const [head = "", ...lines] = blockOf(name).split("\n");
  const { words, description } = parseLine(head);
  const remember = <T extends ObjectSchema | AnySchema>(schema: T): T => {
    schemas.set(name, schema);
    return schema;
  };
  const described = { name, ...(description === undefined ? {} : { description }) };
  if (words.some((word) => word.startsWith("scalar="))) throw new TypeError(`${name} is not an object`);
  if (words.includes("any")) return remember({ type: "any", ...described });
  if (words.includes("any=object")) return remember({ type: "any", ...described, object: true });
  // Remembered before it is complete, since a definition may refer to itself.
  if (words[1] === "forms") {
    const schema: AnySchema = remember({ type: "any", ...described });
    return Object.assign(schema, { forms: lines.map((line) => parseForm(line, name)) });
  }
  const mapType = words.includes("map=atomic") ? ({ mapType: "atomic" } as const) : {};
  const schema: ObjectSchema = remember({ type: "object", ...described, properties: {}, ...mapType });
  return Object.assign(schema, { properties: Object.fromEntries(lines.flatMap((line) => parseField(line, name))) });
}

function splitDefinitions(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let start = 0; start < text.length;) {
    let end = text.indexOf("\n", start);
    while (text[end + 1] === " ") end = text.indexOf("\n", end + 1);
    const block = text.slice(start, end);
    found.set(firstLine(block).split(" ", 1)[0] ?? "", block);
    start = end + 1;
  }
  return found;
}

function blockOf(name: string): string {
  const block = definitions().blocks.get(name);
  if (block === undefined) throw new TypeError(`${name} is not published`);
  return block;
}

function firstLine(block: string): string {
  const end = block.indexOf("\n");
  return end < 0 ? block : block.slice(0, end);
}

function parseLine(line: string): { readonly words: readonly string[]; readonly description: string | undefined } {
  const bar = line.indexOf(" | ");
  if (bar < 0) return { words: line.trim().split(" "), description: undefined };
  return { words: line.slice(0, bar).trim().split(" "), description: unescapeText(line.slice(bar + 3)) };
}

function unescapeText(text: string): string {
  return text.includes("\\") ? (JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string) : text;
}

/** One field; for TypeMeta, which stands inline without a message of its own, its fields. */
function parseField(line: string, of: string): readonly (readonly [string, Field])[] {
  const { words, description } = parseLine(line);
  const [key = "", second = ""] = words;
  const numbered = /^\d+$/.test(second);
  const number = numbered ? { number: Number(second) } : {};
  const [word = "", ...flags] = words.slice(numbered ? 2 : 1);
  const pointer = word.startsWith("*");
  const schema = withFlags(parseType(pointer ? word.slice(1) : word, of), flags);
  if (flags.includes("inline")) return numbered ? [[key, { schema, ...number, inline: true }]] : typeFields(schema);
  return [
    [
      key,
      {
        schema,
        ...number,
        ...presence(flags),
        ...(pointer ? { pointer } : {}),
        ...(description === undefined ? {} : { description }),
        ...publishedDefault(flags),
      },
    ],
  ];
}

/** Those of TypeMeta, which in protobuf the envelope has: they have no numbers. */
function typeFields(schema: Schema): readonly (readonly [string, Field])[] {
  const properties = schema.type === "object" ? schema.properties : {};
  return ["apiVersion", "kind"].flatMap((key) => {
    const field = properties[key];
    return field === undefined ? [] : [[key, { schema: field.schema, description: field.description ?? "" }] as const];
  });
}

function presence(flags: readonly string[]): Pick<Field, "required" | "omitEmpty"> {
  const omitEmpty = flags.includes("omitempty");
  return {
    ...(flags.includes("required") ? { required: true } : {}),
    ...(omitEmpty || flags.includes("always") ? { omitEmpty } : {}),
  };
}

function publishedDefault(flags: readonly string[]): Pick<Field, "default"> {
  const value = valueOf(flags, "default=");
  return value === undefined ? {} : { default: value };
}

function parseForm(line: string, of: string): AnyForm {
  const [json = "", number, word = ""] = parseLine(line).words;
  return { json: json as AnyForm["json"], number: Number(number), schema: parseType(word, of) };
}

const scalars: Readonly<Record<string, Schema>> = {
  string: { type: "string" },
  bytes: { type: "string", format: "byte" },
  time: { type: "string", format: "date-time" },
  "micro-time": { type: "string", format: "micro-time" },
  quantity: { type: "string", format: "quantity" },
  "int-or-string": { type: "string", format: "int-or-string" },
  int32: { type: "integer", format: "int32" },
  int64: { type: "integer", format: "int64" },
  double: { type: "number" },
  bool: { type: "boolean" },
};

function parseType(word: string, of: string): Schema {
  if (word.startsWith("[]")) return { type: "array", items: parseType(word.slice(2), of) };
  if (word.startsWith("~[]")) return { type: "array", items: parseType(word.slice(3), of), wrapped: true };
  if (word.startsWith("map:")) return { type: "map", values: parseType(word.slice(4), of) };
  return scalars[word] ?? schemaOf(word.startsWith(".") ? `${of.slice(0, of.lastIndexOf("."))}${word}` : word);
}

/** The schema with how it is merged, and which values it may have. */
function withFlags(schema: Schema, words: readonly string[]): Schema {
  const values = valueOf(words, "enum=") as readonly string[] | undefined;
  if (schema.type === "map") return words.includes("map=atomic") ? { ...schema, mapType: "atomic" } : schema;
  if (schema.type === "string")
    return withEnum(words.includes("list=atomic") ? { ...schema, listType: "atomic" } : schema, values);
  if (schema.type !== "array") return schema;
  const items = schema.items.type === "string" ? withEnum(schema.items, values) : schema.items;
  return { ...schema, items, ...merging(words) };
}

function withEnum(schema: StringSchema, values: readonly string[] | undefined): StringSchema {
  return values === undefined ? schema : { ...schema, enum: values };
}

function merging(words: readonly string[]): Partial<ArraySchema> {
  const [listType, keys] = textOf(words, "list=")?.split(":") ?? [];
  const [patchStrategy, patchMergeKey] = textOf(words, "patch=")?.split(":") ?? [];
  return {
    ...(listType === undefined ? {} : { listType: listType as NonNullable<ArraySchema["listType"]> }),
    ...(keys === undefined ? {} : { listMapKeys: keys.split(",") }),
    ...(patchStrategy === undefined
      ? {}
      : { patchStrategy: patchStrategy as NonNullable<ArraySchema["patchStrategy"]> }),
    ...(patchMergeKey === undefined ? {} : { patchMergeKey }),
  };
}

function textOf(words: readonly string[], prefix: string): string | undefined {
  return words.find((word) => word.startsWith(prefix))?.slice(prefix.length);
}

function valueOf(words: readonly string[], prefix: string): unknown {
  const text = textOf(words, prefix);
  return text === undefined ? undefined : (JSON.parse(text) as unknown);
}
