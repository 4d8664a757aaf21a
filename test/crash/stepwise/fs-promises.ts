// Stands in for node:fs/promises in a program that is to be killed at each of its steps.
import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { stepwise, type Act } from "./steps.ts";

const handleActs = ["writeFile", "chown", "chmod", "sync", "close"] as const;

function stepwiseHandle(handle: FileHandle): FileHandle {
  for (const name of handleActs) {
    const act = handle[name].bind(handle);
    Object.defineProperty(handle, name, { value: stepwise(`file.${name}`, act) });
  }
  return handle;
}

const opened = async (...args: Parameters<typeof promises.open>): Promise<FileHandle> =>
  stepwiseHandle(await promises.open(...args));

export const access: Act = stepwise("access", promises.access);
export const chmod: Act = stepwise("chmod", promises.chmod);
export const chown: Act = stepwise("chown", promises.chown);
export const mkdir: Act = stepwise("mkdir", promises.mkdir);
export const open: Act = stepwise("open", opened);
export const readdir: Act = stepwise("readdir", promises.readdir);
export const readFile: Act = stepwise("readFile", promises.readFile);
export const readlink: Act = stepwise("readlink", promises.readlink);
export const rename: Act = stepwise("rename", promises.rename);
export const rm: Act = stepwise("rm", promises.rm);
export const stat: Act = stepwise("stat", promises.stat);
export const symlink: Act = stepwise("symlink", promises.symlink);
