import { readGoPackage, type GoField, type GoPackage } from "./go-structs.mts";
import type { EnumText, Enums } from "./openapi-enums.mts";
import type { Inputs, OpenApi } from "./inputs.mts";

/** The published definitions have a form that this program does not know: the release differs from those before. */
export class DefinitionError extends Error {
  readonly code = "definition";
}

/** Scalars of Kubernetes that are definitions of their own in OpenAPI, and the words for them in the data file. */
const scalars: Readonly<Record<string, string>> = {
  "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
  "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "micro-time",
  "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
};

/** A definition whose fields are the forms of one value. OpenAPI says nothing of them. */
const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JSONSchemaPropsOrArray: { object: "1 .JSONSchemaProps", array: "2 .JSONSchemaProps" },
  JSONSchemaPropsOrBool: { boolean: "1 bool", object: "2 .JSONSchemaProps" },
  JSONSchemaPropsOrStringArray: { object: "1 .JSONSchemaProps", array: "2 string" },
};

interface Walk {
  readonly inputs: Inputs;
  readonly packageOf: (definition: string) => GoPackage;
  readonly refer: (definition: string) => void;
}

/** A part of a definition: properties of OpenAPI beside the Go struct that they stand in. */
interface Part {
  readonly name: string;
  readonly of: string;
  readonly openApi: OpenApi;
  readonly fields: readonly GoField[];
}

/** The lines of the data file: each definition that the roots reach, in the order of their names. @throws DefinitionError */
export function definitionLines(roots: readonly string[], inputs: Inputs): readonly string[] {
  const packages = new Map<string, GoPackage>();
  const pending = [...roots];
  const blocks = new Map<string, readonly string[]>();
  const walk: Walk = {
    inputs,
    packageOf: (definition) => {
      const folder = inputs.folderOf(definition);
      const known = packages.get(folder) ?? readGoPackage(folder);
      packages.set(folder, known);
      return known;
    },
    refer: (definition) => {
      pending.push(definition);
    },
  };
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (blocks.has(name)) continue;
    const openApi = inputs.definitions.get(name);
    if (openApi === undefined) throw new DefinitionError(`${name} is not published`);
    for (const [part, lines] of block(name, openApi, walk)) if (!blocks.has(part)) blocks.set(part, lines);
  }
  return [...blocks].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, lines]) => lines);
}

function block(name: string, openApi: OpenApi, walk: Walk): readonly (readonly [string, readonly string[]])[] {
  const type = typeName(name);
  const known = forms[type];
  if (known !== undefined) {
    walk.refer(`${packageName(name)}.JSONSchemaProps`);
    const lines = Object.entries(known).map(([form, text]) => ` ${form} ${text}`);
    return [[name, [line([name, "forms"], openApi.description), ...lines]]];
  }
  const fields = walk.packageOf(name).get(type);
  const isScalar = scalars[name] !== undefined;
  if (isScalar || fields === undefined || openApi.properties === undefined) {
    if (
      fields?.some(({ json, number }) => json !== undefined && number !== undefined) &&
      openApi.properties !== undefined
    ) {
      throw new DefinitionError(`${name} has fields that are not published`);
    }
    return [[name, [line([name, ...plainTokens(name, openApi)], openApi.description)]]];
  }
  return partBlocks({ name, of: name, openApi, fields }, walk);
}

/** What an object without properties is: an empty struct, or any JSON. */
function plainTokens(name: string, openApi: OpenApi): readonly string[] {
  if (scalars[name] !== undefined) return [`scalar=${scalars[name]}`];
  if (/\.(?:FieldsV1|RawExtension|Patch)$/.test(name)) return ["any=object"];
  return openApi.type === "object" ? objectTokens(openApi) : ["any"];
}

