import type { StructuralSchema } from "./structural-schema.ts";

/**
 * The path of a rule's `fieldPath` below the value of `schema`, as errors write it (`.spec['a.b']` is `spec[a.b]` of a map), or
 * undefined where it names no field of the schema. Source: apiextensions-apiserver schema/cel ValidFieldPath.
 */
export function ruleFieldPath(fieldPath: string, schema: StructuralSchema): string | undefined {
  // Each step is `.name` or `['name']`, in which a backslash escapes.
  const step = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/sy;
  let found: StructuralSchema | undefined = schema;
  let path = "";
  while (step.lastIndex < fieldPath.length) {
    const match = step.exec(fieldPath);
    if (match === null) return undefined;
    const name: string | undefined = match[1] ?? unescaped(match[2] ?? "");
    if (name === undefined || found === undefined) return undefined;
    const property: StructuralSchema | undefined = found.properties.get(name);
    const isMap: boolean = found.properties.size === 0 && typeof found.additionalProperties === "object";
    if (property === undefined && !isMap) return undefined;
    path += property === undefined ? `[${name}]` : path === "" ? name : `.${name}`;
    found = property ?? (typeof found.additionalProperties === "object" ? found.additionalProperties : undefined);
  }
  return path === "" ? undefined : path;
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

function unescaped(text: string): string | undefined {
  const isKnown = [...text.matchAll(/\\(.)/gs)].every(([, character = ""]) => escapes.has(character));
  return isKnown ? text.replaceAll(/\\(.)/gs, (_match, character: string) => escapes.get(character) ?? "") : undefined;
}
