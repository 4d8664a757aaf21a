import type { Args, Option } from "./command.ts";
import type { Io } from "./io.ts";
import { jsonText } from "./json-text.ts";
import { textTable, type TextTable } from "./text-table.ts";

/** `-o table|json|yaml`, for every command whose result is data. */
export const outputOption: Option = {
  name: "output",
  short: "o",
  kind: "text",
  value: "FORMAT",
  choices: ["table", "json", "yaml"],
  default: "table",
  description: "how to print the result",
};

/** One result in both of its forms. */
export interface Result {
  /** For json and yaml: all of it, as it is. */
  readonly data: unknown;
  /** For people; made only when asked for. */
  readonly table: () => TextTable | string;
}

/** Prints a result in the form that `-o` names. JSON and YAML escape whatever a terminal would obey; tables do so cell by cell. */
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
