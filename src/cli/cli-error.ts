import type { ExitName } from "./exit-code.ts";

/** A command that cannot go on. The message is for the person who typed it, and holds no secret. */
export class CliError extends Error {
  readonly code: Exclude<ExitName, "ok">;
  /** What to do next, as further lines; may be empty. */
  readonly hints: readonly string[];

  constructor(code: Exclude<ExitName, "ok">, message: string, hints: readonly string[] = []) {
    super(message);
    this.name = "CliError";
    this.code = code;
    this.hints = hints;
  }
}
