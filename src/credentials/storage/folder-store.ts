import { basename, join, resolve } from "node:path";
import { onFile } from "../join-error.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { credentialKeys, type CredentialFiles, type CredentialKey, type KlusterletStore } from "./klusterlet-store.ts";

/** Its name in the folder. */
export const stateFile = "klusterlet.json";
const dataLink = "..data";
const generations = ["..credential-a", "..credential-b"] as const;

/**
 * A store in a folder that only its owner may enter, laid out as a mounted Secret is: each key is a link through one link that moves
 * atomically from a complete set of files to the next. Failures are JoinError write-failed.
 */
export function folderStore(dir: string, files: PrivateFiles): KlusterletStore {
  const folder = resolve(dir);
  const path = (...names: readonly string[]): string => join(folder, ...names);
  const at = (name: string): Promise<string | undefined> =>
    guarded(path(name), "read", () => files.textIfThere(path(name)));

  async function writeCredential(next: CredentialFiles): Promise<void> {
    await guarded(folder, "write", async () => {
      await files.privateFolder(folder);
      const current = await files.targetOf(path(dataLink)).catch(() => "");
      const generation = basename(current) === generations[0] ? generations[1] : generations[0];
      await files.privateFolder(path(generation));
      for (const key of credentialKeys) await files.replaceFile(path(generation, key), next[key]);
      await files.replaceLink({ path: path(dataLink), target: generation, via: path("..data_tmp") });
      // The kubeconfig last: for other programs it is the sign that every file that it names exists.
      for (const key of credentialKeys.toReversed()) await linked(key);
    });
  }

  async function linked(key: CredentialKey): Promise<void> {
    const target = join(dataLink, key);
    const is = await files.targetOf(path(key)).catch(() => undefined);
    if (is !== target) await files.replaceLink({ path: path(key), target, via: path(`..${key}_tmp`) });
  }

  return {
    place: folder,
    readState: () => at(stateFile),
    writeState: (text) =>
      guarded(path(stateFile), "write", async () => {
        await files.privateFolder(folder);
        await files.replaceFile(path(stateFile), text);
      }),
    readCredential: async () => {
      const found = new Map<CredentialKey, string>();
      for (const key of credentialKeys) {
        const text = await at(key);
        if (text !== undefined) found.set(key, text);
      }
      return Object.fromEntries(found);
    },
    writeCredential,
    remove: () =>
      guarded(folder, "write", async () => {
        for (const name of [...credentialKeys, dataLink, stateFile]) await files.removeFile(path(name));
        for (const generation of generations) {
          for (const key of credentialKeys) await files.removeFile(path(generation, key));
        }
      }),
  };
}

function guarded<T>(path: string, operation: "read" | "write", run: () => Promise<T>): Promise<T> {
  return onFile({ operation, at: path }, run, () => "run as its owner, or choose a place with --dir");
}
