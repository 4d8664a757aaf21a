import { definitionLines } from "./definitions.mts";
import { type Inputs, readInputs, release } from "./inputs.mts";
import { rootDefinitions } from "./kinds.mts";

/**
 * The text of the data file of Kubernetes' schemas.
 * @throws InputsError where the published definitions are not available.
 * @throws DefinitionError where they have a form that this program does not know.
 */
export function schemaFile(inputs: Inputs = readInputs()): string {
  const lines = definitionLines(rootDefinitions, inputs);
  const text = lines.join("\n").replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");
  return `// Written by \`npm run generate:schemas\` from the published definitions of Kubernetes ${release}; do not edit.
// How a line is read: schemas/published.ts. Descriptions are those of the Kubernetes authors, Apache License 2.0.

/** The definitions of Kubernetes' own kinds as text. In a function, so that the text is not held before it is asked for. */
export function kubernetesDefinitions(): string {
  return \`${text}
\`;
}
`;
}
