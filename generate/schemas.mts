import { definitionLines } from "./definitions.mts";
import { readInputs, release } from "./inputs.mts";
import { rootDefinitions } from "./kinds.mts";

/**
 * The text of the data file of Kubernetes' schemas. `offline` takes only what the module cache of Go holds.
 * @throws InputsError where the published definitions cannot be had.
 * @throws DefinitionError where they are not of the form that is known.
 */
export function schemaFile(offline: boolean): string {
  const lines = definitionLines(rootDefinitions, readInputs(offline));
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
