import { readFile } from "node:fs/promises";
import { HubError } from "../apimachinery/hub-error.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";

/** How a program reads the files of its options. */
export interface NamedFiles {
  /** The base of relative paths. */
  readonly cwd: string;
  /** Reads a file by its path, relative to `cwd`. Rejects as node:fs does. */
  readonly readFile: (path: string) => Promise<Uint8Array>;
}

/** The text of a file that an option names. @throws OptionError usage, with option, file and the next step */
export async function readText(
  option: string,
  file: string,
  { readFile }: Pick<NamedFiles, "readFile">,
): Promise<string> {
  try {
    return Buffer.from(await readFile(file)).toString("utf8");
  } catch (error) {
    throw new OptionError("usage", `--${option}: ${systemErrorText(error, { operation: "read", at: file })}`);
  }
}

/** The text of a file that an option of the hub names; `option` begins the message. @throws HubError options, with file and the next step */
export async function optionText(option: string, file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const why = systemErrorText(error, { operation: "read", at: file });
    throw new HubError("options", `${option}: ${why}`, { cause: error });
  }
}
