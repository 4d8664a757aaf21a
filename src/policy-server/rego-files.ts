import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { compileRego, type RegoPolicy, type RegoSource } from "../policy/rego/compile.ts";
import { RegoError } from "../policy/rego/rego-error.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import type { NamedFiles } from "../host/read-text.ts";

const maxFiles = 1000;
const maxCharacters = 16_000_000;

/** The Rego sources in a file, or in a folder and those below it. Links to files are followed, as a ConfigMap is mounted by them; hidden
 * files, and links to folders, are left out. @throws OptionError usage when there are none, or too many */
export async function regoSources(
  path: string,
  from: NamedFiles,
  filter: { readonly tests: boolean },
): Promise<readonly RegoSource[]> {
  const files = await filesAt(path, from);
  const sources: RegoSource[] = [];
  let total = 0;
  for (const file of files) {
    if (!filter.tests && file !== path && file.endsWith("_test.rego")) continue;
    const text = Buffer.from(await from.readFile(file)).toString("utf8");
    total += text.length;
    if (total > maxCharacters)
      throw new OptionError("usage", `${path} holds more than ${maxCharacters} characters of Rego`);
    sources.push({ file, text });
  }
  if (sources.length === 0) throw new OptionError("usage", `${path} holds no .rego files`);
  return sources;
}

async function filesAt(path: string, from: NamedFiles): Promise<readonly string[]> {
  const found = await stat(resolve(from.cwd, path)).catch(() => undefined);
  if (found === undefined) throw new OptionError("usage", `${path} is not there, or may not be read`);
  if (!found.isDirectory()) return [path];
  const files: string[] = [];
  const folders = [path];
  for (const folder of folders) {
    const entries = await readdir(resolve(from.cwd, folder), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) folders.push(join(folder, entry.name));
      else if (entry.name.endsWith(".rego") && (await isFile(entry, resolve(from.cwd, folder))))
        files.push(join(folder, entry.name));
    }
    if (files.length + folders.length > maxFiles)
      throw new OptionError("usage", `${path} holds more than ${maxFiles} files`);
  }
  return files;
}

async function isFile(entry: Dirent, folder: string): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  const found = await stat(join(folder, entry.name)).catch(() => undefined);
  return found?.isFile() === true;
}

/** Compiles what `--policy` names. @throws OptionError usage with what is wrong and where */
export async function policyAt(
  path: string,
  from: NamedFiles,
  filter: { readonly tests: boolean },
): Promise<RegoPolicy> {
  const sources = await regoSources(path, from, filter);
  try {
    return compileRego(sources);
  } catch (error) {
    if (error instanceof RegoError) throw new OptionError("usage", error.message);
    throw error;
  }
}
