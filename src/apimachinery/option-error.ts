import { HubError } from "./hub-error.ts";

/** The cause: the option or a file that it names, a missing permission, or another problem of this machine. */
export type OptionErrorCode = "usage" | "refused" | "failed";

/** An invalid option of a program. The message is for the user, begins with the option, and contains no secret. */
export class OptionError extends Error {
  readonly code: OptionErrorCode;
  /** The next steps, as further lines; may be empty. */
  readonly hints: readonly string[];

  constructor(code: OptionErrorCode, message: string, hints: readonly string[] = []) {
    super(message);
    this.name = "OptionError";
    this.code = code;
    this.hints = hints;
  }
}

/** Converts an error of a configuration reader: a `HubError` to an `OptionError`, all others unchanged. */
export function asOptionError(error: unknown): unknown {
  return error instanceof HubError ? new OptionError("usage", error.message) : error;
}
