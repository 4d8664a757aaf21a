import { join } from "node:path";
import { onFile, JoinError } from "../join-error.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";
import { nonEmptyText, stateFormat, text, textMap, count, finite, flag, time } from "./state-format.ts";
import { KubeconfigError, parseKubeconfig } from "../../client/kubeconfig.ts";
import { resolveKubeconfig, type ResolvedKubeconfig } from "../../client/resolve-kubeconfig.ts";
import type { NodeHubAddress } from "../node-client.ts";
import { tokenClaims, type TokenClaims } from "../proof/token-claims.ts";

/** The stored request of a machine, which a later run resumes. */
export interface AskedRequest {
  readonly server: string;
  readonly name: string;
  /** Set by the hub. */
  readonly uid: string;
  readonly fingerprint: string;
  readonly caPin: string;
  readonly profile?: string | undefined;
  readonly claims?: Readonly<Record<string, string>> | undefined;
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
  /** What the renewing agent has done and will do; contains no secret. */
  readonly state: string;
  /** That the hub rejects the token; contains no secret, and exists only then. */
  readonly refusals: string;
  /** @throws JoinError write-failed */
  prepare(): Promise<void>;
  /** @throws JoinError write-failed */
  write(path: string, content: string, access?: FileAccess): Promise<void>;
  /** @throws JoinError write-failed */
  remove(path: string): Promise<void>;
  text(path: string): Promise<string | undefined>;
  /** The stored request, or undefined where there is none, or none that can be read. */
  asked(): Promise<AskedRequest | undefined>;
}

/** The folder `dir`; touches nothing yet. `keyFile` is a key of the operator's own in place of a generated one. */
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
    asked: async () => askedFormat.parse(await files.textIfThere(request)),
  };
}

const askedFormat = stateFormat<AskedRequest, "server" | "name" | "uid" | "fingerprint" | "caPin">(
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

/** What the agent stores beside the token. Times in milliseconds since the epoch, by this machine's clock. */
export interface AgentState {
  /** The expiry in the token that this is about. */
  readonly expiresAt: number;
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** How far this clock is ahead of the hub's. */
  readonly aheadMs?: number | undefined;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Whether the hub rejected the token for good. */
  readonly refused: boolean;
}

const stateOfAgent = stateFormat<AgentState, "expiresAt" | "nextAt">(
  {
    expiresAt: time,
    nextAt: time,
    renewedAt: time,
    aheadMs: finite,
    failures: count,
    lastError: text,
    refused: flag,
  },
  ["expiresAt", "nextAt"],
);

/** Writes it, with times in RFC 3339. @throws JoinError write-failed */
export async function writeAgentState(folder: AccessFolder, state: AgentState, access?: FileAccess): Promise<void> {
  await folder.write(folder.state, stateOfAgent.print(state), access);
}

/** The stored state, or undefined where there is none, or none that can be read. */
export async function readAgentState(folder: AccessFolder): Promise<AgentState | undefined> {
  const stored = stateOfAgent.parse(await folder.text(folder.state));
  return stored && { failures: 0, refused: false, ...stored };
}

/** The access in a folder. The token is secret. */
export interface StoredAccess extends NodeHubAddress {
  readonly token: string;
  readonly claims: TokenClaims;
}

/** Reads the access that `pratique request` has written. @throws JoinError no-access where there is none, or none that can be read */
export async function storedAccess(folder: AccessFolder): Promise<StoredAccess> {
  const kubeconfig = await folder.text(folder.kubeconfig);
  const token = (await folder.text(folder.token))?.trim();
  if (kubeconfig === undefined || token === undefined || token === "") {
    throw new JoinError("no-access", `there is no access in ${folder.dir}: ask for it with pratique request`);
  }
  const claims = tokenClaims(token);
  if (claims === undefined) {
    throw new JoinError(
      "no-access",
      `${folder.token} holds no token of a ServiceAccount: request again with pratique request`,
    );
  }
  const { server, caPem, proxyUrl, tlsServerName } = await contextIn(kubeconfig, token, folder);
  if (caPem === undefined) {
    throw new JoinError(
      "no-access",
      `${folder.kubeconfig} names no CA, and no other is trusted: request again with pratique request`,
    );
  }
  return { server, caPem, proxyUrl, tlsServerName, token, claims };
}

async function contextIn(text: string, token: string, folder: AccessFolder): Promise<ResolvedKubeconfig> {
  try {
    const readFile = async (path: string): Promise<Uint8Array> =>
      Buffer.from(path === folder.token ? token : ((await folder.text(path)) ?? ""));
    return await resolveKubeconfig(parseKubeconfig(text, folder.kubeconfig), { readFile });
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new JoinError("no-access", `the kubeconfig cannot be used: ${error.message}`, { cause: error });
  }
}
