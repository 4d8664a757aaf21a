import { StatusError } from "../apimachinery/status.ts";
import { allCommands, type Args, type Command, type CommandEntry, isGroup } from "./command.ts";
import { CliError } from "./cli-error.ts";
import { currentWords } from "./deprecated-name.ts";
import { exitCodes } from "./exit-code.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { failureOf } from "./failure.ts";
import { commandHelp, groupHelp, helpPlace, programHelp } from "./help.ts";
import type { Io } from "./io.ts";
import { failureLine, wantsJsonLog } from "./json-log.ts";
import { nearest } from "../apimachinery/nearest.ts";
import { parseArguments } from "./parse-arguments.ts";
import { printable } from "./printable.ts";
import { release } from "./release.ts";
import type { GivenTexts } from "./why/why-hint.ts";

/**
 * Runs the command that the words name and yields the exit code of the process. Never throws, never ends the process: what a
 * command throws becomes `error: …` on stderr, or a line of its log in JSON where it asks for that, escaped, since servers and requesters have a say in its text.
 */
export async function runProgram(entries: readonly CommandEntry[], typed: readonly string[], io: Io): Promise<number> {
  const { words, warning } = currentWords(entries, typed, io.program);
  if (warning !== undefined) io.stderr.write(`${warning}\n`);
  try {
    return await dispatch(entries, words, io);
  } catch (error) {
    const failure = failureOf(error);
    const { exit, message, hints } = failure;
    if (wantsJsonLog(entries, words)) {
      io.stderr.write(failureLine(io, failure));
      return exitCodes[exit].code;
    }
    for (const line of [`error: ${message}`, ...hints]) io.stderr.write(`${printable(line)}\n`);
    if (exit === "usage" && (error instanceof CliError || error instanceof OptionError)) {
      io.stderr.write(`See '${helpLine(entries, words, io)}'.\n`);
    }
    return exitCodes[exit].code;
  }
}

async function dispatch(entries: readonly CommandEntry[], words: readonly string[], io: Io): Promise<number> {
  const [first = "help", ...rest] = words;
  if (first === "--version") {
    io.stdout.write(`${release}\n`);
    return exitCodes.ok.code;
  }
  if (first === "help" || first === "--help" || first === "-h") return help(entries, rest, io);
  if (first.startsWith("-")) {
    throw new CliError("usage", `unknown flag: ${first}`, [
      `Flags come after the command: ${io.program} COMMAND --flag`,
    ]);
  }
  const entry = entryOf(entries, first, io);
  if (!isGroup(entry)) return execute(entry, rest, io);
  const [second, ...others] = rest;
  if (second === undefined || second === "--help" || second === "-h") return help(entries, [first], io);
  return execute(memberOf(entry, second, io), others, io);
}

async function execute(command: Command, words: readonly string[], io: Io): Promise<number> {
  const line = parseArguments(command, words);
  if (line.kind === "help") {
    io.stdout.write(commandHelp(command, helpPlace(io)));
    return exitCodes.ok.code;
  }
  try {
    return exitCodes[await command.run(line.args, io)].code;
  } catch (error) {
    if (!(error instanceof StatusError) || !command.options.some(({ name }) => name === "kubeconfig")) throw error;
    const { exit, message, hints } = failureOf(error, withContext(command, line.args));
    throw new CliError(exit === "ok" ? "failed" : exit, message, hints);
  }
}

/** `--context` goes with `--kubeconfig` nearly everywhere. */
function withContext(command: Command, args: Args): GivenTexts {
  return {
    text: (name) => (command.options.some((option) => option.name === name) ? args.text(name) : undefined),
  };
}

function help(entries: readonly CommandEntry[], words: readonly string[], io: Io): number {
  const [first, second] = words.filter((word) => !word.startsWith("-"));
  io.stdout.write(helpText(entries, { first, second }, io));
  return exitCodes.ok.code;
}

function helpText(
  entries: readonly CommandEntry[],
  { first, second }: { readonly first: string | undefined; readonly second: string | undefined },
  io: Io,
): string {
  if (first === undefined) return programHelp(entries, helpPlace(io));
  const entry = entryOf(entries, first, io);
  if (!isGroup(entry)) return commandHelp(entry, helpPlace(io));
  return second === undefined
    ? groupHelp(entry, helpPlace(io))
    : commandHelp(memberOf(entry, second, io), helpPlace(io));
}

function entryOf(entries: readonly CommandEntry[], name: string, io: Io): CommandEntry {
  const found = entries.find((entry) => entry.name === name);
  if (found !== undefined) return found;
  const near = nearest(name, [...entries.map((entry) => entry.name), "help"]);
  throw new CliError(
    "usage",
    `unknown command "${name}" for "${io.program}"`,
    near === undefined ? [] : [`Did you mean: ${io.program} ${near}`],
  );
}

function memberOf(group: Extract<CommandEntry, { commands: unknown }>, name: string, io: Io): Command {
  const found = group.commands.find((command) => command.name === `${group.name} ${name}`);
  if (found !== undefined) return found;
  const names = group.commands.map((command) => command.name.slice(group.name.length + 1));
  const near = nearest(name, names);
  throw new CliError("usage", `unknown command "${group.name} ${name}" for "${io.program}"`, [
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
