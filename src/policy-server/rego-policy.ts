import {
  compileRego,
  type RegoOutcome,
  type RegoPolicy,
  type RegoQuestion,
  type RegoSource,
} from "../policy/rego/compile.ts";
import { toJsonText } from "../policy/rego/json.ts";
import { usualLimits } from "../policy/rego/limits.ts";
import { RegoError } from "../policy/rego/rego-error.ts";
import { OptionError } from "../apimachinery/option-error.ts";
import { reloadingPolicy, type DecidingPolicy, type Judge } from "./deciding-policy.ts";
import type { PolicyOptions } from "./policy-source.ts";
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { NamedFiles } from "../host/read-text.ts";

const maxMessages = 20;

/** A policy in Rego of a file or folder, evaluated in this process. @throws OptionError usage */
export async function openRegoPolicy(path: string, { query, world }: PolicyOptions): Promise<DecidingPolicy> {
  const now = (): number => world.clock.now();
  const read = async (): ReturnType<typeof regoSources> => regoSources(path, world, { tests: false });
  try {
    return await reloadingPolicy({
      read: async () => {
        const sources = await read();
        return {
          key: JSON.stringify(sources),
          compile: () => ({ ask: judge(preparedQuery(compileRego(sources), query), now) }),
        };
      },
      ...world,
    });
  } catch (error) {
    if (error instanceof RegoError) throw new OptionError("usage", error.message);
    throw error;
  }
}

function judge(ask: (question: RegoQuestion) => RegoOutcome, now: () => number): Judge {
  return async (input) => {
    const outcome = ask({ input, limits: usualLimits, now });
    if ("error" in outcome) return { error: outcome.error.message };
    return { json: outcome.value === undefined ? undefined : toJsonText(outcome.value) };
  };
}

function preparedQuery(policy: RegoPolicy, query: string): (question: RegoQuestion) => RegoOutcome {
  try {
    const ask = policy.prepare(query);
    const isThere = policy.rules.some(
      (rule) => rule === query || rule.startsWith(`${query}.`) || query.startsWith(`${rule}.`),
    );
    if (!isThere && !query.includes("[")) {
      const [there, more] = [
        policy.rules.slice(0, maxMessages),
        policy.rules.length > maxMessages ? " and others" : "",
      ];
      throw new OptionError(
        "usage",
        `--query ${query}: the policy has no such rule; there are: ${there.join(", ")}${more}`,
      );
    }
    return ask;
  } catch (error) {
    if (error instanceof RegoError) throw new OptionError("usage", `--query: ${error.message}`);
    throw error;
  }
}

const maxFiles = 1000;
const maxCharacters = 16_000_000;

/**
 * The Rego sources in a file, or in a folder and its subfolders. Links to files are followed, as in a mounted ConfigMap; hidden files,
 * and links to folders, are left out. @throws OptionError usage when there are none, or too many
 */
async function regoSources(
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

/** Compiles the policy of `--policy`. @throws OptionError usage with the problem and its position */
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
