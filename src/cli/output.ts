import type { Args, Option } from "./command.ts";
import type { Io } from "./io.ts";
import { jsonText, printable } from "./printable.ts";
import { truncate } from "../apimachinery/truncate.ts";

/** `-o table|json|yaml`, for every command whose result is data. */
export const outputOption: Option = {
  name: "output",
  short: "o",
  kind: "text",
  value: "FORMAT",
  choices: ["table", "json", "yaml"],
  default: "table",
  description: "the output format",
};

/** One result in both of its forms. */
interface Result {
  /** For json and yaml: the complete data. */
  readonly data: unknown;
  /** For people; built on demand. */
  readonly table: () => TextTable | string;
}

/** Prints a result in the form that `-o` names. JSON and YAML escape terminal control characters; tables do so cell by cell. */
export async function writeResult(args: Args, io: Io, result: Result): Promise<void> {
  switch (args.text("output")) {
    case "json":
      io.stdout.write(`${jsonText(result.data, 2)}\n`);
      return;
    case "yaml": {
      const { yamlText } = await import("./yaml-text.ts");
      io.stdout.write(yamlText(result.data));
      return;
    }
    default: {
      const table = result.table();
      io.stdout.write(typeof table === "string" ? table : textTable(table));
    }
  }
}

/** Headings and rows; cells may contain any text, they are escaped when printed. */
export interface TextTable {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Columns as kubectl prints them: three blanks between, none at the end. Each cell is escaped to one line. */
export function textTable({ headings, rows }: TextTable): string {
  const cells = [headings, ...rows.map((row) => row.map(cellText))];
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("   ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Several blanks in a row would look like the gap between two columns. */
function cellText(text: string): string {
  return printable(text).replaceAll(/(?<= ) /g, "\\u{20}");
}

/** Titles in a column of `width`, each with its value escaped to a line; those without a value are left out. */
export function titledLines(
  rows: readonly (readonly [title: string, value: string | undefined])[],
  width: number,
  indent = "  ",
): readonly string[] {
  return rows.flatMap(([title, value]) =>
    value === undefined ? [] : [`${indent}${title.padEnd(width)}${printable(value)}`],
  );
}

const maxCellWidth = 72;

/** Text for one cell of a table: a longer text is cut and ends with `…`. */
export function cut(text: string): string {
  return truncate(text, maxCellWidth);
}
