import type { CelExpression, CelNode } from "./ast.ts";
import { fits, issue, show, type Checker } from "./checker.ts";
import { boolType, dynType, intType, type CelType } from "./types.ts";
import { substitute } from "./unify.ts";

/** The types of a range's two parts: index and element, or key and value. */
export function ranged(checker: Checker, node: CelNode<"comprehension">, range: CelType): readonly [CelType, CelType] {
  const type = substitute(checker.known, range);
  switch (type.kind) {
    case "list":
      return [intType, type.element];
    case "map":
      return [type.key, type.value];
    case "dyn":
    case "parameter":
      return [dynType, dynType];
    default: {
      const shown = show(checker, type);
      const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
      issue(checker, node.range, message);
      return [dynType, dynType];
    }
  }
}

/** The map that `transformMapEntry` makes of what its transform gives. */
export function mapEntry(checker: Checker, node: CelExpression, type: CelType): CelType {
  if (type.kind === "map" || type.kind === "dyn") return type;
  const applied = `(map(dyn, dyn), ${show(checker, type)})`;
  return issue(checker, node, `found no matching overload for 'cel.@mapInsert' applied to '${applied}'`);
}

/** How cel-go words a predicate that is not boolean: the macro's expansion shows through. */
export function predicate(checker: Checker, node: CelNode<"comprehension">, type: CelType): void {
  if (fits(checker, type, boolType)) return;
  const shown = show(checker, type);
  const applied = (name: string, types: string): CelType =>
    issue(checker, node, `found no matching overload for '${name}' applied to '(${types})'`);
  if (node.macro === "all") applied("_&&_", `bool, ${shown}`);
  else if (node.macro === "exists") applied("_||_", `bool, ${shown}`);
  else if (node.macro === "exists_one") applied("_?_:_", `${shown}, int, int`);
  else applied("_?_:_", `${shown}, list(dyn), list(dyn)`);
}
