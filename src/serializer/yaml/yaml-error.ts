/** Why YAML was not read or not written: the text itself, one of its limits, or the thread that works on it. */
export type YamlErrorCode =
  | "syntax"
  | "depth"
  | "characters"
  | "values"
  /** The job exceeded its time limit. */
  | "time"
  /** The job exceeded its memory limit. */
  | "memory"
  /** Too many jobs wait already. */
  | "busy"
  | "closed";

/** Text that is not one YAML document within the limits. The message quotes nothing of the text. */
export class YamlError extends Error {
  readonly code: YamlErrorCode;

  constructor(code: YamlErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "YamlError";
    this.code = code;
  }
}

/** The limits of one YAML text. */
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
