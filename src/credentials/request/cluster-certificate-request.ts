import { getOrUndefined } from "../../client/api-errors.ts";
import type { Client } from "../../client/client.ts";
import { generatedName } from "../../apimachinery/names.ts";
import type { Clock, RandomBytes } from "../../apimachinery/clock.ts";
import { sameBytes } from "../../pki/der.ts";
import { exportSec1Pem, generatePrivateKey, keyFingerprint, loadPrivateKey, spkiOf } from "../../pki/keys.ts";
import {
  addOnNameLabel,
  agentUser,
  clusterGroupOf,
  clusterNameLabel,
  managedClustersGroup,
  type AgentIdentity,
} from "../../apis/managed-cluster.ts";
import { awaitCertificate } from "./await-certificate.ts";
import { JoinError, stopIfAborted } from "../join-error.ts";
import {
  certificateRequests,
  csrOf,
  requestObject,
  type CertificateWish,
  type NodeRequest,
  type RequestObject,
} from "./certificate-request.ts";
import { ownClusterCertificate, type AgentCertificate } from "../proof/cluster-credential.ts";
import type { PendingRequest, StoredState } from "../storage/registration-state.ts";

const signerName = "kubernetes.io/kube-apiserver-client";
const usages: readonly string[] = ["digital signature", "key encipherment", "client auth"];

/** What is reported of a pending request. */
export type RequestNews =
  | { readonly kind: "sent"; readonly request: string; readonly fingerprint: string; readonly found: boolean }
  | { readonly kind: "pending" | "approved"; readonly request: string; readonly fingerprint: string }
  /** Why it has no certificate yet, from the hub's conditions: reason and message. */
  | { readonly kind: "waits-for"; readonly request: string; readonly message: string }
  /** Ten requests of the cluster are pending; no more are created. */
  | { readonly kind: "rate-limited" }
  /** It was denied, failed, or was deleted; the agent requests again when the cause is gone. */
  | { readonly kind: "refused"; readonly request: string; readonly error: JoinError };

/** One certificate to request. */
export interface CertificateCall {
  readonly client: Client;
  readonly server: string;
  readonly origin: string;
  readonly by: PendingRequest["by"];
  readonly state: StoredState;
  readonly expirationSeconds?: number | undefined;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly notify: (news: RequestNews) => void;
}

const maxRequests = 10;
const rateLimitMs = 60_000;
const deniedMs = 30_000;
const failedMs = 120_000;
const againMs = 5_000;
const waitMs = 24 * 3_600_000;

/**
 * Requests a certificate for the agent: key and request name are stored before the request is sent, so that an interrupted agent resumes
 * the same request. Waits without a deadline; a denied request is followed by another once it is deleted. The certificate is in the
 * stored state when this returns. @throws JoinError aborted, clock-skew @throws StatusError, ConnectionError
 */
export async function obtainCertificate(call: CertificateCall): Promise<AgentCertificate> {
  for (;;) {
    stopIfAborted(call.signal);
    const pending = await pendingOf(call);
    const { request } = pending;
    try {
      if (pending.certificatePem !== undefined) return proven(pending.certificatePem, pending, call);
      const found = await sent(pending, call);
      if (found === "rate-limited") {
        call.notify({ kind: "rate-limited" });
        await call.clock.sleep(rateLimitMs, call.signal);
        continue;
      }
      const pem = await awaited(found, pending, call);
      const certificate = proven(pem, pending, call);
      await call.state.change({ pending: { ...pending, certificatePem: certificate.certificatePem } });
      return certificate;
    } catch (error) {
      if (!(error instanceof JoinError) || !recoverable.has(error.code)) throw error;
      call.notify({ kind: "refused", request, error });
      if (error.code === "denied") await call.state.change({ pending: { ...pending, denied: error.message } });
      await retried(error, pending, call);
      await call.state.change({ pending: undefined });
    }
  }
}

const recoverable: ReadonlySet<string> = new Set(["denied", "failed", "deleted", "csr-conflict", "bad-certificate"]);

/** The fingerprint of a key in PEM, for two people to compare. */
export function fingerprintOf(keyPem: string): string {
  return keyFingerprint(spkiOf(loadPrivateKey(keyPem)));
}

