import type { ExitName } from "./cli-error.ts";
import type { Io } from "./io.ts";

/** The type of an option's value; a list may be repeated and contain commas, a boolean stands alone or as `--name=false`. */
export type OptionKind = "text" | "list" | "boolean" | "integer" | "duration";

/** One row of a command's options table; parsing, help, completion and docs derive from it. */
export interface Option {
  /** Without its two dashes. */
  readonly name: string;
  /** A single letter, without its dash. */
  readonly short?: string;
  readonly kind: OptionKind;
  /** The placeholder of the value in help: `DIR`. */
  readonly value?: string;
  /** As on a command line; lists are separated by commas. */
  readonly default?: string;
  /** Set for a list whose values may contain commas: each has an option of its own. */
  readonly commas?: "kept";
  /** The only values that are accepted. */
  readonly choices?: readonly string[];
  /** What a shell completes for the value, which is then a path and must not be empty. */
  readonly completes?: "file" | "directory";
  /** Set for a path whose empty text has a meaning. */
  readonly empty?: "allowed";
  readonly description: string;
}

/** A word of the command line that is no option. */
export interface Operand {
  /** The placeholder in help: `TOKEN`. */
  readonly name: string;
  readonly required: boolean;
  /** Whether it takes all remaining words. */
  readonly many: boolean;
  /** The only values that are accepted. */
  readonly choices?: readonly string[];
  readonly description: string;
}

/** The words of a command line, validated against the table. Reading an option that is not in the table is a TypeError. */
export interface Args {
  readonly operands: readonly string[];
  /** The given text, else the default, else undefined. */
  text(option: string): string | undefined;
  /** All given values, else those of the default. */
  list(option: string): readonly string[];
  on(option: string): boolean;
  /** An integer, or a duration in milliseconds; undefined when neither given nor defaulted. */
  number(option: string): number | undefined;
}

/** An example for help and docs; `note` describes it. */
export interface Example {
  readonly line: string;
  readonly note: string;
}

/** Runs a command and returns how it ended, default ok. It never ends the process; `runProgram` turns what it throws into a message and a code. */
export type Run = (args: Args, io: Io) => Promise<ExitName | void>;

/** One command: its table and what it does. */
export interface Command {
  /** All words: `token create`. */
  readonly name: string;
  /** All words that named it in the last release; accepted with a warning, and named in the docs only. */
  readonly deprecatedName?: string;
  readonly summary: string;
  /** Paragraphs below the summary. */
  readonly details: readonly string[];
  readonly operands: readonly Operand[];
  readonly options: readonly Option[];
  readonly examples: readonly Example[];
  readonly run: Run;
}

/** The definition of a command: empty parts are left out, and each example is a note with its line. */
interface CommandDefinition
  extends
    Omit<Command, "details" | "operands" | "options" | "examples">,
    Partial<Pick<Command, "details" | "operands" | "options">> {
  readonly examples?: Readonly<Record<string, string>>;
}

/** The command of a definition. */
export function defineCommand({ examples = {}, ...given }: CommandDefinition): Command {
  const shown = Object.entries(examples).map(([note, line]) => ({ note, line }));
  return { details: [], operands: [], options: [], ...given, examples: shown };
}

/**
 * Options in the form of help, `--name VALUE = default`, each with its description or with more of its row. Without a value it is a
 * boolean; a value that ends with `...` is a list's, and the words DURATION, FILE and DIR, and those for numbers, select their kinds.
 */
export function defineOptions(
  rows: Readonly<Record<string, string | (Partial<Option> & Pick<Option, "description">)>>,
): readonly Option[] {
  return Object.entries(rows).map(([form, row]) => ({
    ...optionOf(form),
    ...(typeof row === "string" ? { description: row } : row),
  }));
}

function optionOf(form: string): Omit<Option, "description"> {
  const [usage = "", given] = form.split(" = ");
  const [name = "", shown = ""] = usage.slice(2).split(" ");
  const value = shown.replace(/\.{3}$/, "");
  const kind = shown === value ? (kinds[value] ?? "text") : "list";
  const preset = given ?? (kind === "boolean" ? "false" : undefined);
  return {
    name,
    kind,
    ...(value === "" ? {} : { value }),
    ...(preset === undefined ? {} : { default: preset }),
    ...completionOf(value),
  };
}

function completionOf(value: string): Pick<Option, "completes"> {
  if (value.startsWith("FILE")) return { completes: "file" };
  return value === "DIR" ? { completes: "directory" } : {};
}

/** By the word for the value; all others are texts. */
const kinds: Readonly<Record<string, OptionKind>> = {
  "": "boolean",
  DURATION: "duration",
  ...Object.fromEntries(["BYTES", "COUNT", "DAYS", "MB", "N", "PORT"].map((word) => [word, "integer" as const])),
};

/** Commands that share their first word. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly Command[];
}

/** An entry of the first level. */
export type CommandEntry = Command | CommandGroup;

/** Whether the entry is a group. */
export function isGroup(entry: CommandEntry): entry is CommandGroup {
  return "commands" in entry;
}

/** All commands, those in groups too, in the order of the table. */
export function allCommands(entries: readonly CommandEntry[]): readonly Command[] {
  return entries.flatMap((entry) => (isGroup(entry) ? entry.commands : [entry]));
}
