import { stringify } from "yaml";

/**
 * A value as YAML. A file of its own, to be imported when it is first needed: a bundle that imports the library itself at run time
 * finds none of its names.
 */
export function yamlText(value: unknown): string {
  // Readers of YAML 1.1 take more words and digits for something else than text.
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: "yaml-1.1" });
}
