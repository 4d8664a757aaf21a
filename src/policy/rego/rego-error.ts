/** The kind of error, in the codes of OPA; `size` is a source beyond its limits, `eval_cancel_error` an evaluation beyond its own. */
export type RegoErrorCode =
  | "rego_parse_error"
  | "rego_compile_error"
  | "rego_type_error"
  | "rego_unsafe_var_error"
  | "rego_recursion_error"
  | "eval_conflict_error"
  | "eval_type_error"
  | "eval_builtin_error"
  | "eval_with_merge_error"
  | "eval_cancel_error"
  | "size";

/** A position in a source; lines and columns count from 1. */
export interface RegoPlace {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** An unusable policy, or a failed evaluation. The message is `file:line:column: code: text`, the text in OPA's wording. */
export class RegoError extends Error {
  override readonly name = "RegoError";
  readonly code: RegoErrorCode;
  /** The message without position and code. */
  readonly text: string;
  constructor(code: RegoErrorCode, text: string, place?: RegoPlace) {
    super(`${place === undefined ? "" : `${place.file}:${place.line}:${place.column}: `}${code}: ${text}`);
    this.code = code;
    this.text = text;
  }
}
