import { join } from "node:path";
import { JoinError } from "./join-error.ts";
import type { FileAccess, PrivateFiles } from "./private-files.ts";
import { systemErrorCode, systemErrorText } from "../core/system-error.ts";

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
  async function attempt(what: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      const why = systemErrorText(error, { operation: "write", at: what });
      throw new JoinError("write-failed", why, { cause: error, causeCode: systemErrorCode(error) });
    }
  }
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
    asked: async () => askedIn(await files.textIfThere(request)),
  };
}

const fields = ["server", "name", "uid", "fingerprint", "caPin"] as const;

function askedIn(text: string | undefined): AskedRequest | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const { server, name, uid, fingerprint, caPin, profile, claims } = value as Partial<Record<string, unknown>>;
    const found = { server, name, uid, fingerprint, caPin };
    if (!isComplete(found)) return undefined;
    return {
      ...found,
      ...(typeof profile === "string" ? { profile } : {}),
      ...(isTexts(claims) ? { claims } : {}),
    };
  } catch {
    return undefined;
  }
}

function isComplete(found: Readonly<Record<(typeof fields)[number], unknown>>): found is AskedRequest & typeof found {
  return fields.every((field) => typeof found[field] === "string" && found[field] !== "");
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return typeof value === "object" && value !== null && Object.values(value).every((one) => typeof one === "string");
}
