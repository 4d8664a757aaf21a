import { createOrGet, getOrUndefined } from "../../client/api-errors.ts";
import { tokenFileKubeconfig } from "../../client/build-kubeconfig.ts";
import { ConnectionError } from "../../client/client.ts";
import type { RemoteClient } from "../../client/remote.ts";
import type { Clock, RandomBytes } from "../../apimachinery/clock.ts";
import { dnsSubdomainProblems, generatedName } from "../../apimachinery/names.ts";
import { findCondition } from "../../apimachinery/conditions.ts";
import { StatusError } from "../../apimachinery/status.ts";
import {
  accessRequests,
  missingProfileIn,
  notIssuedIn,
  readKey,
  sealBinding,
  type AccessRequest,
} from "../../apis/access-request.ts";
import { certificatesOfBundle, PinError } from "../../trust/pins.ts";
import { pairingWords } from "../../trust/pairing-words.ts";
import { provePossession } from "../../trust/possession.ts";
import { openAnswer, SealError, type PlainAnswer } from "../../trust/seal.ts";
import { accessFolder, type AccessFolder, type AskedRequest } from "../../credentials/storage/access-folder.ts";
import { accessKey, type AccessKey } from "./access-key.ts";
import { connectionFailure, type CallTarget } from "../../credentials/request/connection-failure.ts";
import { readCaPins } from "../discovery/cluster-info-read.ts";
import { discoverByPin, type SeenHub } from "../discovery/discover-by-pin.ts";
import { parseEndpoint } from "../discovery/endpoint.ts";
import { JoinError, plainText, stopIfAborted } from "../../credentials/join-error.ts";
import type { JoinReport } from "../join/join-event.ts";
import { privateFiles, type PrivateFiles } from "../../host/private-files.ts";
import { hubClient } from "../../host/hub-client.ts";

/** The parameters of an access request; times in milliseconds. */
export interface RequestAccessOptions {
  readonly endpoint: string;
  readonly pins: readonly string[];
  readonly profile?: string | undefined;
  /** Default: the host name and five characters, the same for each run. */
  readonly name?: string | undefined;
  readonly hostname: string;
  readonly claims?: Readonly<Record<string, string>> | undefined;
  readonly dir: string;
  /** A private key of the operator's own. */
  readonly keyFile?: string | undefined;
  /** How long to wait for a decision. */
  readonly waitMs: number;
  readonly discoveryTimeoutMs: number;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal?: AbortSignal | undefined;
  readonly userAgent: string;
  readonly files?: PrivateFiles;
}

/** The result of an access request. */
export interface AccessGranted {
  readonly server: string;
  readonly name: string;
  readonly kubeconfig: string;
  readonly tokenFile: string;
  /** RFC 3339, set by the hub. */
  readonly expiresAt: string;
  /** The file of a bootstrap token, where the hub granted one. */
  readonly bootstrapTokenFile: string | undefined;
}

const pollMs = 2000;
const requestTimeoutMs = 10_000;

/**
 * Requests access for a machine without any credential: discovers the hub's CA, posts its public key with a proof of possession of the
 * private one, shows the pairing words, waits for the approvers, opens the sealed answer and writes a kubeconfig. Another run with the
 * same folder resumes the same request. @throws JoinError
 */
export async function requestAccess(options: RequestAccessOptions, report: JoinReport): Promise<AccessGranted> {
  const { clock, signal, userAgent } = options;
  const endpoint = parseEndpoint(options.endpoint);
  const pins = readCaPins(options.pins);
  const folder = accessFolder(options.dir, options.keyFile, options.files ?? privateFiles);
  if (options.name !== undefined) requireRequestName(options.name);
  // A key of the operator's own is validated before anything is created.
  if (options.keyFile !== undefined) await accessKey(folder, { isOwn: true, comment: options.hostname });
  await folder.prepare();
  const key = await accessKey(folder, { isOwn: options.keyFile !== undefined, comment: options.hostname });
  report({ kind: "key-ready", fingerprint: key.public.fingerprint, reused: key.reused });
  const context = { clock, timeoutMs: options.discoveryTimeoutMs, report, signal, userAgent };
  const hub = await discoverByPin(endpoint, pins, context);
  const target: CallTarget = { server: hub.server, aheadMs: hub.aheadMs };
  const client = hubClient({ server: hub.server, caPem: hub.caPem, userAgent, timeoutMs: requestTimeoutMs, clock });
  const asking: Asking = { options, report, folder, key, hub, client };
  try {
    const asked = await ask(asking);
    const request = await answered(asking, asked);
    return await keep(asking, request);
  } catch (error) {
    if (error instanceof ConnectionError) throw connectionFailure(error, target);
    if (error instanceof StatusError) throw refusal(error);
    throw error;
  } finally {
    client.close();
  }
}

/** @throws JoinError bad-node-name */
function requireRequestName(name: string): void {
  const [problem] = name === "" ? ["it is empty"] : dnsSubdomainProblems(name);
  if (problem === undefined) return;
  throw new JoinError(
    "bad-node-name",
    `--name ${JSON.stringify(plainText(name, 100))} cannot be the name of an access request: ${problem}`,
  );
}

