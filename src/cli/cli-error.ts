import type { Args } from "./command.ts";

/** The failure of a command. The message is for the caller, and contains no secret. */
export class CliError extends Error {
  readonly code: FailedExit;
  /** The next steps, as further lines; may be empty. */
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

/** Every exit code of a command, by name, with its meaning. */
export const exitCodes = {
  ok: { code: 0, meaning: "done" },
  failed: { code: 1, meaning: "failed for a reason that has no code of its own; the message says which" },
  usage: { code: 2, meaning: "the command line, a file it names or the kubeconfig is wrong; nothing was done" },
  unreachable: { code: 3, meaning: "the server could not be reached, or is not the one that is trusted" },
  refused: { code: 4, meaning: "the credentials were refused, the right is missing, or the request was denied" },
  timedOut: { code: 5, meaning: "timed out; run the same command again to resume" },
  notFound: { code: 6, meaning: "an object that was named does not exist" },
  conflict: { code: 7, meaning: "the state at the server does not allow it, for example it was decided otherwise" },
  changed: { code: 8, meaning: "policy replay found decisions that would change" },
  interrupted: { code: 130, meaning: "stopped by a signal before it was done" },
} as const;

/** How a command ends, by name; scripts read the number. */
export type ExitName = keyof typeof exitCodes;

/** How a failed command ends. */
export type FailedExit = Exclude<ExitName, "ok">;
