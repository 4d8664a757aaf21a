import { createRequire } from "node:module";

/**
 * The definitions of Kubernetes' own kinds as JSON, by name: few of them are used, and text takes less memory than objects.
 * bundle-options.mjs replaces this function in the bundle, with the data included.
 */
export function kubernetesDefinitions(): Readonly<Record<string, string>> {
  const file: unknown = createRequire(import.meta.url)("./kubernetes-definitions.json");
  const { definitions } = file as { readonly definitions: Readonly<Record<string, unknown>> };
  return Object.fromEntries(Object.entries(definitions).map(([name, one]) => [name, JSON.stringify(one)]));
}
