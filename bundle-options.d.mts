import type { BuildOptions, Plugin } from "esbuild";

export const yamlThreadEntry: Readonly<Record<string, string>>;
export const bundledDefinitions: Plugin;
export function bundleOptions(version: string): BuildOptions;
export const shippedOptions: BuildOptions;
