import { spawnSync } from "node:child_process";

/**
 * Writes a program that is run by a test. Another process writes it: a file that this one has open for writing is inherited by what other
 * threads start meanwhile, and cannot be run until those have ended (ETXTBSY).
 */
export function writeExecutable(path: string, text: string, mode = 0o755): void {
  const { status, stderr } = spawnSync("sh", ["-c", 'cat >"$0" && chmod "$1" "$0"', path, mode.toString(8)], {
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new TypeError(`${path} cannot be written: ${stderr}`);
}
