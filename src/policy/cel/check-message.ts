import type { CelFieldValue, CelNode } from "./ast.ts";
import { fits, show, undeclared, type Checker } from "./checker.ts";
import { dynType, type CelType } from "./types.ts";

/** The type of `name{field: value, …}`; `typeOf` checks the value of a field. Source: cel-go checker, checkCreateStruct. */
export function message(
  checker: Checker,
  node: CelNode<"message">,
  typeOf: (field: CelFieldValue) => CelType,
): CelType {
  const type = checker.scope.message(node.name);
  if (type === undefined) return undeclared(checker, node, node.name);
  for (const field of node.fields) {
    const { name, offset } = field;
    const given = typeOf(field);
    const wanted = fieldType(type, name);
    if (wanted === undefined) checker.issues.push({ offset, message: `undefined field '${name}'` });
    else if (!fits(checker, given, wanted)) {
      const [expected, provided] = [show(checker, wanted), show(checker, given)];
      const problem = `expected type of field '${name}' is '${expected}' but provided type is '${provided}'`;
      checker.issues.push({ offset, message: problem });
    }
  }
  return type;
}

/** The type of a field of an object; undefined where it has no such field. */
export function fieldType(type: CelType, name: string): CelType | undefined {
  if (type.kind !== "object") return undefined;
  return type.fields.get(name)?.type ?? (type.open === true ? dynType : undefined);
}