interface Asking {
  readonly options: RequestAccessOptions;
  readonly report: JoinReport;
  readonly folder: AccessFolder;
  readonly key: AccessKey;
  readonly hub: SeenHub;
  readonly client: RemoteClient;
}

/** The request on the hub, created if it does not exist. @throws JoinError csr-conflict where the name is another machine's */
async function ask(asking: Asking): Promise<AskedRequest> {
  const { options, report, folder, key, hub } = asking;
  const { fingerprint } = key.public;
  const before = await earlierRequest(asking);
  const name = options.name ?? before?.name ?? ownName(options);
  const resumed: Partial<AskedRequest> = before?.name === name ? before : {};
  const { object: request, created } = await onHub(asking, name, resumed.name !== undefined);
  const { profile = resumed.profile, claims = resumed.claims } = options;
  const asked = {
    server: hub.server,
    name,
    uid: request.metadata.uid ?? "",
    fingerprint,
    caPin: hub.caPin,
    profile,
    claims,
  };
  await folder.write(folder.request, `${JSON.stringify(asked, undefined, 2)}\n`);
  const words = await pairingWords(asked);
  report({ kind: "access-asked", name, found: !created, fingerprint, words, vouchedBy: hub.vouchedBy });
  return asked;
}

/** The stored request to the same hub with the same key. */
async function earlierRequest({ folder, key, hub }: Asking): Promise<AskedRequest | undefined> {
  const before = await folder.asked();
  return before?.caPin === hub.caPin && before.fingerprint === key.public.fingerprint ? before : undefined;
}

function ownName({ hostname, random }: RequestAccessOptions): string {
  const plain = hostname
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, "-")
    .replaceAll(/^[^a-z0-9]+/g, "")
    .slice(0, 50);
  return generatedName(`${plain.replace(/[^a-z0-9]+$/, "") || "machine"}-`, random);
}

type OnHub = Awaited<ReturnType<typeof createOrGet<AccessRequest>>>;

/** An existing request is resumed before a new one is posted: the rules for new ones may have changed meanwhile. */
async function onHub(asking: Asking, name: string, isResumed: boolean): Promise<OnHub> {
  const there = isResumed ? await getOrUndefined<AccessRequest>(asking.client, accessRequests, { name }) : undefined;
  const answer = there === undefined ? await posted(asking, name) : { object: there, created: false };
  if (!answer.created) requireSameRequest(answer.object, asking);
  return answer;
}

function posted({ options, key, hub, client }: Asking, name: string): Promise<OnHub> {
  const { profile, hostname, claims = {} } = options;
  const { fingerprint, kind, text } = key.public;
  const spec = {
    pubKey: `${text} ${hostname}`,
    ...(profile !== undefined && { profile }),
    hostname,
    ...(Object.keys(claims).length > 0 && { claims }),
    proof: provePossession(key.key, kind, { name, fingerprint, caPin: hub.caPin }),
  };
  const object = { apiVersion: "access.pratique.dev/v1alpha1", kind: "AccessRequest", metadata: { name }, spec };
  return createOrGet<AccessRequest>(client, accessRequests, object);
}

/** @throws JoinError csr-conflict for a request of another key, or for another profile */
function requireSameRequest(request: AccessRequest, { options, key }: Asking): void {
  const { metadata, spec, status } = request;
  // On Kubernetes the controller writes it, which may not have processed the request yet.
  const fingerprint = status?.fingerprint ?? readKey(request)?.fingerprint;
  if (fingerprint !== key.public.fingerprint) {
    throw new JoinError(
      "csr-conflict",
      `the hub has a request ${metadata.name} of another key; ask under another --name`,
    );
  }
  if (options.profile === undefined || options.profile === spec.profile) return;
  const there = spec.profile === undefined ? "the default profile" : `profile "${plainText(spec.profile)}"`;
  throw new JoinError(
    "csr-conflict",
    `the request ${metadata.name} of this machine is for ${there} and cannot be changed; to request profile "${options.profile}", give another --name`,
  );
}

/** The decided request. @throws JoinError denied, failed, deleted, timeout-waiting, aborted */
async function answered({ options, report, client }: Asking, asked: AskedRequest): Promise<AccessRequest> {
  const { name, uid, fingerprint } = asked;
  const { clock, signal } = options;
  const until = clock.now() + options.waitMs;
  const words = (await pairingWords(asked)).join(" ");
  const commands = [`pratique approve accessrequest/${name} --words "${words}"`];
  const reportWait = waitReports(name, report);
  for (let reported = false; ; reported = true) {
    const request = await getOrUndefined<AccessRequest>(client, accessRequests, { name });
    // Another object with the same name is another request.
    if (request?.metadata.uid !== uid) {
      throw new JoinError("deleted", `the request ${name} is gone from the hub; ask again`);
    }
    const { status = {} } = request;
    if (status.ready === true) return request;
    requireOpen(request);
    reportWait(status);
    if (!reported) report({ kind: "waiting-for-access", name, fingerprint, commands, until });
    const leftMs = until - clock.now();
    if (leftMs <= 0) {
      throw new JoinError("timeout-waiting", `${unanswered(name, status)}; run the same command again to resume`);
    }
    await clock.sleep(Math.min(pollMs, leftMs), signal);
    stopIfAborted(signal);
  }
}

