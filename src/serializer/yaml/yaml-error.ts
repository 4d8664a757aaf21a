/** Why YAML was not read or not written: the text itself, one of its limits, or the thread that works on it. */
export type YamlErrorCode =
  | "syntax"
  | "depth"
  | "characters"
  | "values"
  /** The job took longer than it may. */
  | "time"
  /** The job needed more memory than it may. */
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
