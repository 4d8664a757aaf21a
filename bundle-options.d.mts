import type { BuildOptions } from "esbuild";

export function bundleOptions(version: string): BuildOptions;
export const shippedOptions: BuildOptions;
