// Stands in for node:fs/promises in a program that is to be killed at each of its steps.
import fileSystem, { type FileHandle } from "node:fs/promises";
import { stepwise } from "./steps.ts";

const handleActs = ["writeFile", "chown", "chmod", "sync", "close"] as const;

function stepwiseHandle(handle: FileHandle): FileHandle {
  for (const name of handleActs) {
    const act = handle[name].bind(handle);
    Object.defineProperty(handle, name, { value: stepwise(`file.${name}`, act) });
  }
  return handle;
}

const opened = async (...args: Parameters<typeof fileSystem.open>): Promise<FileHandle> =>
  stepwiseHandle(await fileSystem.open(...args));

/** These give something that is iterated, not a promise. */
const iterated: ReadonlySet<string> = new Set(["watch", "glob"]);

function stoodIn(name: string, value: unknown): unknown {
  if (typeof value !== "function" || iterated.has(name)) return value;
  return stepwise(name, name === "open" ? opened : (value as () => Promise<unknown>));
}

/** All that node:fs/promises exports: its functions with a step before each call, the rest as it is. */
export const standIn: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries(fileSystem).map(([name, value]) => [name, stoodIn(name, value)]),
);
