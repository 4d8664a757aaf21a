import { publishedDefinitions } from "./definitions.mts";
import { type Inputs, readInputs, release } from "./inputs.mts";
import { rootDefinitions } from "./kinds.mts";

/**
 * The text of the data file of Kubernetes' schemas: JSON in ASCII, one line for each field.
 * @throws InputsError where the published definitions are not available.
 * @throws DefinitionError where they have a form that this program does not know.
 */
export function schemaFile(inputs: Inputs = readInputs()): string {
  const definitions = publishedDefinitions(rootDefinitions, inputs).map(([name, definition]) => {
    if (definition.type !== "object") return `${json(name)}: ${json(definition)}`;
    const { properties, ...rest } = definition;
    const fields = Object.entries(properties).map(([key, field]) => `\n  ${json(key)}: ${json(field)}`);
    return `${json(name)}: ${json(rest).slice(0, -1)},"properties":{${fields.join(",")}}}`;
  });
  const comment =
    `Written by \`npm run generate:schemas\` from the published definitions of Kubernetes ${release}; do not edit. ` +
    "Descriptions are those of the Kubernetes authors, Apache License 2.0.";
  return `{"comment": ${json(comment)}, "definitions": {\n${definitions.join(",\n")}\n}}\n`;
}

function json(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
