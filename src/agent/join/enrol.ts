import { kubeletKubeconfig } from "../../client/build-kubeconfig.ts";
import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { Clock } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { exportSec1Pem } from "../../pki/keys.ts";
import { awaitCertificate } from "../../credentials/request/await-certificate.ts";
import { connectionFailure, type CallTarget } from "../../credentials/request/connection-failure.ts";
import { retry, type HubAccess } from "../discovery/discovery-context.ts";
import { kubernetesMinor, nodeUsages, nodeKey, type NodeKey } from "../../credentials/request/node-identity.ts";
import { ownCertificate, type OwnCertificate } from "../../credentials/proof/issued-certificate.ts";
import { JoinError, plainText } from "../../credentials/join-error.ts";
import type { JoinReport } from "./join-event.ts";
import { credentialPath } from "../../credentials/storage/certificate-folder.ts";
import { joinRecordPath, joinRecordText, type JoinFolder, type ServingWish } from "./join-folder.ts";
import { nodeRequest, outlivedCode, type NodeRequest } from "../../credentials/request/certificate-request.ts";
import { hubClient } from "../../host/hub-client.ts";

const requestTimeoutMs = 10_000;

/** The dependencies of an enrolment; times in milliseconds. */
export interface Enrolment {
  readonly nodeName: string;
  readonly folder: JoinFolder;
  readonly serving: ServingWish | undefined;
  /** Abandon a failed request and request again with a new key. */
  readonly force: boolean;
  /** The user whose credential the hub rejects: it approves no request that this user has created. */
  readonly refusedUser?: string | undefined;
  /** How long to wait for a decision. */
  readonly waitMs: number;
  /** How long an unreachable hub is retried. */
  readonly discoveryMs: number;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: (() => number) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly report: JoinReport;
}

/** The result of an enrolment; `validUntil` in milliseconds since the epoch. */
export interface Enrolled {
  readonly requestName: string;
  readonly validUntil: number;
}

/** Requests a certificate with the key of this machine, waits for it, verifies it, and writes all files. @throws JoinError */
export async function enrol(enrolment: Enrolment, access: HubAccess): Promise<Enrolled> {
  const target: CallTarget = { server: access.server, learnedFrom: access.learnedFrom, aheadMs: access.aheadMs };
  const client = clientOf(access, enrolment);
  try {
    const { key, certificate, requestName } = await credential(client, { enrolment, access, target });
    await writeCredential(enrolment, `${certificate.pem}${exportSec1Pem(key.key)}`);
    await writeHub(enrolment, access);
    return { requestName, validUntil: certificate.validUntil };
  } catch (error) {
    throw asJoinError(error, { access, target });
  } finally {
    client.close();
  }
}

/** Writes the files of the hub, the kubeconfig last: it marks a join as complete. @throws JoinError write-failed */
export async function writeHub(
  { folder, serving, report }: Pick<Enrolment, "folder" | "serving" | "report">,
  { server, caPem, proxyUrl, tlsServerName }: HubAccess,
): Promise<void> {
  await writeRecord(folder, serving);
  await folder.replace(folder.ca, caPem, 0o644);
  report({ kind: "written", path: folder.ca });
  const text = kubeletKubeconfig({
    server,
    ca: { pem: caPem },
    proxyUrl,
    tlsServerName,
    credentialFile: folder.current,
  });
  await folder.replace(folder.kubeconfig, text);
  report({ kind: "written", path: folder.kubeconfig });
  await folder.remove(folder.pendingKey);
}

/** Writes the record that the agent needs to renew the credential. @throws JoinError write-failed */
export async function writeRecord(folder: JoinFolder, serving: ServingWish | undefined): Promise<void> {
  const { certDir, kubeconfig } = folder;
  await folder.replace(joinRecordPath(certDir), joinRecordText({ kubeconfig, serving }));
}

interface Asking {
  readonly enrolment: Enrolment;
  readonly access: HubAccess;
  readonly target: CallTarget;
}

interface Credential {
  readonly key: NodeKey;
  readonly certificate: OwnCertificate;
  readonly requestName: string;
}

const deadEnds: ReadonlySet<string> = new Set(["csr-conflict", "denied", "failed"]);

