import type { ClientCredentials } from "../client/transport.ts";
import type { CredentialName } from "./agent-event.ts";
import { accessFolder } from "./access-folder.ts";
import { credentialDigest } from "./ask-acceptance.ts";
import { readAgentState } from "./agent-state.ts";
import { certificateFolder, type CertificatePrefix } from "./certificate-folder.ts";
import { readCertificateState, type CertificateState } from "./certificate-state.ts";
import { JoinError } from "./join-error.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { keptAccess } from "./kept-access.ts";
import { readKeptCertificate } from "./kept-certificate.ts";
import { nodeHubAddress } from "./node-hub.ts";
import type { PrivateFiles } from "./private-files.ts";
import { isRefused, readRefusals } from "./refusal-state.ts";

/** How a credential stands. Times in milliseconds since the epoch, those of the credential by the hub's clock. */
export interface CredentialStatus extends CredentialName {
  readonly good: boolean;
  readonly server?: string;
  /** Whom it names. */
  readonly subject?: string;
  /** Absent where there is none yet. */
  readonly expiresAt?: number;
  /** Why it cannot be read. */
  readonly problem?: string;
  /** That the hub does not take it, before its end: since when, and what it said. */
  readonly refused?: { readonly since: number; readonly message: string };
  /** Of this very credential; absent where no agent has looked at it. */
  readonly agent?: CredentialAgent;
}

/** What an agent did about a credential. Times in milliseconds since the epoch. */
export interface CredentialAgent {
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Whether the hub refused it for good. */
  readonly refused: boolean;
  /** The request that is on the hub. */
  readonly request?: string | undefined;
  /** The credential has expired, and the machine asks to come back; with what it waits for, where the hub has said so. */
  readonly returning?: string | undefined;
}

/** How to look: nobody is asked, and nothing is written. */
export interface StatusView {
  readonly files: PrivateFiles;
  readonly now: number;
}

/** How everything that was found stands, without asking a hub. */
export async function agentStatus(
  found: readonly FoundCredential[],
  view: StatusView,
): Promise<readonly CredentialStatus[]> {
  const each = await Promise.all(found.map((one) => statusOf(one, view)));
  return each.flat();
}

async function statusOf(found: FoundCredential, view: StatusView): Promise<readonly CredentialStatus[]> {
  switch (found.kind) {
    case "token":
      return [await tokenStatus(found.dir, view)];
    case "node": {
      const { certDir, kubeconfig, serving } = found;
      const client = await certificateStatus({ certDir, kubeconfig, prefix: "kubelet-client" }, view);
      if (serving === undefined) return [client];
      return [client, await certificateStatus({ certDir, kubeconfig, prefix: "kubelet-server" }, view)];
    }
  }
}

async function certificateStatus(
  {
    kubeconfig,
    ...where
  }: { readonly certDir: string; readonly kubeconfig: string; readonly prefix: CertificatePrefix },
  { files, now }: StatusView,
): Promise<CredentialStatus> {
  const folder = certificateFolder(where, files, undefined);
  const kind = where.prefix === "kubelet-client" ? "client-certificate" : "serving-certificate";
  const name: CredentialName = { kind, path: folder.current };
  try {
    const { server } = await nodeHubAddress({ kubeconfig, text: folder.text });
    const text = await folder.text(folder.current);
    const current = text === undefined ? undefined : readKeptCertificate(text);
    const state = await readCertificateState(folder);
    // What was written about an earlier certificate says nothing of this one.
    const own = state?.serial === (current?.serial ?? "") ? state : undefined;
    const isOver = current !== undefined && current.notAfter <= now;
    const agent = own === undefined ? {} : { agent: certificateAgent(own, isOver) };
    if (current === undefined) {
      const problem = text === undefined ? "there is none yet" : "the file holds no certificate with its key";
      return { ...name, good: false, server, problem, ...agent };
    }
    const { commonName: subject, notBefore, notAfter: expiresAt } = current;
    // A serving certificate is shown to others, not to the hub.
    const refused =
      kind === "client-certificate" ? await refusedNow(folder, { clientCertPem: current.certificatesPem }) : {};
    const good = notBefore <= now && now < expiresAt && refused.refused === undefined;
    return { ...name, good, server, subject, expiresAt, ...refused, ...agent };
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { ...name, good: false, problem: error.message };
  }
}

/** What was written about another credential says nothing of this one. */
async function refusedNow(
  { refusals, text }: { readonly refusals: string; readonly text: (path: string) => Promise<string | undefined> },
  credentials: ClientCredentials,
): Promise<Pick<CredentialStatus, "refused">> {
  const found = await readRefusals({ text: () => text(refusals) });
  if (!isRefused(found) || found.credential !== credentialDigest(credentials)) return {};
  const { since, message } = found;
  return { refused: { since, message } };
}

function certificateAgent(state: CertificateState, isOver: boolean): CredentialAgent {
  const { nextAt, renewedAt, failures, lastError, request, waitsFor } = state;
  const returning = isOver && request !== undefined ? (waitsFor ?? "an answer of the hub") : undefined;
  return { nextAt, renewedAt, failures, lastError, refused: false, request, returning };
}

async function tokenStatus(dir: string, { files, now }: StatusView): Promise<CredentialStatus> {
  const folder = accessFolder(dir, undefined, files);
  const name: CredentialName = { kind: "token", path: folder.token };
  try {
    const { server, claims, token } = await keptAccess(folder);
    const state = await readAgentState(folder);
    const { expiresAt, namespace, serviceAccount } = claims;
    // What was written about an earlier token says nothing of this one.
    const own = state?.expiresAt === expiresAt ? state : undefined;
    const told = await refusedNow(folder, { token });
    const facts = { server, subject: `${namespace}/${serviceAccount}`, expiresAt, ...told };
    const isOver = now - (state?.aheadMs ?? 0) >= expiresAt;
    const good = !isOver && own?.refused !== true && told.refused === undefined;
    if (own === undefined) return { ...name, good, ...facts };
    const { nextAt, renewedAt, failures, lastError, refused } = own;
    return { ...name, good, ...facts, agent: { nextAt, renewedAt, failures, lastError, refused } };
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { ...name, good: false, problem: error.message };
  }
}
