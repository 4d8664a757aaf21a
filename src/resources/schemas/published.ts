import type { AnyForm, AnySchema, ArraySchema, Field, ObjectSchema, Schema, StringSchema } from "../../core/schema.ts";
import { kubernetesDefinitions } from "../generated/kubernetes-definitions.ts";

// A line of the data file, up to a bar, is words parted by spaces; behind the bar stands the description. A definition begins in the
// first column with its name, and each of its fields in the second with key, protobuf number (where it has one) and type.

/** Schemas that were made, by definition name: work that is done once, as the codecs of protobuf know schemas by identity. */
interface Published {
  readonly blocks: ReadonlyMap<string, string>;
  readonly schemas: Map<string, ObjectSchema | AnySchema>;
}

let known: Published | undefined;

/** The text is taken apart when the first schema is asked for. */
function all(): Published {
  known ??= { blocks: definitionBlocks(kubernetesDefinitions()), schemas: new Map() };
  return known;
}

/**
 * The schema of a kind of Kubernetes, or of a part of one, by its name in OpenAPI, such as `io.k8s.api.core.v1.Pod`, as the release
 * that `generate/inputs.mts` names has published it. It is made when it is first asked for, with all that it refers to.
 * @throws TypeError for a name that `generate/kinds.mts` does not lead to, or one of something else than an object.
 */
export function published(name: string): ObjectSchema {
  const schema = definition(name);
  if (schema.type === "object") return schema;
  throw new TypeError(`${name} is not an object`);
}

/** The same for a type of k8s.io/apimachinery meta/v1, such as `ObjectMeta`. */
export function publishedMeta(type: string): ObjectSchema {
  return published(`io.k8s.apimachinery.pkg.apis.meta.v1.${type}`);
}

/** What Kubernetes says of the fields that each object has, of custom kinds too. */
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
  return all().blocks.has(name);
}

/** What is published of a scalar that OpenAPI refers to by name, such as Quantity. @throws TypeError for a name that is not known. */
export function publishedDescription(name: string): string | undefined {
  return parsedLine(firstLine(blockOf(name))).description;
}

function definition(name: string): ObjectSchema | AnySchema {
  const { schemas } = all();
  const before = schemas.get(name);
  if (before !== undefined) return before;
  const [head = "", ...lines] = blockOf(name).split("\n");
  const { words, description } = parsedLine(head);
  const told = description === undefined ? {} : { description };
  const any = words.find((word) => word === "any" || word.startsWith("any="));
  if (any !== undefined) return noted(name, { type: "any", name, ...told, ...(any === "any" ? {} : { object: true }) });
  const fill = <T extends ObjectSchema | AnySchema>(schema: T, part: Partial<T>): T => Object.assign(schema, part);
  if (words[1] === "forms") {
    const schema: AnySchema = noted(name, { type: "any", name, ...told });
    return fill(schema, { forms: lines.map((line) => form(line, name)) });
  }
  const atomic = words.includes("map=atomic") ? ({ mapType: "atomic" } as const) : {};
  // Known before its fields are, since a definition may contain itself.
  const schema: ObjectSchema = noted(name, { type: "object", name, ...told, properties: {}, ...atomic });
  return fill(schema, { properties: Object.fromEntries(lines.flatMap((line) => fields(line, name))) });
}

function noted<T extends ObjectSchema | AnySchema>(name: string, schema: T): T {
  all().schemas.set(name, schema);
  return schema;
}

function definitionBlocks(text: string): ReadonlyMap<string, string> {
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
  const block = all().blocks.get(name);
  if (block === undefined) throw new TypeError(`${name} is not published`);
  return block;
}

function firstLine(block: string): string {
  const end = block.indexOf("\n");
  return end < 0 ? block : block.slice(0, end);
}

function parsedLine(line: string): { readonly words: readonly string[]; readonly description: string | undefined } {
  const bar = line.indexOf(" | ");
  if (bar < 0) return { words: line.trim().split(" "), description: undefined };
  return { words: line.slice(0, bar).trim().split(" "), description: unescaped(line.slice(bar + 3)) };
}

function unescaped(text: string): string {
  return text.includes("\\") ? (JSON.parse(`"${text.replaceAll('"', '\\"')}"`) as string) : text;
}

/** One field; those of an object that stands inline without a message of its own in place of it. */
function fields(line: string, of: string): readonly (readonly [string, Field])[] {
  const { words, description } = parsedLine(line);
  const [key = "", second = ""] = words;
  const numbered = /^\d+$/.test(second);
  const number = numbered ? { number: Number(second) } : {};
  const [word = "", ...flags] = words.slice(numbered ? 2 : 1);
  const pointer = word.startsWith("*");
  const schema = merged(typed(pointer ? word.slice(1) : word, of), flags);
  if (flags.includes("inline")) return numbered ? [[key, { schema, ...number, inline: true }]] : typeFields(schema);
  const told = description === undefined ? {} : { description };
  return [
    [key, { schema, ...number, ...presence(flags), ...(pointer ? { pointer } : {}), ...told, ...defaults(flags) }],
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
  const says = flags.includes("always") || flags.includes("omitempty");
  return {
    ...(flags.includes("required") ? { required: true } : {}),
    ...(says ? { omitEmpty: flags.includes("omitempty") } : {}),
  };
}

function defaults(flags: readonly string[]): Pick<Field, "default" | "keyDefault"> {
  const value = valueOf(flags, "default=");
  if (value === undefined) return {};
  return isKeyDefault(value) ? { default: value, keyDefault: value } : { default: value };
}

function form(line: string, of: string): AnyForm {
  const [json = "", number, word = ""] = parsedLine(line).words;
  return { json: json as AnyForm["json"], number: Number(number), schema: typed(word, of) };
}

/** The zero of a type is published as its default too, and says nothing. */
function isKeyDefault(value: unknown): value is string | number | true {
  return (typeof value === "string" && value !== "") || (typeof value === "number" && value !== 0) || value === true;
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

function typed(word: string, of: string): Schema {
  if (word.startsWith("[]")) return { type: "array", items: typed(word.slice(2), of) };
  if (word.startsWith("~[]")) return { type: "array", items: typed(word.slice(3), of), wrapped: true };
  if (word.startsWith("map:")) return { type: "map", values: typed(word.slice(4), of) };
  return scalars[word] ?? definition(word.startsWith(".") ? `${of.slice(0, of.lastIndexOf("."))}${word}` : word);
}

/** The schema with what the words say of merging, and of the values that there are. */
function merged(schema: Schema, words: readonly string[]): Schema {
  const values = valueOf(words, "enum=") as readonly string[] | undefined;
  if (schema.type === "map") return words.includes("map=atomic") ? { ...schema, mapType: "atomic" } : schema;
  if (schema.type === "string") return listed(schema, values);
  if (schema.type !== "array") return schema;
  const items = schema.items.type === "string" ? listed(schema.items, values) : schema.items;
  return { ...schema, items, ...merging(words) };
}

function listed(schema: StringSchema, values: readonly string[] | undefined): StringSchema {
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
