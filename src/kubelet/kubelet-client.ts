import { lookup } from "node:dns";
import { readFile } from "node:fs/promises";
import { request as send, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect, type ConnectionOptions, type PeerCertificate, type TLSSocket } from "node:tls";
import type { Clock, RandomBytes } from "../apimachinery/clock.ts";
import { internalError, type StatusError } from "../apimachinery/status.ts";
import { systemErrorText } from "../apimachinery/system-error.ts";
import type { AskKubelet, KubeletAnswer, KubeletRequest } from "../apiserver/kubelet/kubelet.ts";
import { type KeyPair, certificateTimes, isDue, issueOwn } from "../ca/hub-certificates.ts";
import { addressProblem, kubeletAddress, targetProblem, type KubeletAddress } from "./kubelet-address.ts";
import type { UserInfo } from "../apimachinery/user.ts";
import { kubeletClientUser } from "../authorization/bootstrap-policy/component-roles.ts";
import type { Credential } from "../apis/revocation-index.ts";
import type { Authorities } from "../ca/ca-folder.ts";

export interface KubeletClientOptions {
  readonly addressTypes: readonly string[];
  /** PEM of the CAs of serving certificates, read at each connection; without it, these are not verified, as in kube-apiserver. */
  readonly certificateAuthorityFile: string | undefined;
  /** The address at which the hub listens. */
  readonly bindAddress: string;
  readonly credential: () => KeyPair;
  readonly clock: Clock;
}

/** Milliseconds for TCP and TLS. Source: apiserver's dialer of 30 seconds. */
const connectMs = 30_000;
/** The interval of keep-alive probes on an idle connection, in milliseconds. */
const aliveMs = 30_000;

/** Calls kubelets over TLS 1.2 or later and HTTP/1.1, with one connection for each request; follows no redirect. */
export function kubeletClient(options: KubeletClientOptions): AskKubelet {
  return async (request) => {
    const address = kubeletAddress(request.node, options.addressTypes);
    const kubelet = `the kubelet of node ${request.node.metadata.name ?? ""}`;
    const problem = targetProblem(address, options.bindAddress);
    if (problem !== undefined) throw dialError(`${kubelet} is not asked: ${problem}`);
    const shown = `${kubelet} at ${hostPort(address)}`;
    const secure = await secureOptions(options, request, address);
    const { clock } = options;
    const socket = await dial({ secure, shown, clock, request });
    try {
      return await exchange({ request, socket, host: hostPort(address), shown, clock });
    } catch (error) {
      // Node throws for an invalid header before it uses the connection.
      socket.destroy();
      throw error;
    }
  };
}

function dialError(why: string): StatusError {
  return internalError(`error dialing backend: ${why}`);
}

function hostPort({ host, port }: KubeletAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

async function secureOptions(
  { certificateAuthorityFile: file, bindAddress, credential }: KubeletClientOptions,
  { skipsVerification }: KubeletRequest,
  address: KubeletAddress,
): Promise<ConnectionOptions> {
  const { certPem, keyPem } = credential();
  const isVerified = file !== undefined && !skipsVerification;
  return {
    ...address,
    ...(isIP(address.host) === 0 ? { servername: address.host } : {}),
    lookup: guardedLookup(bindAddress),
    cert: certPem,
    key: keyPem,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["http/1.1"],
    ...(isVerified ? { ca: await caOf(file) } : {}),
    rejectUnauthorized: isVerified,
  };
}

async function caOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw dialError(`--kubelet-certificate-authority: ${systemErrorText(error, { operation: "read", at: file })}`);
  }
}

/** The problem of a certificate of another Node at a matching address: a Node that reports the address of another must not redirect the hub there. */
function otherNode(name: string, { subject }: Partial<PeerCertificate>): string | undefined {
  const commonName: unknown = subject?.CN;
  if (typeof commonName !== "string" || !commonName.startsWith("system:node:")) return undefined;
  return commonName === `system:node:${name}` ? undefined : `its certificate is that of another node, ${commonName}`;
}

/** Resolves names, and rejects addresses that are rejected as literals; the connection uses the checked address. */
function guardedLookup(bindAddress: string): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => addressProblem(address, bindAddress) === undefined);
      const [first] = allowed;
      if (first === undefined) {
        const refused = new RangeError(addressProblem(found[0]?.address ?? "", bindAddress));
        return callback(Object.assign(refused, { code: refusedAddressCode }), []);
      }
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

const refusedAddressCode = "KUBELET_ADDRESS_REFUSED";

interface Dial {
  readonly secure: ConnectionOptions;
  readonly shown: string;
  readonly clock: Clock;
  readonly request: KubeletRequest;
}