type Status = NonNullable<AccessRequest["status"]>;

function obstacleIn(status: Status): ReturnType<typeof notIssuedIn> {
  return status.accepted === true ? notIssuedIn(status) : undefined;
}

/** Reports what blocks an approver or the hub, on each change. */
function waitReports(name: string, report: JoinReport): (status: Status) => void {
  let blocked: string | undefined;
  let noProfile: string | undefined;
  return (status) => {
    const obstacle = obstacleIn(status);
    if (obstacle !== undefined && obstacle.message !== blocked) {
      const { reason, message } = obstacle;
      report({ kind: "access-blocked", name, reason: plainText(reason), message: plainText(message) });
    }
    blocked = obstacle?.message;
    const missing = status.accepted === true ? undefined : missingProfileIn(status);
    if (missing !== undefined && missing !== noProfile) {
      report({ kind: "access-profile-missing", name, message: plainText(missing) });
    }
    noProfile = missing;
  };
}

function unanswered(name: string, status: Status): string {
  const obstacle = obstacleIn(status);
  if (obstacle === undefined) return `the request ${name} is not answered yet; it stays on the hub`;
  const { reason, message } = obstacle;
  return `the request ${name} was approved, and access cannot be issued yet (${plainText(reason)}): ${plainText(message)}`;
}

/** @throws JoinError for a request that will never be answered */
function requireOpen({ metadata: { name }, status = {} }: AccessRequest): void {
  if (status.denied === true) throw denied(`the request ${name} was denied`, status);
  if (status.revoked === true) throw denied(`the access of ${name} was revoked`, status);
  const expired = findCondition(status.conditions, "Expired");
  if (expired?.status === "True") {
    const why = plainText(expired.message ?? "");
    throw new JoinError("failed", `the request ${name} has expired (${why}); ask again under another --name`);
  }
  const missing = notIssuedIn(status);
  if (missing !== undefined && !missing.mayPass) {
    const why = plainText(missing.message);
    throw new JoinError("failed", `the request ${name} was approved and nothing was issued: ${why}`);
  }
}

function denied(what: string, { decisions }: Status): JoinError {
  const reason = decisions?.at(-1)?.reason;
  const detail = reason === undefined ? "" : `: ${plainText(reason)}`;
  return new JoinError("denied", `${what}${detail}; to request access again, give another --name`);
}

/** Opens the answer and writes its files, the kubeconfig last. @throws JoinError bad-certificate, write-failed */
async function keep({ folder, key, hub, report }: Asking, request: AccessRequest): Promise<AccessGranted> {
  const answer = await opened(key, request);
  checkCa(answer.ca, hub);
  await folder.write(folder.ca, answer.ca);
  report({ kind: "written", path: folder.ca });
  await folder.write(folder.token, answer.token);
  if (answer.bootstrapToken !== undefined) await folder.write(folder.bootstrapToken, answer.bootstrapToken);
  const { namespace } = request.status?.grant ?? {};
  const { server } = hub;
  const text = tokenFileKubeconfig({ server, ca: { pem: answer.ca }, tokenFile: folder.token, namespace });
  await folder.write(folder.kubeconfig, text);
  report({ kind: "written", path: folder.kubeconfig });
  return {
    server,
    name: request.metadata.name ?? "",
    kubeconfig: folder.kubeconfig,
    tokenFile: folder.token,
    expiresAt: request.status?.expiresAt ?? "",
    bootstrapTokenFile: answer.bootstrapToken === undefined ? undefined : folder.bootstrapToken,
  };
}

async function opened(key: AccessKey, request: AccessRequest): Promise<PlainAnswer> {
  const { key: sealedKey = "", token = "", ca = "", bootstrapToken } = request.status ?? {};
  const sealed = { key: sealedKey, token, ca, ...(bootstrapToken === undefined ? {} : { bootstrapToken }) };
  try {
    return await openAnswer({ kind: key.public.kind, key: key.key }, sealed, sealBinding(request));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new JoinError(
      "bad-certificate",
      `the answer to ${request.metadata.name} cannot be opened: ${error.message}`,
      { cause: error },
    );
  }
}

/** The CA inside the seal must be the one that this machine discovered. @throws JoinError pin-mismatch */
function checkCa(pem: string, { caPin }: SeenHub): void {
  try {
    if (certificatesOfBundle(pem).some(({ pin }) => pin === caPin)) return;
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
  }
  throw new JoinError(
    "pin-mismatch",
    `the CA in the sealed answer is not the one that this machine saw (${caPin}): the connection between this machine and the hub is intercepted. Nothing of the answer was kept; ask for the CA pin and give --ca-cert-hash`,
  );
}

function refusal(error: StatusError): JoinError {
  const detail = plainText(error.message);
  const code = error.reason === "Forbidden" ? "forbidden" : "refused";
  return new JoinError(code, `the hub does not take the request: ${detail}`, { cause: error, causeCode: error.reason });
}
