import { join } from "node:path";
import { onFile } from "./file-errors.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";
import { nonEmptyText, stateFormat, text, textMap } from "./state-format.ts";

/** What a machine remembers of its request, so that asking again goes on with it. */
export interface AskedRequest {
  readonly server: string;
  readonly name: string;
  /** Given by the hub. */
  readonly uid: string;
  readonly fingerprint: string;
  readonly caPin: string;
  readonly profile?: string;
  readonly claims?: Readonly<Record<string, string>>;
}

/** The files of a machine's access; everything in it is readable by its owner only. */
export interface AccessFolder {
  readonly dir: string;
  readonly key: string;
  readonly request: string;
  readonly ca: string;
  readonly token: string;
  readonly kubeconfig: string;
  readonly bootstrapToken: string;
  /** What the agent that renews has done and will do; holds no secret. */
  readonly state: string;
  /** That the hub refuses the token; holds no secret, and is there only then. */
  readonly refusals: string;
  /** @throws JoinError write-failed */
  prepare(): Promise<void>;
  /** @throws JoinError write-failed */
  write(path: string, content: string, access?: FileAccess): Promise<void>;
  /** @throws JoinError write-failed */
  remove(path: string): Promise<void>;
  text(path: string): Promise<string | undefined>;
  /** What was asked before, or undefined where nothing was, or nothing that can be read. */
  asked(): Promise<AskedRequest | undefined>;
}

/** The folder `dir`; nothing is touched yet. `keyFile` is a key of the operator's own in place of one made here. */
export function accessFolder(dir: string, keyFile: string | undefined, files: PrivateFiles): AccessFolder {
  const request = join(dir, "request.json");
  const attempt = (path: string, act: () => Promise<void>): Promise<void> =>
    onFile({ operation: "write", at: path }, act);
  return {
    dir,
    key: keyFile ?? join(dir, "key.pem"),
    request,
    ca: join(dir, "ca.crt"),
    token: join(dir, "token"),
    kubeconfig: join(dir, "kubeconfig"),
    bootstrapToken: join(dir, "bootstrap-token"),
    state: join(dir, "agent.json"),
    refusals: join(dir, "refused.json"),
    prepare: () => attempt(dir, () => files.privateFolder(dir)),
    write: (path, content, access) => attempt(path, () => files.replaceFile(path, content, access)),
    remove: (path) => attempt(path, () => files.removeFile(path)),
    text: (path) => files.textIfThere(path),
    asked: async () => format.parse(await files.textIfThere(request)),
  };
}

const format = stateFormat<AskedRequest, "server" | "name" | "uid" | "fingerprint" | "caPin">(
  {
    server: nonEmptyText,
    name: nonEmptyText,
    uid: nonEmptyText,
    fingerprint: nonEmptyText,
    caPin: nonEmptyText,
    profile: text,
    claims: textMap,
  },
  ["server", "name", "uid", "fingerprint", "caPin"],
);
