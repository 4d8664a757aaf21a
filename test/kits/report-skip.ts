import { appendFileSync } from "node:fs";

/** Says in one line why a group of tests is skipped. `PRATIQUE_SKIPS_FILE` collects the lines of all test files, so that CI can count what did not run. */
export function reportSkip(title: string, why: string): void {
  const line = `skipped: ${title}: ${why}\n`;
  process.stderr.write(line);
  const file = process.env["PRATIQUE_SKIPS_FILE"] ?? "";
  if (file !== "") appendFileSync(file, line);
}
