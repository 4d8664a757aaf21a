import { allCommands, type Command, type CommandEntry } from "./command.ts";
import { exitCodes } from "./cli-error.ts";
import { optionForm, optionText, usageLine } from "./help.ts";

/** The page `docs/cli.md`, from the tables alone. */
export function cliDocs(entries: readonly CommandEntry[]): string {
  const commands = allCommands(entries);
  return [
    "# The command line",
    "",
    "This page is generated from the command tables in `src/cli` by `npx vitest run src/cli/docs.test.ts -u`.",
    "",
    "The program is `pratique`; installed as `kubectl-pratique` as well, it is the kubectl plugin `kubectl pratique`.",
    "",
    ...table(
      ["Command", ""],
      commands.map(({ name, summary }) => [`[\`${name}\`](#${name.replaceAll(" ", "-")})`, summary]),
    ),
    "",
    "## In common",
    "",
    "- Results go to standard output, everything else to standard error. `-o json` and `-o yaml` print all of a result.",
    "- A command that talks to a server takes `--kubeconfig`, else the files of `KUBECONFIG`, else `~/.kube/config`, else `./pratique-data/admin.kubeconfig`, the file that a hub with the default data directory writes.",
    "- Colour and a spinner appear on a terminal only, and not if `NO_COLOR` is set or `TERM` is `dumb`.",
    "- Text that a requester or a server chose is printed with control, invisible and direction-changing characters escaped as `\\u{1b}`.",
    "- A list may be given as `--flag a,b` or as `--flag a --flag b`; a boolean as `--flag` or `--flag=false`. Durations are written `90s`, `15m`, `24h`.",
    "",
    "## Exit codes",
    "",
    ...table(
      ["Code", "Meaning"],
      Object.values(exitCodes).map(({ code, meaning }) => [String(code), meaning]),
    ),
    ...commands.flatMap(section),
    "",
  ].join("\n");
}

function section(command: Command): readonly string[] {
  const operands = command.operands.map(({ name, description }) => [`\`${name}\``, description]);
  const options = command.options.map((option) => [`\`${optionForm(option).trim()}\``, optionText(option)]);
  return [
    "",
    `## ${command.name}`,
    "",
    `${command.summary}.`,
    ...command.details.flatMap((paragraph) => ["", paragraph]),
    ...deprecation(command),
    "",
    "```sh",
    usageLine(command, "pratique"),
    ...command.examples.flatMap(({ note, line }) => ["", `# ${note}`, `pratique ${line}`]),
    "```",
    ...titled(["Argument", ""], operands),
    ...titled(["Flag", ""], options),
  ];
}

function deprecation({ deprecatedName }: Command): readonly string[] {
  if (deprecatedName === undefined) return [];
  return [
    "",
    `The deprecated name \`${deprecatedName}\` works in this release only, with a warning on standard error.`,
  ];
}

function titled(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return rows.length === 0 ? [] : ["", ...table(headings, rows)];
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => escaped(cell)).join(" | ")} |`;
  return [line(headings), line(headings.map(() => "---")), ...rows.map(line)];
}

function escaped(cell: string): string {
  const text = cell.replaceAll("|", "\\|");
  return text.startsWith("`") ? text : text.replaceAll("<", "\\<");
}