/** The block of a struct, and those of the structs that stand in it in JSON and are messages of their own in protobuf. */
function partBlocks(part: Part, walk: Walk): readonly (readonly [string, readonly string[]])[] {
  const { name, of, openApi } = part;
  const properties = openApi.properties ?? {};
  const lines: (readonly [number, string])[] = [];
  const inner: (readonly [string, readonly string[]])[] = [];
  const names: string[] = [];
  for (const { field, inlined } of members(part.fields, walk, name)) {
    if (inlined !== undefined) {
      const keys = jsonNames(inlined, walk);
      const own = walk.inputs.definitions.get(inlined.name);
      if (own === undefined) inner.push(...partBlocks({ ...inlined, of, openApi: pick(openApi, keys) }, walk));
      else walk.refer(inlined.name);
      const label = typeName(inlined.name);
      const number = field.number === undefined ? [] : [String(field.number)];
      const key = `${label.slice(0, 1).toLowerCase()}${label.slice(1)}`;
      lines.push([field.number ?? -1, ` ${[key, ...number, shortened(inlined.name, name), "inline"].join(" ")}`]);
      names.push(...keys);
      continue;
    }
    const key = field.json ?? "";
    const property = properties[key];
    if (property === undefined) throw new DefinitionError(`${name} has a field ${key} that is not published`);
    names.push(key);
    lines.push([field.number ?? -1, fieldLine(key, field, property, { part, walk })]);
  }
  const missing = of === name ? Object.keys(properties).filter((key) => !names.includes(key)) : [];
  if (missing.length > 0) throw new DefinitionError(`${name}: no Go field for ${missing.join(", ")}`);
  const sorted = lines.sort(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)).map(([, text]) => text);
  const description = of === name ? openApi.description : undefined;
  return [[name, [line([name, ...objectTokens(openApi)], description), ...sorted]], ...inner];
}

interface Member {
  readonly field: GoField;
  /** The struct that stands inline. */
  readonly inlined?: Omit<Part, "of" | "openApi">;
}

const typeMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.TypeMeta";

/** The fields of a struct, and the structs that stand in it. */
function members(fields: readonly GoField[], walk: Walk, name: string): readonly Member[] {
  return fields.flatMap((field): readonly Member[] => {
    if (field.json !== undefined) return [{ field }];
    const inlined = field.type.endsWith("TypeMeta") ? typeMeta : `${packageName(name)}.${field.type}`;
    const inner = walk.packageOf(inlined).get(typeName(inlined));
    if (inner === undefined) throw new DefinitionError(`${name} has ${field.type} inline, which is not found`);
    return [{ field, inlined: { name: inlined, fields: inner } }];
  });
}

/** The keys in JSON of all fields, those of inlined structs among them. */
function jsonNames(part: Omit<Part, "of" | "openApi">, walk: Walk): readonly string[] {
  return members(part.fields, walk, part.name).flatMap(({ field, inlined }) =>
    inlined === undefined ? [field.json ?? ""] : jsonNames(inlined, walk),
  );
}

function pick(openApi: OpenApi, names: readonly string[]): OpenApi {
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(openApi.properties ?? {}).filter(([key]) => names.includes(key))),
    required: (openApi.required ?? []).filter((key) => names.includes(key)),
  };
}

function fieldLine(key: string, field: GoField, property: OpenApi, { part, walk }: { part: Part; walk: Walk }): string {
  const text = enumOf(walk.inputs.enums, part.of, key);
  const pointer = field.pointer ? "*" : "";
  const tokens = [
    key,
    ...(field.number === undefined ? [] : [String(field.number)]),
    `${pointer}${typeWord(property, field, part.name, walk)}`,
    ...presence(field, part.openApi.required?.includes(key) === true),
    ...mergeTokens(property),
    ...(property.default === undefined ? [] : [`default=${token(property.default)}`]),
    ...(text === undefined ? [] : [`enum=${token(text.values)}`]),
  ];
  return ` ${line(tokens, text?.description ?? property.description)}`;
}

