import { Document, visit } from "yaml";
import { escapedControls } from "./printable.ts";

/** The value as YAML that means the same in YAML 1.1 and 1.2, each text on one line; text beyond plain ASCII is quoted like JSON. */
export function yamlText(value: unknown): string {
  const document = new Document(value, { compat: "yaml-1.1", aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === "string" && /[^ -~]/.test(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  return escapedControls(document.toString({ lineWidth: 0, blockQuote: false }));
}
