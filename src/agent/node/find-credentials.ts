import { dirname, join } from "node:path";
import { KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { JoinError } from "../../credentials/join-error.ts";
import { joinRecordPath, readJoinRecord, type ServingWish } from "../join/join-folder.ts";

/** A credential in a folder that an agent renews. */
export type FoundCredential =
  /** Written by `pratique request`. */
  | { readonly kind: "token"; readonly dir: string }
  /** Written by `pratique join`. */
  | { readonly kind: "node"; readonly certDir: string; readonly kubeconfig: string; readonly serving?: ServingWish };

/** The file operations of the search. */
export interface FolderView {
  /** The entries of a folder, empty where it is missing or may not be read. */
  readonly list: (path: string) => Promise<readonly FolderEntry[]>;
  /** The text of a file, or undefined where there is none. */
  readonly text: (path: string) => Promise<string | undefined>;
}

/** One entry of a folder; a symbolic link is no folder. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
}

const deepest = 2;
const maxFolders = 500;

/**
 * All credentials at and below the folders, two levels deep, in order of their paths.
 * @throws JoinError no-access where there is none at all
 */
export async function findCredentials(
  dirs: readonly string[],
  view: FolderView,
): Promise<readonly [FoundCredential, ...FoundCredential[]]> {
  const found = new Map<string, FoundCredential>();
  for (const dir of dirs) {
    for (const [key, one] of await below(dir, view)) found.set(key, one);
  }
  const [first, ...others] = found.values();
  if (first === undefined) {
    throw new JoinError(
      "no-access",
      `there is nothing to keep in ${dirs.join(" or ")}: join with pratique join, or ask for access with pratique request`,
    );
  }
  return [first, ...others];
}

async function below(dir: string, view: FolderView): Promise<ReadonlyMap<string, FoundCredential>> {
  const found = new Map<string, FoundCredential>();
  let folders: readonly string[] = [dir];
  let looked = 0;
  for (let level = 0; level <= deepest; level += 1) {
    const next: string[] = [];
    for (const folder of folders) {
      if ((looked += 1) > maxFolders) return found;
      const entries = await view.list(folder);
      const one = await credentialIn(folder, new Set(entries.map(({ name }) => name)), view);
      if (one !== undefined) found.set(folder, one);
      next.push(...entries.filter(({ isFolder }) => isFolder).map(({ name }) => join(folder, name)));
    }
    folders = next.toSorted();
  }
  return found;
}

async function credentialIn(
  folder: string,
  names: ReadonlySet<string>,
  view: FolderView,
): Promise<FoundCredential | undefined> {
  if (names.has("token") && names.has("kubeconfig")) return { kind: "token", dir: folder };
  const current = join(folder, "kubelet-client-current.pem");
  if (!names.has("kubelet-client-current.pem")) return undefined;
  const text = await view.text(joinRecordPath(folder));
  const record = text === undefined ? undefined : readJoinRecord(text);
  if (record !== undefined) {
    const { kubeconfig, serving } = record;
    return { kind: "node", certDir: folder, kubeconfig, ...(serving === undefined ? {} : { serving }) };
  }
  // A join of an earlier release wrote no record; its kubeconfig is beside the folder unless another path was given.
  for (const kubeconfig of [join(dirname(folder), "kubelet.conf"), join(folder, "kubelet.conf")]) {
    if (await uses(kubeconfig, current, view)) return { kind: "node", certDir: folder, kubeconfig };
  }
  return undefined;
}

async function uses(path: string, current: string, view: FolderView): Promise<boolean> {
  const text = await view.text(path);
  if (text === undefined) return false;
  try {
    const config = parseKubeconfig(text, path);
    return [...config.users.values()].some(({ texts }) => texts.get("client-certificate") === current);
  } catch (error) {
    if (error instanceof KubeconfigError) return false;
    throw error;
  }
}
