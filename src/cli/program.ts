import { StatusError } from "../apimachinery/status.ts";
import { allCommands, type Args, type Command, type CommandEntry, type CommandGroup, isGroup } from "./command.ts";
import { usageError, exitCodes } from "./cli-error.ts";
import { asCliError, failureOf, type GivenTexts, writeFailure } from "./failure.ts";
import { commandHelp, groupHelp, helpPlace, programHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { failureLine, wantsJsonLog } from "./log-line.ts";
import { nearest } from "../apimachinery/nearest.ts";
import { parseArguments } from "./parse-arguments.ts";
import { release } from "./release.ts";

/**
 * Runs the command that the words name and returns the exit code of the process. Never throws, never ends the process: what a command
 * throws becomes `error: …` on stderr, or a line of its log in JSON where it requests that, escaped, since servers and requesters choose
 * parts of its text.
 */
export async function runProgram(entries: readonly CommandEntry[], typed: readonly string[], io: Io): Promise<number> {
  const words = currentWords(entries, typed, io);
  try {
    return await dispatch(entries, words, io);
  } catch (error) {
    const failure = failureOf(error);
    const { exit } = failure;
    if (wantsJsonLog(entries, words)) {
      io.stderr.write(failureLine(io, failure));
      return exitCodes[exit].code;
    }
    writeFailure(io, failure);
    if (exit === "usage" && error instanceof Error && ownErrors.includes(error.name)) {
      io.stderr.write(`See '${helpLine(entries, words, io)}'.\n`);
    }
    return exitCodes[exit].code;
  }
}

const helpWords = ["help", "--help", "-h"];

/** The words with the current name in place of a deprecated one, of which it warns; also after `help`. */
function currentWords(entries: readonly CommandEntry[], words: readonly string[], io: Io): readonly string[] {
  const start = helpWords.includes(words[0] ?? "") ? 1 : 0;
  for (const { name, deprecatedName } of allCommands(entries)) {
    const old = deprecatedName?.split(" ");
    if (old === undefined || !old.every((word, at) => words[start + at] === word)) continue;
    io.stderr.write(
      `warning: the command "${io.program} ${deprecatedName}" is deprecated and works in this release only; use "${io.program} ${name}"\n`,
    );
    return words.toSpliced(start, old.length, ...name.split(" "));
  }
  return words;
}

/** By name, as some are thrown in modules that most commands do not load. */
const ownErrors = ["CliError", "OptionError", "JoinError"];

async function dispatch(entries: readonly CommandEntry[], words: readonly string[], io: Io): Promise<number> {
  const [first = "help", ...rest] = words;
  if (first === "--version") return print(`${release}\n`, io);
  if (helpWords.includes(first)) {
    return print(
      helpText(
        entries,
        rest.filter((word) => !word.startsWith("-")),
        io,
      ),
      io,
    );
  }
  if (first.startsWith("-")) {
    throw usageError(`unknown flag: ${first}`, [`Flags come after the command: ${io.program} COMMAND --flag`]);
  }
  const entry = entryOf(entries, first, io);
  if (!isGroup(entry)) return execute(entry, rest, io);
  const [second, ...others] = rest;
  if (second === undefined || second === "--help" || second === "-h") return print(groupHelp(entry, helpPlace(io)), io);
  return execute(memberOf(entry, second, io), others, io);
}

function print(text: string, io: Io): number {
  io.stdout.write(text);
  return exitCodes.ok.code;
}

async function execute(command: Command, words: readonly string[], io: Io): Promise<number> {
  const line = parseArguments(command, words);
  if (line.kind === "help") return print(commandHelp(command, helpPlace(io)), io);
  try {
    const exit = await command.run(line.args, io);
    // A function of type void may return anything.
    return exitCodes[typeof exit === "string" ? exit : "ok"].code;
  } catch (error) {
    if (!(error instanceof StatusError) || !command.options.some(({ name }) => name === "kubeconfig")) throw error;
    throw asCliError(error, withContext(command, line.args));
  }
}

/** `--context` accompanies `--kubeconfig` nearly everywhere. */
function withContext(command: Command, args: Args): GivenTexts {
  return {
    text: (name) => (command.options.some((option) => option.name === name) ? args.text(name) : undefined),
  };
}

function helpText(entries: readonly CommandEntry[], [first, second]: readonly string[], io: Io): string {
  const place = helpPlace(io);
  if (first === undefined) return programHelp(entries, place);
  const entry = entryOf(entries, first, io);
  if (!isGroup(entry)) return commandHelp(entry, place);
  return second === undefined ? groupHelp(entry, place) : commandHelp(memberOf(entry, second, io), place);
}

function entryOf(entries: readonly CommandEntry[], name: string, io: Io): CommandEntry {
  const found = entries.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, [...entries.map((entry) => entry.name), "help"]);
  throw usageError(
    `unknown command "${name}" for "${io.program}"`,
    near === undefined ? [] : [`Did you mean: ${io.program} ${near}`],
  );
}

function memberOf(group: CommandGroup, name: string, io: Io): Command {
  const found = group.commands.find((command) => command.name === `${group.name} ${name}`);
  if (found !== undefined) return found;
  const names = group.commands.map((command) => command.name.slice(group.name.length + 1));
  const near = nearest(name, names);
  throw usageError(`unknown command "${group.name} ${name}" for "${io.program}"`, [
    near === undefined ? `${group.name} has ${names.join(", ")}` : `Did you mean: ${io.program} ${group.name} ${near}`,
  ]);
}

function helpLine(entries: readonly CommandEntry[], words: readonly string[], io: Io): string {
  const [first = "", second = ""] = words;
  const names = allCommands(entries).map((command) => command.name);
  const name = [`${first} ${second}`, first].find(
    (one) => names.includes(one) || entries.some((entry) => entry.name === one),
  );
  return name === undefined ? `${io.program} --help` : `${io.program} ${name} --help`;
}