/** Whether the field is required, and where Go's omitempty says otherwise than that, what it says. */
function presence(field: GoField, required: boolean): readonly string[] {
  const differs = field.number !== undefined && !field.pointer && field.omitEmpty === required;
  return [...(required ? ["required"] : []), ...(differs ? [field.omitEmpty ? "omitempty" : "always"] : [])];
}

function enumOf(enums: Enums, definition: string, key: string): EnumText | undefined {
  return enums.get(definition)?.get(key);
}

function typeWord(property: OpenApi, field: GoField, name: string, walk: Walk): string {
  const reference = property.$ref ?? property.allOf?.[0]?.$ref;
  if (reference !== undefined) {
    const target = reference.slice(reference.lastIndexOf("/") + 1);
    walk.refer(target);
    return scalars[target] ?? shortened(target, name);
  }
  const inside = (inner: OpenApi | undefined, goType: string): string =>
    typeWord(inner ?? {}, { ...field, type: goType, repeated: false }, name, walk);
  switch (property.type) {
    case "boolean":
      return "bool";
    case "integer":
      return property.format ?? "int64";
    case "number":
      return "double";
    case "string":
      return property.format === "byte" ? "bytes" : "string";
    case "array": {
      // A named type of a list is a message of its own in protobuf.
      const wrapped = field.repeated || field.type.startsWith("[]") ? "" : "~";
      return `${wrapped}[]${inside(property.items, field.type.replace(/^\[\]\*?/, ""))}`;
    }
    case "object":
      return `map:${inside(property.additionalProperties, field.type.replace(/^map\[\w+\]/, ""))}`;
    default:
      throw new DefinitionError(`${name} has a field of an unknown type: ${json(property)}`);
  }
}

const listStrategies: readonly (string | undefined)[] = [
  "merge",
  "replace",
  "retainKeys",
  "merge,retainKeys",
  undefined,
];

function mergeTokens(property: OpenApi): readonly string[] {
  const type = property["x-kubernetes-list-type"];
  const keys = property["x-kubernetes-list-map-keys"];
  const strategy = property["x-kubernetes-patch-strategy"];
  const mergeKey = property["x-kubernetes-patch-merge-key"];
  if (!listStrategies.includes(strategy)) throw new DefinitionError(`unknown patch strategy ${json(strategy)}`);
  if (strategy !== undefined && property.type !== "array") {
    throw new DefinitionError(`the patch strategy ${strategy} is known for lists alone`);
  }
  return [
    ...(type === undefined ? [] : [`list=${type}${keys === undefined ? "" : `:${keys.join(",")}`}`]),
    ...objectTokens(property),
    ...(strategy === undefined ? [] : [`patch=${strategy}${mergeKey === undefined ? "" : `:${mergeKey}`}`]),
  ];
}

function objectTokens(openApi: OpenApi): readonly string[] {
  const type = openApi["x-kubernetes-map-type"];
  return type === undefined ? [] : [`map=${type}`];
}

/** Tokens, and after a bar the description, in one line of ASCII. */
function line(tokens: readonly string[], description: string | undefined): string {
  const spaced = tokens.find((token) => /\s/.test(token));
  if (spaced !== undefined) throw new DefinitionError(`a space in ${spaced}`);
  return description === undefined || description === ""
    ? tokens.join(" ")
    : `${tokens.join(" ")} | ${json(description).slice(1, -1).replaceAll('\\"', '"')}`;
}

function json(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** JSON without a space, since tokens are parted by spaces. */
function token(value: unknown): string {
  return json(value).replaceAll(" ", "\\u0020");
}

function packageName(definition: string): string {
  return definition.slice(0, definition.lastIndexOf("."));
}

function typeName(definition: string): string {
  return definition.slice(definition.lastIndexOf(".") + 1);
}

/** A name of the same package begins with its dot. */
function shortened(definition: string, from: string): string {
  return packageName(definition) === packageName(from) ? `.${typeName(definition)}` : definition;
}