async function pendingOf({ state, origin, by, random }: CertificateCall): Promise<PendingRequest> {
  const { pending, clusterName } = state.now();
  if (pending?.origin === origin && pending.by === by) return pending;
  const next: PendingRequest = {
    origin,
    by,
    request: generatedName(`${clusterName.slice(0, 57)}-`, random),
    keyPem: exportSec1Pem(generatePrivateKey()),
  };
  await state.change({ pending: next });
  return next;
}

function identityOf(state: StoredState): AgentIdentity {
  const { clusterName: cluster, agentName: agent } = state.now();
  return { cluster, agent };
}

async function sent(pending: PendingRequest, call: CertificateCall): Promise<NodeRequest | "rate-limited"> {
  const { client } = call;
  const key = { name: pending.request };
  const earlier = await getOrUndefined<RequestObject>(client, certificateRequests, key);
  if (earlier !== undefined) return reported(earlier, true, { pending, call });
  if (await isRateLimited(call)) return "rate-limited";
  const created = await client.create<RequestObject>(certificateRequests, requestObject(wishOf(pending, call)));
  return reported(created, false, { pending, call });
}

function reported(
  object: RequestObject,
  found: boolean,
  { pending, call }: { readonly pending: PendingRequest; readonly call: CertificateCall },
): NodeRequest {
  const { request } = pending;
  if (found && !isOwn(object, pending)) {
    throw new JoinError("csr-conflict", `the request ${request} on the hub is another one; a new one is made`);
  }
  call.notify({ kind: "sent", request, fingerprint: fingerprintOf(pending.keyPem), found });
  return { name: request, uid: object.metadata.uid ?? "", found };
}

function wishOf({ request, keyPem }: PendingRequest, { state, expirationSeconds }: CertificateCall): CertificateWish {
  const identity = identityOf(state);
  return {
    name: request,
    labels: { [clusterNameLabel]: identity.cluster },
    key: loadPrivateKey(keyPem),
    commonName: agentUser(identity),
    organizations: [clusterGroupOf(identity.cluster), managedClustersGroup],
    signerName,
    usages,
    expirationSeconds,
  };
}

function isOwn(object: RequestObject, { keyPem }: PendingRequest): boolean {
  const csr = csrOf(object);
  if (csr === undefined || object.spec?.signerName !== signerName) return false;
  return sameBytes(csr.spki, spkiOf(loadPrivateKey(keyPem)));
}

async function isRateLimited({ client, state }: CertificateCall): Promise<boolean> {
  const labelSelector = `${clusterNameLabel}=${state.now().clusterName}`;
  const { items } = await client.list<RequestObject>(certificateRequests, { labelSelector });
  const own = items.filter(({ metadata }) => !Object.hasOwn(metadata.labels ?? {}, addOnNameLabel));
  return own.length >= maxRequests;
}

async function awaited(
  found: NodeRequest,
  { request, keyPem }: PendingRequest,
  call: CertificateCall,
): Promise<string> {
  const { client, clock, signal, server, random } = call;
  return awaitCertificate(client, found, {
    clock,
    timeoutMs: waitMs,
    signal,
    target: { server },
    random: () => (random(1)[0] ?? 0) / 256,
    advise: false,
    waitsFor: (message) => call.notify({ kind: "waits-for", request, message }),
    on: (kind) => call.notify({ kind, request, fingerprint: fingerprintOf(keyPem) }),
  });
}

function proven(pem: string, { keyPem }: PendingRequest, { state, clock }: CertificateCall): AgentCertificate {
  return ownClusterCertificate(pem, { keyPem, identity: identityOf(state), now: clock.now() });
}

/** Waits until another request is useful: a denied one must be deleted first, or each denial would cause the next request. */
async function retried({ code }: JoinError, { request }: PendingRequest, call: CertificateCall): Promise<void> {
  const { client, clock, signal } = call;
  if (code !== "denied")
    return clock.sleep(code === "failed" || code === "bad-certificate" ? failedMs : againMs, signal);
  for (;;) {
    await clock.sleep(deniedMs, signal);
    stopIfAborted(signal);
    if ((await getOrUndefined(client, certificateRequests, { name: request })) === undefined) return;
  }
}
