import { printable } from "./printable.ts";

/** Headings and rows; cells may hold anything, they are escaped when printed. */
export interface TextTable {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Columns side by side as kubectl prints them: three blanks between, none at the end. Cells are escaped to one line each. */
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

/** Titles in a column as wide as `width`, each with its value escaped to a line; those without a value are left out. */
export function titledLines(
  rows: readonly (readonly [title: string, value: string | undefined])[],
  width: number,
  indent = "  ",
): readonly string[] {
  return rows.flatMap(([title, value]) =>
    value === undefined ? [] : [`${indent}${title.padEnd(width)}${printable(value)}`],
  );
}
