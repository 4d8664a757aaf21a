import type { ClientCredentials } from "../../client/transport.ts";
import type { CredentialName } from "../../credentials/credential-event.ts";
import { accessFolder, readAgentState, storedAccess } from "../../credentials/storage/access-folder.ts";
import type { Acceptance } from "../../credentials/proof/credential-probe.ts";
import {
  certificateFolder,
  readCertificateState,
  type CertificatePrefix,
  type CertificateState,
} from "../../credentials/storage/certificate-folder.ts";
import { JoinError } from "../../credentials/join-error.ts";
import type { FoundCredential } from "./find-credentials.ts";
import { readStoredCertificate, type StoredCertificate } from "../../credentials/storage/stored-certificate.ts";
import { nodeHubAddress } from "../../credentials/node-client.ts";
import type { PrivateFiles } from "../../host/private-files.ts";
import { refusalOf, type Refused } from "../../credentials/proof/credential-probe-manager.ts";
import type { Trust } from "../../credentials/trust/trust-bundle-manager.ts";

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
  readonly refused?: Refused;
  /** What the hub said when it was asked for this status; absent where it was not asked. */
  readonly hub?: Acceptance;
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
  /** What the hub says that the request under way waits for, where the credential is still good. */
  readonly waitsFor?: string | undefined;
}

/** How to look; nothing is written. */
export interface StatusView {
  readonly files: PrivateFiles;
  readonly now: number;
  /** Asks the hub of a credential that is good by the clock; absent: no hub is asked. */
  readonly ask?: ((trust: Trust) => Promise<Acceptance>) | undefined;
}

/** How everything that was found stands. */
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
  { files, now, ask }: StatusView,
): Promise<CredentialStatus> {
  const folder = certificateFolder(where, files, undefined);
  const kind = where.prefix === "kubelet-client" ? "client-certificate" : "serving-certificate";
  const name: CredentialName = { kind, path: folder.current };
  try {
    const address = await nodeHubAddress({ kubeconfig, text: folder.text });
    const { server } = address;
    const text = await folder.text(folder.current);
    const current = text === undefined ? undefined : readStoredCertificate(text);
    const state = await readCertificateState(folder);
    const agent = certificateAgent(state, current, now);
    if (current === undefined) {
      const problem = text === undefined ? "there is none yet" : "the file holds no certificate with its key";
      return { ...name, good: false, server, problem, ...agent };
    }
    const { commonName: subject, notBefore, notAfter: expiresAt, certificatesPem, keyPem } = current;
    const credentials = { clientCertPem: certificatesPem, clientKeyPem: keyPem };
    // A serving certificate is shown to others, not to the hub.
    const isShown = kind === "client-certificate";
    const refused = isShown ? await refusedNow(folder, credentials) : {};
    const hub = isShown && now < expiresAt ? await askedHub({ ...address, credentials }, ask) : {};
    const isTaken = refused.refused === undefined && hub.hub?.kind !== "refused";
    const good = notBefore <= now && now < expiresAt && isTaken;
    return { ...name, good, server, subject, expiresAt, ...refused, ...hub, ...agent };
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { ...name, good: false, problem: error.message };
  }
}

async function askedHub(trust: Trust, ask: StatusView["ask"]): Promise<Pick<CredentialStatus, "hub">> {
  return ask === undefined ? {} : { hub: await ask(trust) };
}

async function refusedNow(
  { refusals, text }: { readonly refusals: string; readonly text: (path: string) => Promise<string | undefined> },
  credentials: ClientCredentials,
): Promise<Pick<CredentialStatus, "refused">> {
  const refused = await refusalOf(credentials, { text: () => text(refusals) });
  return refused === undefined ? {} : { refused };
}

/** What was written about an earlier certificate says nothing of this one. */
function certificateAgent(
  state: CertificateState | undefined,
  current: StoredCertificate | undefined,
  now: number,
): Pick<CredentialStatus, "agent"> {
  if (state?.serial !== (current?.serial ?? "")) return {};
  const { nextAt, renewedAt, failures, lastError, request, waitsFor } = state;
  const isOver = current !== undefined && current.notAfter <= now;
  const returning = isOver && request !== undefined ? (waitsFor ?? "an answer of the hub") : undefined;
  const waits = request === undefined || isOver ? undefined : waitsFor;
  return { agent: { nextAt, renewedAt, failures, lastError, refused: false, request, returning, waitsFor: waits } };
}

async function tokenStatus(dir: string, { files, now, ask }: StatusView): Promise<CredentialStatus> {
  const folder = accessFolder(dir, undefined, files);
  const name: CredentialName = { kind: "token", path: folder.token };
  try {
    const { claims, token, ...address } = await storedAccess(folder);
    const state = await readAgentState(folder);
    const { expiresAt, namespace, serviceAccount } = claims;
    // What was written about an earlier token says nothing of this one.
    const own = state?.expiresAt === expiresAt ? state : undefined;
    const reported = await refusedNow(folder, { token });
    const isOver = now - (state?.aheadMs ?? 0) >= expiresAt;
    const hub = isOver ? {} : await askedHub({ ...address, credentials: { token } }, ask);
    const subject = `${namespace}/${serviceAccount}`;
    const facts = { server: address.server, subject, expiresAt, ...reported, ...hub };
    const isTaken = reported.refused === undefined && hub.hub?.kind !== "refused";
    const good = !isOver && own?.refused !== true && isTaken;
    if (own === undefined) return { ...name, good, ...facts };
    const { nextAt, renewedAt, failures, lastError, refused } = own;
    return { ...name, good, ...facts, agent: { nextAt, renewedAt, failures, lastError, refused } };
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { ...name, good: false, problem: error.message };
  }
}
