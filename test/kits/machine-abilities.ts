import { mkdtempSync, rmdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reportSkip } from "./report-skip.ts";

/** Whether tests can give files to other users; where they cannot, says so of the tests of these titles. */
export function isRootFor(...titles: readonly string[]): boolean {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) for (const title of titles) reportSkip(title, "only root can give files to others", "root");
  return isRoot;
}

/** Whether the file system here says when a file was made; where it does not, says so of the tests of these titles. */
export function knowsBirthFor(...titles: readonly string[]): boolean {
  const made = mkdtempSync(join(tmpdir(), "pratique-born-"));
  const { birthtimeNs } = statSync(made, { bigint: true });
  rmdirSync(made);
  const knows = birthtimeNs > 0n;
  if (!knows) for (const title of titles) reportSkip(title, "files have no time of birth here", "birth-time");
  return knows;
}
