import { allCommands, type CommandEntry } from "./command.ts";

/** The words of a command line under the names of today, and what to tell the person who typed a deprecated one. */
export interface CurrentWords {
  readonly words: readonly string[];
  /** One line without its end; undefined where the name is not deprecated. */
  readonly warning: string | undefined;
}

const helpWords = ["help", "--help", "-h"];

/** Replaces the deprecated name of a command, also behind `help`; all other words stay as they are. `program` is how the program was called. */
export function currentWords(
  entries: readonly CommandEntry[],
  words: readonly string[],
  program: string,
): CurrentWords {
  const start = helpWords.includes(words[0] ?? "") ? 1 : 0;
  const command = allCommands(entries).find(
    ({ deprecatedName }) =>
      deprecatedName !== undefined && deprecatedName.split(" ").every((word, at) => words[start + at] === word),
  );
  if (command?.deprecatedName === undefined) return { words, warning: undefined };
  const { name, deprecatedName } = command;
  return {
    words: words.toSpliced(start, deprecatedName.split(" ").length, ...name.split(" ")),
    warning: `warning: the command "${program} ${deprecatedName}" is deprecated and works in this release only; use "${program} ${name}"`,
  };
}
