import { dirname, join, resolve } from "node:path";
import { onFile } from "../../credentials/join-error.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { record, stateFormat, text, textList } from "../../credentials/storage/state-format.ts";

/** The files of one node, as a kubelet names them; all paths are absolute. Each failure is a JoinError write-failed that names its path. */
export interface JoinFolder {
  readonly certDir: string;
  readonly kubeconfig: string;
  /** The key of a pending request. */
  readonly pendingKey: string;
  /** The link to the credential in use. */
  readonly current: string;
  readonly ca: string;
  /** Creates the folders of credential and kubeconfig. */
  prepare(): Promise<void>;
  /** The text of a file, or undefined where there is none. */
  read(path: string): Promise<string | undefined>;
  replace(path: string, content: string, mode?: number): Promise<void>;
  /** Points `current` to another file of the folder. */
  makeCurrent(path: string): Promise<void>;
  remove(path: string): Promise<void>;
}

/** @see client-go util/certificate certificate_store */
export function joinFolder(
  paths: { readonly certDir: string; readonly kubeconfig: string },
  files: PrivateFiles,
): JoinFolder {
  const certDir = resolve(paths.certDir);
  const kubeconfig = resolve(paths.kubeconfig);
  const current = join(certDir, "kubelet-client-current.pem");
  const writing = (path: string, step: () => Promise<void>): Promise<void> =>
    onFile({ operation: "write", at: path }, step, advice);
  return {
    certDir,
    kubeconfig,
    current,
    pendingKey: join(certDir, "kubelet-client.key.tmp"),
    ca: join(certDir, "ca.crt"),
    prepare: async () => {
      for (const path of [certDir, dirname(kubeconfig)]) await writing(path, () => files.privateFolder(path));
    },
    read: (path) => onFile({ operation: "read", at: path }, () => files.textIfThere(path), advice),
    replace: (path, content, mode) => writing(path, () => files.replaceFile(path, content, mode)),
    makeCurrent: (target) =>
      writing(current, () =>
        files.replaceLink({ path: current, target, via: join(certDir, "kubelet-client-updated.pem") }),
      ),
    remove: (path) => writing(path, () => files.removeFile(path)),
  };
}

function advice(code: string | undefined): string {
  switch (code) {
    case "EACCES":
    case "EPERM":
      return "run as root, or choose places of your own with --cert-dir and --kubeconfig";
    case "EROFS":
      return "choose other places with --cert-dir and --kubeconfig";
    case "ENOSPC":
    case "EDQUOT":
      return "free some and join again";
    case "ENOTDIR":
    case "EEXIST":
    case "EISDIR":
      return "a file is where a folder should be, or a folder where a file should be; choose other places with --cert-dir and --kubeconfig";
    default:
      return "join again once this is repaired; the same join then resumes";
  }
}

/** The names of the serving certificate. Both empty: the machine's own addresses at the time. */
export interface ServingWish {
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

/** The record of a join for the agent that renews its credential. Contains no secret. */
export interface JoinRecord {
  /** The kubeconfig that uses the credential, by its absolute path; it names hub and CA. */
  readonly kubeconfig: string;
  /** Present where a serving certificate is wanted. */
  readonly serving?: ServingWish | undefined;
}

/** The path of the record in a folder of certificates. */
export function joinRecordPath(certDir: string): string {
  return join(certDir, "pratique-join.json");
}

const format = stateFormat<JoinRecord, "kubeconfig">(
  {
    kubeconfig: text,
    serving: record<ServingWish>({ names: textList, addresses: textList }, ["names", "addresses"]),
  },
  ["kubeconfig"],
);

/** The text of a record. */
export const joinRecordText: (record: JoinRecord) => string = format.print;

/** Parses a text, or returns undefined where it is no record. */
export function readJoinRecord(content: string): JoinRecord | undefined {
  const found = format.parse(content);
  return found?.kubeconfig.startsWith("/") === true ? found : undefined;
}
