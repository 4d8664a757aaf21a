import type { Args } from "./command.ts";
import type { FailedExit } from "./exit-code.ts";

/** A command that cannot go on. The message is for the person who typed it, and holds no secret. */
export class CliError extends Error {
  readonly code: FailedExit;
  /** What to do next, as further lines; may be empty. */
  readonly hints: readonly string[];

  constructor(code: FailedExit, message: string, hints: readonly string[] = []) {
    super(message);
    this.name = "CliError";
    this.code = code;
    this.hints = hints;
  }
}

/** The text of an option that must have no problems. @throws CliError usage */
export function checkedText(args: Args, option: string, problemsOf: (text: string) => readonly string[]): string {
  const text = args.text(option) ?? "";
  const [problem] = problemsOf(text);
  if (problem === undefined) return text;
  throw usageError(`--${option} ${JSON.stringify(text)}: ${problem}`);
}

/** The port of `--secure-port`. @throws CliError usage */
export function securePort(args: Args): number {
  const port = args.number("secure-port") ?? 0;
  if (port <= 65_535) return port;
  throw usageError(`--secure-port ${port}: must be 0 to 65535`);
}

/** The error of a command line, or of a file that it names. */
export function usageError(message: string, hints: readonly string[] = []): CliError {
  return new CliError("usage", message, hints);
}
