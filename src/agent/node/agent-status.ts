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

/** The status of a credential. Times in milliseconds since the epoch, those of the credential by the hub's clock. */
export interface CredentialStatus extends CredentialName {
  readonly good: boolean;
  readonly server?: string;
  /** The account or node of the credential. */
  readonly subject?: string;
  /** Absent while there is none. */
  readonly expiresAt?: number;
  /** Why it cannot be read. */
  readonly problem?: string;
  /** That the hub rejects it before its expiry: since when, and with which message. */
  readonly refused?: Refused;
  /** The hub's reply to the probe of this status; absent without a probe. */
  readonly hub?: Acceptance;
  /** The agent's state of this very credential; absent where no agent has checked it. */
  readonly agent?: CredentialAgent;
}

/** What an agent did about a credential. Times in milliseconds since the epoch. */
export interface CredentialAgent {
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** Whether the hub rejected it for good. */
  readonly refused: boolean;
  /** The request on the hub. */
  readonly request?: string | undefined;
  /** The credential has expired, and the machine requests another one with its key; with the hub's condition that it waits for, where there is one. */
  readonly returning?: string | undefined;
  /** The hub's condition that the pending request waits for, where the credential is still valid. */
  readonly waitsFor?: string | undefined;
}

/** The sources of the status; nothing is written. */
export interface StatusView {
  readonly files: PrivateFiles;
  readonly now: number;
  /** Probes the hub with a credential that is valid by the clock; absent: no probe. */
  readonly ask?: ((trust: Trust) => Promise<Acceptance>) | undefined;
}

/** The status of every credential that was found. */
export async function agentStatus(
  found: readonly FoundCredential[],
  view: StatusView,
): Promise<readonly CredentialStatus[]> {
  const each = await Promise.all(found.map((one) => statusOf(one, view)));
  return each.flat();
}

async function statusOf(found: FoundCredential, view: StatusView): Promise<readonly CredentialStatus[]> {
  if (found.kind === "token") return [await tokenStatus(found.dir, view)];
  const client = await certificateStatus({ ...found, prefix: "kubelet-client" }, view);
  return found.serving === undefined
    ? [client]
    : [client, await certificateStatus({ ...found, prefix: "kubelet-server" }, view)];
}

interface CertificatePlace {
  readonly certDir: string;
  readonly kubeconfig: string;
  readonly prefix: CertificatePrefix;
}

async function certificateStatus(place: CertificatePlace, view: StatusView): Promise<CredentialStatus> {
  const folder = certificateFolder(place, view.files, undefined);
  const { text, refusals } = folder;
  // A serving certificate is presented to clients, not to the hub.
  const isShown = place.prefix === "kubelet-client";
  const kind = isShown ? "client-certificate" : "serving-certificate";
  return unlessUnreadable({ kind, path: folder.current }, async () => {
    const { now } = view;
    const address = await nodeHubAddress({ kubeconfig: place.kubeconfig, text });
    const content = await text(folder.current);
    const current = content === undefined ? undefined : readStoredCertificate(content);
    const agent = certificateAgent(await readCertificateState(folder), current, now);
    const { server } = address;
    if (current === undefined) {
      const problem = content === undefined ? "there is none yet" : "the file holds no certificate with its key";
      return { good: false, server, problem, ...agent };
    }
    const { commonName: subject, notBefore, notAfter: expiresAt, certificatesPem, keyPem } = current;
    const trust = { ...address, credentials: { clientCertPem: certificatesPem, clientKeyPem: keyPem } };
    const isOver = expiresAt <= now;
    const answer = isShown ? await answerOf(trust, { isOver, refusals: () => text(refusals) }, view) : {};
    const good = notBefore <= now && !isOver && isTaken(answer);
    return { good, server, subject, expiresAt, ...answer, ...agent };
  });
}

async function tokenStatus(dir: string, view: StatusView): Promise<CredentialStatus> {
  const folder = accessFolder(dir, undefined, view.files);
  return unlessUnreadable({ kind: "token", path: folder.token }, async () => {
    const { claims, token, ...address } = await storedAccess(folder);
    const state = await readAgentState(folder);
    const { expiresAt, namespace, serviceAccount } = claims;
    const isOver = view.now - (state?.aheadMs ?? 0) >= expiresAt;
    const place = { isOver, refusals: () => folder.text(folder.refusals) };
    const answer = await answerOf({ ...address, credentials: { token } }, place, view);
    const facts = { server: address.server, subject: `${namespace}/${serviceAccount}`, expiresAt, ...answer };
    const good = !isOver && isTaken(answer);
    // The state of an earlier token does not apply to this one.
    if (state?.expiresAt !== expiresAt) return { good, ...facts };
    const { nextAt, renewedAt, failures, lastError, refused } = state;
    return { good: good && !refused, ...facts, agent: { nextAt, renewedAt, failures, lastError, refused } };
  });
}

async function unlessUnreadable(
  name: CredentialName,
  read: () => Promise<Omit<CredentialStatus, keyof CredentialName>>,
): Promise<CredentialStatus> {
  try {
    return { ...name, ...(await read()) };
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { ...name, good: false, problem: error.message };
  }
}

type Answer = Pick<CredentialStatus, "refused" | "hub">;

/** The hub's stored rejections of a credential, and its reply now. */
async function answerOf(
  trust: Trust,
  { isOver, refusals }: { readonly isOver: boolean; readonly refusals: () => Promise<string | undefined> },
  { ask }: StatusView,
): Promise<Answer> {
  const refused = await refusalOf(trust.credentials, { text: refusals });
  const hub = isOver || ask === undefined ? undefined : await ask(trust);
  return { ...(refused && { refused }), ...(hub && { hub }) };
}

function isTaken({ refused, hub }: Answer): boolean {
  return refused === undefined && hub?.kind !== "refused";
}

/** The state of an earlier certificate does not apply to this one. */
function certificateAgent(
  state: CertificateState | undefined,
  current: StoredCertificate | undefined,
  now: number,
): Pick<CredentialStatus, "agent"> {
  if (state?.serial !== (current?.serial ?? "")) return {};
  const { nextAt, renewedAt, failures, lastError, request, waitsFor } = state;
  const isOver = current !== undefined && current.notAfter <= now;
  const waits = request === undefined ? {} : isOver ? { returning: waitsFor ?? "an answer of the hub" } : { waitsFor };
  return { agent: { nextAt, renewedAt, failures, lastError, refused: false, request, ...waits } };
}