/** A TLS connection to the kubelet of that Node; nothing is sent before its identity is verified. */
function dial({ secure, shown, clock, request: { node, signal } }: Dial): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const socket = connect(secure);
    const fail = (why: string): void => {
      over.abort();
      socket.destroy();
      reject(dialError(why));
    };
    const onAbort = (): void => fail(endedText);
    over.signal.addEventListener("abort", () => signal.removeEventListener("abort", onAbort));
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    socket.on("error", (error) => fail(reasonOf(error, shown)));
    socket.once("close", () => fail(`${shown} closed the connection`));
    socket.once("secureConnect", () => {
      const other = otherNode(node.metadata.name ?? "", socket.getPeerCertificate());
      if (other !== undefined) return fail(`${shown} is not asked: ${other}`);
      over.abort();
      resolve(socket.setNoDelay(true).setKeepAlive(true, aliveMs));
    });
    void deadline({ clock, ms: connectMs, until: over.signal }, () =>
      fail(`${shown} did not complete the TLS handshake within ${connectMs / 1000} s`),
    );
  });
}

interface Exchange {
  readonly request: KubeletRequest;
  readonly socket: TLSSocket;
  readonly host: string;
  readonly shown: string;
  readonly clock: Clock;
}

/** Sends the request, and waits for the head of the response. */
function exchange({ request, socket, host, shown, clock }: Exchange): Promise<KubeletAnswer> {
  return new Promise((resolve, reject) => {
    const over = new AbortController();
    const { method, path, body, signal, answerMs } = request;
    const length = body === undefined ? {} : { "content-length": body.length };
    const headers = { host, "user-agent": "pratique-hub", ...request.headers, ...length };
    const sent = send({
      method,
      path,
      headers: headers as OutgoingHttpHeaders,
      signal,
      createConnection: () => socket,
    });
    const answer = (found: KubeletAnswer): void => {
      over.abort();
      resolve(found);
    };
    const fail = (why: string): void => {
      over.abort();
      sent.destroy();
      reject(dialError(why));
    };
    sent.on("response", (response: IncomingMessage) =>
      answer({ kind: "response", status: response.statusCode ?? 0, headers: response.headers, body: response }),
    );
    sent.on("upgrade", (response: IncomingMessage, upgraded: Duplex, head: Buffer) =>
      answer({ kind: "upgraded", headers: response.headers, socket: upgraded, head }),
    );
    sent.on("error", (error) => fail(signal.aborted ? endedText : reasonOf(error, shown)));
    void deadline({ clock, ms: answerMs, until: over.signal }, () =>
      fail(`${shown} did not answer within ${Math.round(answerMs / 1000)} s`),
    );
    sent.end(body);
  });
}

const endedText = "the connection was ended, since the client is gone, its credential is over, or the hub stops";

async function deadline(
  { clock, ms, until }: { readonly clock: Clock; readonly ms: number; readonly until: AbortSignal },
  late: () => void,
): Promise<void> {
  if (!Number.isFinite(ms)) return;
  await clock.sleep(ms, until);
  if (!until.aborted) late();
}

function reasonOf(error: Error, shown: string): string {
  const { code } = error as { readonly code?: string };
  if (code === refusedAddressCode) return `${shown} is not asked: ${error.message}`;
  return systemErrorText(error, { operation: "connect", at: shown });
}

/**
 * The client certificate of the hub for kubelets, as kubeadm creates it: a user in no group, with the rights of the ClusterRole
 * system:kubelet-api-admin. It is issued on first use, renewed in time and for another CA, and never stored.
 */
export function kubeletCredential(
  authorities: () => Authorities,
  at: { readonly now: () => number; readonly random: RandomBytes },
): () => KeyPair {
  let held: { readonly of: Authorities; readonly pair: KeyPair } | undefined;
  return () => {
    const of = authorities();
    const isGood =
      held?.of === of && !isDue(certificateTimes(held.pair.certPem), at.now(), of.signer.notAfter) ? held : undefined;
    if (isGood !== undefined) return isGood.pair;
    const wanted = { commonName: kubeletClientUser, organizations: [], dnsNames: [], ipAddresses: [] };
    const { certPem, keyPem } = issueOwn(
      of.signer,
      { ...wanted, usage: "client auth" },
      { now: at.now(), random: at.random },
    );
    // With the chain, so that a kubelet that trusts only the previous CA can verify it.
    held = { of, pair: { certPem: `${certPem}${of.chainPem}`, keyPem } };
    return held.pair;
  };
}

/**
 * Whether a request has the hub's own certificate for kubelets. A hub that sees it was connected to itself, or to another hub, by the
 * address of a Node; the sender must not gain its rights.
 */
export function isKubeletCredential({
  user,
  credential,
}: {
  readonly user: UserInfo;
  readonly credential?: Credential;
}): boolean {
  return user.username === kubeletClientUser && credential?.serialNumber !== undefined;
}
