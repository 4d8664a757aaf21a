/** A selector that cannot be parsed or names a field that is not selectable; the API answers 400 with this message. */
export class SelectorError extends Error {
  readonly code: "syntax" | "unknownField";

  constructor(code: "syntax" | "unknownField", message: string) {
    super(message);
    this.name = "SelectorError";
    this.code = code;
  }
}
