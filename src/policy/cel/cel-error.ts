/** Whether the syntax, the types or the size of an expression is wrong. */
export type CelErrorCode = "syntax" | "type" | "size";

/** An invalid expression. The message has line and column and shows the source line, in cel-go's wording. */
export class CelError extends Error {
  override readonly name = "CelError";
  readonly code: CelErrorCode;
  constructor(code: CelErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A problem of an expression at an offset (in UTF-16 units) of its source. */
export interface CelIssue {
  readonly offset: number;
  readonly message: string;
}

/** The error for problems at their places; each is shown with its line of the source. */
export function celError(code: CelErrorCode, source: string, issues: readonly CelIssue[]): CelError {
  return new CelError(code, issues.map((issue) => describe(source, issue)).join("\n"));
}

/** Characters beyond ASCII count as two columns wide, as in cel-go. */
function isNarrow(character: string): boolean {
  return character.length === 0 || (character.codePointAt(0) ?? 0) < 0x80;
}

function describe(source: string, issue: CelIssue): string {
  const start = issue.offset === 0 ? 0 : source.lastIndexOf("\n", issue.offset - 1) + 1;
  const end = source.indexOf("\n", start);
  const line = source.slice(start, end === -1 ? undefined : end);
  const lineNumber = source.slice(0, start).split("\n").length;
  const column = Array.from(source.slice(start, issue.offset)).length;
  const marks = Array.from(source.slice(start, issue.offset), (character) => (isNarrow(character) ? "." : "．")).join(
    "",
  );
  const mark = isNarrow(source.charAt(issue.offset)) ? "^" : "＾";
  const shown = `\n | ${line.replaceAll("\t", " ")}\n | ${marks}${mark}`;
  return `ERROR: <input>:${lineNumber}:${column + 1}: ${issue.message}${line.length > 512 ? "" : shown}`;
}
