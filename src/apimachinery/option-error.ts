import { HubError } from "./hub-error.ts";

/** What is wrong: the option or a file that it names, a right that is missing, or something else on this machine. */
export type OptionErrorCode = "usage" | "refused" | "failed";

/** An option of a program that cannot be used. The message is for the person who gave it, begins with the option, and contains no secret. */
export class OptionError extends Error {
  readonly code: OptionErrorCode;
  /** What to do next, as further lines; may be empty. */
  readonly hints: readonly string[];

  constructor(code: OptionErrorCode, message: string, hints: readonly string[] = []) {
    super(message);
    this.name = "OptionError";
    this.code = code;
    this.hints = hints;
  }
}

/** What a reader of configuration threw: its `HubError` as an `OptionError`, all else unchanged. */
export function asOptionError(error: unknown): unknown {
  return error instanceof HubError ? new OptionError("usage", error.message) : error;
}
