import { reservedWords } from "../cel/lexer.ts";

const escapes: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);

/**
 * The identifier under which a property can be read in CEL (`a-b` is `a__dash__b`, `namespace` is `__namespace__`), or undefined
 * for a name that rules cannot reach. Source: apiserver cel Escape.
 */
export function escapeName(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (reservedWords.has(name)) return `__${name}__`;
  return name.replaceAll(/__|[./-]/g, (part) => escapes.get(part) ?? part);
}
