import { CliError } from "./cli-error.ts";
import type { Io } from "./io.ts";
import { systemErrorText } from "../core/system-error.ts";

/** The text of a file that an option names. @throws CliError usage, with option, file and what to do */
export async function readText(option: string, file: string, io: Io): Promise<string> {
  try {
    return Buffer.from(await io.readFile(file)).toString("utf8");
  } catch (error) {
    throw new CliError("usage", `--${option}: ${systemErrorText(error, { operation: "read", at: file })}`);
  }
}
