import { CliError } from "./cli-error.ts";
import type { Io } from "./io.ts";

/** The text of a file that an option names. @throws CliError usage, with option, file and the code of the system */
export async function readText(option: string, file: string, io: Io): Promise<string> {
  try {
    return Buffer.from(await io.readFile(file)).toString("utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new CliError("usage", `--${option} ${file} cannot be read (${code})`);
  }
}
