/** A selector that cannot be understood or asks for a field nobody selects by; the API answers 400 with this message. */
export class SelectorError extends Error {
  readonly code: "syntax" | "unknownField";

  constructor(code: "syntax" | "unknownField", message: string) {
    super(message);
    this.name = "SelectorError";
    this.code = code;
  }
}
