import type { BuildOptions } from "esbuild";

export const yamlThreadEntry: Readonly<Record<string, string>>;
export function bundleOptions(version: string): BuildOptions;
export const shippedOptions: BuildOptions;