async function credential(client: RemoteClient, asking: Asking): Promise<Credential> {
  const { folder, force } = asking.enrolment;
  const key = await nodeKey(folder, "keep");
  try {
    return await certified(client, key, asking);
  } catch (error) {
    if (!key.reused || !(error instanceof JoinError)) throw error;
    // A machine that was off since its request loses nothing.
    if (error.causeCode !== outlivedCode && !(force && deadEnds.has(error.code))) throw error;
    return certified(client, await nodeKey(folder, "replace"), asking);
  }
}

async function certified(client: RemoteClient, key: NodeKey, asking: Asking): Promise<Credential> {
  const { nodeName, clock, report } = asking.enrolment;
  const { caPem, aheadMs } = asking.access;
  report({ kind: "key-ready", fingerprint: key.fingerprint, reused: key.reused });
  const request = await ask(client, key, asking);
  const pem = await wait(client, request, { ...asking, key });
  const certificate = ownCertificate(pem, { spki: key.spki, nodeName, caPem, now: clock.now(), aheadMs });
  report({ kind: "issued", name: request.name, validUntil: certificate.validUntil });
  return { key, certificate, requestName: request.name };
}

function clientOf(access: HubAccess, { random, userAgent, clock }: Enrolment): RemoteClient {
  const { server, caPem, proxyUrl, tlsServerName, identity } = access;
  const way = { server, caPem, proxyUrl, tlsServerName };
  return hubClient({ ...way, ...identity, random, userAgent, timeoutMs: requestTimeoutMs, clock });
}

async function ask(client: RemoteClient, key: NodeKey, { enrolment, target }: Asking): Promise<NodeRequest> {
  const { clock, nodeName, report, signal, refusedUser } = enrolment;
  // The name depends on the key alone, so a second run creates no second request.
  const request = await retry({ clock, report, signal, timeoutMs: enrolment.discoveryMs }, async () => {
    try {
      const usages = nodeUsages(await kubernetesMinor(client));
      return await nodeRequest(client, { nodeName, key, usages, now: clock.now(), refusedUser });
    } catch (error) {
      const failure = error instanceof ConnectionError ? connectionFailure(error, target) : error;
      if (failure instanceof JoinError && failure.code === "unreachable") return failure;
      throw failure;
    }
  });
  const kind = request.found ? "request-found" : "request-created";
  report({ kind, name: request.name, fingerprint: key.fingerprint, nodeName });
  return request;
}

async function wait(
  client: RemoteClient,
  request: NodeRequest,
  { enrolment, target, key }: Asking & { readonly key: NodeKey },
): Promise<string> {
  const { name } = request;
  const { clock, report, signal } = enrolment;
  const commands = [`pratique approve csr/${name}`, `kubectl certificate approve ${name}`];
  return awaitCertificate(client, request, {
    clock,
    timeoutMs: enrolment.waitMs,
    signal,
    target,
    waitsFor: (message) => report({ kind: "left-to-approver", name, message }),
    connection: (failure) =>
      report(
        failure === undefined
          ? { kind: "reconnected", server: target.server }
          : { kind: "retrying", code: failure.code, message: failure.message },
      ),
    on: (state) =>
      report(
        state === "pending"
          ? { kind: "waiting-for-approval", name, fingerprint: key.fingerprint, commands }
          : { kind: "approved", name },
      ),
  });
}

async function writeCredential({ folder, clock, report }: Enrolment, content: string): Promise<void> {
  const path = credentialPath(folder.certDir, clock.now());
  await folder.replace(path, content);
  report({ kind: "written", path });
  await folder.makeCurrent(path);
  report({ kind: "written", path: folder.current });
}

function asJoinError(
  error: unknown,
  { access, target }: { readonly access: HubAccess; readonly target: CallTarget },
): unknown {
  if (error instanceof ConnectionError) return connectionFailure(error, target);
  if (!(error instanceof StatusError)) return error;
  const answer = plainText(error.message);
  const options = { cause: error, causeCode: error.reason };
  const { credentialName } = access;
  switch (error.reason) {
    case "Unauthorized":
      return new JoinError(
        "unauthorized",
        `the hub refuses ${credentialName} (${answer}): expired or deleted meanwhile, or not meant for authentication. Make a new token on the hub with \`pratique token create --print-join-command\` and join again; a request that was made stays`,
        options,
      );
    case "Forbidden":
      return new JoinError(
        "forbidden",
        `the hub lets ${credentialName} in but forbids the request: ${answer}. Its groups need the ClusterRole system:node-bootstrapper, as tokens of \`pratique token create\` have it`,
        options,
      );
    default:
      return new JoinError("refused", `the hub refuses the certificate request: ${answer}`, options);
  }
}
