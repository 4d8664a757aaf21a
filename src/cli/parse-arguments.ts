import { parseArgs } from "node:util";
import { DurationError, parseDuration } from "../apimachinery/duration.ts";
import { type CliError, usageError } from "./cli-error.ts";
import type { Args, Command, Option } from "./command.ts";
import { nearest } from "../apimachinery/nearest.ts";

/** The result of parsing: words, or the request for help. */
export type ParsedLine = { readonly kind: "help" } | { readonly kind: "args"; readonly args: Args };

type Value = string | boolean | number | readonly string[];

const helpOption: Option = { name: "help", short: "h", kind: "boolean", description: "show this text" };

/**
 * Parses the words after a command's name by its table. Every value is validated here, so a command reads only options that it declares.
 * @throws CliError usage
 */
export function parseArguments(command: Command, words: readonly string[]): ParsedLine {
  const options = [...command.options, helpOption];
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      options.map((option) => [
        option.name,
        {
          type: option.kind === "boolean" ? "boolean" : "string",
          ...(option.short === undefined ? {} : { short: option.short }),
        },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given = new Map<string, Value>();
  const operands: string[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.kind === "positional") {
      refuseLooseBoolean(token.value, tokens[at - 1], options);
      operands.push(token.value);
    } else if (token.kind === "option") {
      const option = options.find((one) => one.name === token.name);
      if (option === undefined) throw unknownOption(token.rawName, options);
      given.set(option.name, merged(option, given.get(option.name), givenValue(option, token)));
    }
  }
  if (given.get("help") === true) return { kind: "help" };
  checkOperands(command, operands);
  return { kind: "args", args: argsOf(command, operands, given) };
}

type OptionToken = {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
};

function givenValue(option: Option, { rawName, value, inlineValue }: OptionToken): Value {
  if (option.kind === "boolean") return booleanOf(option, value);
  // A following word that looks like a flag is far more likely a forgotten value.
  const forgotten = inlineValue !== true && value !== undefined && /^-./.test(value);
  if (value !== undefined && !forgotten) return valueOf(option, value);
  const hint = forgotten ? `; one that begins with a dash is written --${option.name}=…` : "";
  throw usageError(`${rawName} needs a value${hint}`);
}

type Token = { readonly kind: string; readonly name?: string };

/** `--flag false` would else set the flag, and parse the word as an argument. @throws CliError usage */
function refuseLooseBoolean(word: string, before: Token | undefined, options: readonly Option[]): void {
  if (before?.kind !== "option" || !/^(true|false)$/i.test(word)) return;
  const option = options.find(({ name, kind }) => name === before.name && kind === "boolean");
  if (option === undefined) return;
  throw usageError(`--${option.name} takes its value with an equals sign: --${option.name}=${word}`);
}

function valueOf(option: Option, text: string): Value {
  switch (option.kind) {
    case "boolean":
      return booleanOf(option, text);
    case "integer":
      return integerOf(option, text);
    case "duration":
      return durationOf(option, text);
    case "list":
      path(option, text);
      return (option.commas === "kept" ? [text] : text.split(","))
        .filter((part) => part !== "")
        .map((part) => choice(option, part));
    case "text":
      return choice(option, path(option, text));
  }
}

/** An empty path, such as that of an unset variable, would be the working folder. */
function path(option: Option, text: string): string {
  if (text !== "" || option.completes === undefined || option.empty === "allowed") return text;
  const what = option.completes === "directory" ? "a folder" : "a file";
  const example = option.default === undefined ? "" : `, such as ${option.default}`;
  throw usageError(`--${option.name} is empty; name ${what}${example}`);
}

function merged(option: Option, before: Value | undefined, value: Value): Value {
  return option.kind === "list" && Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

function booleanOf(option: Option, text: string | undefined): boolean {
  if (text === undefined || /^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw usageError(`--${option.name}=${text}: must be true or false`);
}

function integerOf(option: Option, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw usageError(`--${option.name} ${text}: must be a whole number`);
  return Number(text);
}

function durationOf(option: Option, text: string): number {
  try {
    const ms = parseDuration(text);
    if (ms >= 0) return ms;
  } catch (error) {
    if (error instanceof DurationError) throw usageError(`--${option.name}: ${error.message}`);
    throw error;
  }
  throw usageError(`--${option.name} ${text}: must not be negative`);
}

function choice(option: Option, text: string): string {
  if (option.choices === undefined || option.choices.includes(text)) return text;
  throw usageError(`--${option.name} ${text}: must be one of ${option.choices.join(", ")}`);
}

function unknownOption(raw: string, options: readonly Option[]): CliError {
  const names = raw.startsWith("--") ? options.map((option) => option.name) : [];
  const near = nearest(raw.slice(2), names);
  return usageError(`unknown flag: ${raw}`, near === undefined ? [] : [`Did you mean --${near}?`]);
}

function checkOperands(command: Command, operands: readonly string[]): void {
  const { operands: slots } = command;
  const missing = slots.find((slot, at) => slot.required && operands[at] === undefined);
  if (missing !== undefined) throw usageError(`${missing.name} is missing: ${missing.description}`);
  const extra = slots.at(-1)?.many === true ? undefined : operands[slots.length];
  if (extra !== undefined) {
    throw usageError(
      slots.length === 0
        ? `${command.name} takes no arguments, but there is "${extra}"`
        : `one argument too many: "${extra}"`,
    );
  }
  checkChoices(slots, operands);
}

function checkChoices(slots: Command["operands"], operands: readonly string[]): void {
  for (const [at, { name, choices }] of slots.entries()) {
    const word = operands[at];
    if (word === undefined || choices === undefined || choices.includes(word)) continue;
    const near = nearest(word, choices);
    const hints = near === undefined ? [] : [`Did you mean ${near}?`];
    throw usageError(`${name} "${word}": must be one of ${choices.join(", ")}`, hints);
  }
}

function argsOf(command: Command, operands: readonly string[], given: ReadonlyMap<string, Value>): Args {
  const values = new Map<string, Value>(given);
  for (const option of command.options) {
    if (!values.has(option.name) && option.default !== undefined)
      values.set(option.name, valueOf(option, option.default));
  }
  const find = (name: string): Value | undefined => {
    if (!command.options.some((option) => option.name === name)) {
      throw new TypeError(`${command.name} declares no option ${name}`);
    }
    return values.get(name);
  };
  return {
    operands,
    text: (name) => {
      const value = find(name);
      return typeof value === "string" ? value : undefined;
    },
    list: (name) => {
      const value = find(name);
      return Array.isArray(value) ? (value as readonly string[]) : [];
    },
    on: (name) => find(name) === true,
    number: (name) => {
      const value = find(name);
      return typeof value === "number" ? value : undefined;
    },
  };
}
