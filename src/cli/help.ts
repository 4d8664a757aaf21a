import { allCommands, type Command, type CommandEntry, type CommandGroup, type Option } from "./command.ts";
import { exitCodes } from "./cli-error.ts";
import type { Io } from "./io.ts";

/** The environment of a help text. */
export interface HelpPlace {
  /** The name under which the program was called. */
  readonly program: string;
  /** The width of a line, in characters. */
  readonly width: number;
}

const [minWidth, maxWidth] = [60, 100];

/** The width of the terminal, within bounds, else a hundred characters. */
export function helpPlace({ program, stdout }: Io): HelpPlace {
  const { isTty, columns = maxWidth } = stdout;
  return { program, width: isTty ? Math.min(maxWidth, Math.max(minWidth, columns)) : maxWidth };
}

/** The text of `pratique --help`. */
export function programHelp(entries: readonly CommandEntry[], { program, width }: HelpPlace): string {
  const rows = allCommands(entries).map(({ name, summary }) => ({ left: name, right: summary }));
  const codes = Object.values(exitCodes).map(({ code, meaning }) => ({ left: String(code), right: meaning }));
  return text([
    ...wrapped(
      "Pratique brings machines into trust: a hub with a Kubernetes API and its own CA, and the agent that joins it.",
      width,
    ),
    "",
    "Usage:",
    `  ${program} COMMAND [FLAGS]`,
    "",
    "Commands:",
    ...columns(rows, width),
    "",
    "Exit codes:",
    ...columns(codes, width),
    "",
    `'${program} COMMAND --help' says more about a command.`,
  ]);
}

/** The text of `pratique token --help`. */
export function groupHelp(group: CommandGroup, { program, width }: HelpPlace): string {
  return text([
    ...wrapped(group.summary, width),
    "",
    "Usage:",
    `  ${program} ${group.name} COMMAND [FLAGS]`,
    "",
    "Commands:",
    ...columns(
      group.commands.map((command) => ({ left: command.name.slice(group.name.length + 1), right: command.summary })),
      width,
    ),
    "",
    `'${program} ${group.name} COMMAND --help' says more about a command.`,
  ]);
}

/** The text of `pratique COMMAND --help`. */
export function commandHelp(command: Command, { program, width }: HelpPlace): string {
  const operands = command.operands.map((operand) => ({ left: operand.name, right: operand.description }));
  return text([
    ...wrapped(command.summary, width),
    ...command.details.flatMap((paragraph) => ["", ...wrapped(paragraph, width)]),
    "",
    "Usage:",
    `  ${usageLine(command, program)}`,
    ...section("Examples", exampleLines(command, program)),
    ...section("Arguments", columns(operands, width)),
    ...section(
      "Flags",
      columns(
        [
          ...command.options.map((option) => ({ left: optionForm(option), right: optionText(option) })),
          { left: "-h, --help", right: "show this text" },
        ],
        width,
      ),
    ),
  ]);
}

/** `pratique token create [TOKEN] [FLAGS]`. */
export function usageLine(command: Command, program: string): string {
  const operands = command.operands.map(({ name, required, many }) => {
    const shown = many ? `${name}...` : name;
    return required ? shown : `[${shown}]`;
  });
  return [program, command.name, ...operands, "[FLAGS]"].join(" ");
}

/** `-o, --output FORMAT`. */
export function optionForm(option: Option): string {
  const short = option.short === undefined ? "    " : `-${option.short}, `;
  return `${short}--${option.name}${option.kind === "boolean" ? "" : ` ${option.value ?? "VALUE"}`}`;
}

/** The description with choices and default. */
export function optionText(option: Option): string {
  const choices = option.choices === undefined ? "" : `: ${option.choices.join(", ")}`;
  const silent = option.default === undefined || (option.kind === "boolean" && option.default === "false");
  return `${option.description}${choices}${silent ? "" : ` (default ${option.default})`}`;
}

interface Row {
  readonly left: string;
  readonly right: string;
}

function exampleLines(command: Command, program: string): readonly string[] {
  return command.examples.flatMap(({ note, line }) => [`  # ${note}`, `  ${program} ${line}`]);
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ["", `${title}:`, ...lines];
}

function columns(rows: readonly Row[], width: number): readonly string[] {
  // A long flag gets a line of its own rather than widen the column for all.
  const leftmost = Math.min(width < 90 ? 26 : 34, Math.max(0, ...rows.map((row) => row.left.length)));
  return rows.flatMap(({ left, right }) => {
    const [first = "", ...others] = wrapped(right, width - leftmost - 4);
    const indent = " ".repeat(leftmost + 4);
    const head =
      left.length > leftmost ? [`  ${left}`, `${indent}${first}`] : [`  ${left.padEnd(leftmost)}  ${first}`.trimEnd()];
    return [...head, ...others.map((line) => `${indent}${line}`)];
  });
}

function wrapped(paragraph: string, room: number): readonly string[] {
  const lines: string[] = [];
  for (const word of paragraph.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function text(lines: readonly string[]): string {
  return `${lines.join("\n")}\n`;
}
