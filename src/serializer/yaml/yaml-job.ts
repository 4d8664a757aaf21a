import type { YamlErrorCode } from "./yaml-error.ts";

/** How much one YAML text may hold. */
export interface YamlLimits {
  readonly maxCharacters: number;
  /** Values of any kind, mappings and lists included, keys not. */
  readonly maxValues: number;
}

/** What the main thread posts to the YAML thread. */
export type YamlJob =
  | { readonly kind: "parse"; readonly text: string; readonly limits: YamlLimits }
  | { readonly kind: "stringify"; readonly texts: readonly string[] };

/** What is posted back. */
export type YamlJobResult = { readonly text: string } | { readonly code: YamlErrorCode; readonly message: string };
