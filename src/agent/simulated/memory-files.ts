import { basename, dirname } from "node:path";
import type { PrivateFiles } from "../../host/private-files.ts";

/** Files of one simulated machine, in memory; they are as long as the process. */
export function memoryFiles(): PrivateFiles {
  const files = new Map<string, string>();
  const links = new Map<string, string>();
  const resolved = (path: string): string => links.get(path) ?? path;
  return {
    privateFolder: async () => undefined,
    replaceFile: async (path, content) => {
      files.set(resolved(path), typeof content === "string" ? content : Buffer.from(content).toString("utf8"));
    },
    textIfThere: async (path) => files.get(resolved(path)),
    namesIn: async (folder) =>
      [...files.keys(), ...links.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    targetOf: async (path) => {
      const target = links.get(path);
      if (target === undefined) throw Object.assign(new TypeError(`no link ${path}`), { code: "ENOENT" });
      return target;
    },
    replaceLink: async ({ path, target }) => {
      links.set(path, target);
    },
    removeFile: async (path) => {
      files.delete(path);
      links.delete(path);
    },
    removeUnfinished: async () => undefined,
  };
}
