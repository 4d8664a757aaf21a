import { ConnectionError } from "../../client/client.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { sameBytes } from "../../pki/der.ts";
import { nouns, type AgentWorld, type KeptName } from "../credential-event.ts";
import { awaitCertificate } from "./await-certificate.ts";
import type { CertificateFolder } from "../storage/certificate-folder.ts";
import { connectionFailure } from "./connection-failure.ts";
import { JoinError, plainText, type JoinErrorCode } from "../join-error.ts";
import { kubernetesMinor, nodeUsages, servingUsages, nodeKey, type NodeKey } from "./node-identity.ts";
import type { HeldCertificate, NodeSession } from "../node-client.ts";
import { nodeRequest, type NodeRequest, type ServingNames } from "./certificate-request.ts";

/** How the next certificate of a node is requested. */
export interface NodeCertificateRequest extends Omit<AgentWorld, "userAgent"> {
  readonly name: KeptName;
  readonly folder: CertificateFolder;
  /** The names that a serving certificate must have now; called while a request waits. */
  readonly servingNames?: (() => ServingNames | undefined) | undefined;
  readonly signal: AbortSignal;
  /** Receives the name of the request before the wait, and again with the condition of the hub that it waits for. */
  readonly requested: (request: string, waitsFor?: string) => Promise<void>;
}

/** The issued certificate, not yet verified, and the key for which it was requested. */
export interface NodeAnswer {
  readonly pem: string;
  readonly key: NodeKey;
}

/** Why a rotation failed. */
export interface RotationFailure {
  readonly code: JoinErrorCode;
  /** One sentence without secrets. */
  readonly message: string;
  /** Whether an approver or a signer decided so; else it may be temporary. */
  readonly decided: boolean;
  /** Whether the next try needs another key, since the name of a request derives from its key. */
  readonly spent: boolean;
  readonly retryAfterMs: number | undefined;
}

const waitMs = 900_000;
/** The next run resumes the same request. */
const onceWaitMs = 30_000;
const namesAgainMs = 10_000;

/**
 * Requests the next certificate and waits up to 15 minutes for it, with `once` half a minute. The key is on disk before the request is
 * sent, and the request is found again by it, so that an interrupted rotation resumes. Nothing in use changes. @throws JoinError,
 * ConnectionError, StatusError
 */
export async function requestNodeCertificate(
  held: HeldCertificate,
  wanted: NodeCertificateRequest,
): Promise<NodeAnswer> {
  const { session, serving } = held;
  const { name, clock } = wanted;
  const { nodeName, client } = session;
  const key = await nextKey(held, wanted);
  const minor = await kubernetesMinor(client);
  const usages = serving === undefined ? nodeUsages(minor) : servingUsages(minor);
  const request = await nodeRequest(client, { nodeName, key, usages, now: clock.now(), serving });
  const message = `${request.found ? "continues with an earlier request for" : "requested"} ${nouns[name.kind]}`;
  wanted.report({ ...name, reason: "CertificateRequested", message, details: { request: `csr/${request.name}` } });
  await wanted.requested(request.name);
  return { pem: await waited(request, held, wanted), key };
}

/** The key of an interrupted rotation, or a new one. */
async function nextKey({ current }: HeldCertificate, { folder }: NodeCertificateRequest): Promise<NodeKey> {
  const place = { pendingKey: folder.nextKey, read: folder.text, replace: folder.writePrivate };
  const key = await nodeKey(place, "keep");
  const isUsed = current !== undefined && sameBytes(key.spki, current.spki);
  return isUsed ? nodeKey(place, "replace") : key;
}

async function waited(
  request: NodeRequest,
  { session, serving }: HeldCertificate,
  wanted: NodeCertificateRequest,
): Promise<string> {
  const { clock, signal, report, name, servingNames } = wanted;
  const over = new AbortController();
  const changed = new AbortController();
  const watching = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(namesAgainMs, over.signal);
      const now = servingNames?.();
      if (now !== undefined && serving !== undefined && !coversNames(serving, now)) changed.abort();
    }
  };
  if (serving !== undefined) void watching();
  const timeoutMs = wanted.once ? onceWaitMs : waitMs;
  const until = clock.now() + timeoutMs;
  const waiting = (hubMessage?: string): void =>
    report({
      ...name,
      reason: "ApprovalPending",
      message: `waiting for approval of ${nouns[name.kind]}`,
      details: {
        ...(hubMessage === undefined ? {} : { level: "warn", hubMessage }),
        waitsUntil: rfc3339(until),
        approve: `pratique approve csr/${request.name} or kubectl certificate approve ${request.name}`,
      },
    });
  try {
    return await awaitCertificate(session.client, request, {
      clock,
      timeoutMs,
      signal: AbortSignal.any([signal, changed.signal]),
      target: session,
      random: wanted.fraction,
      advise: false,
      on: (state) => {
        if (state === "pending") waiting();
      },
      waitsFor: (message) => {
        const { notAfter: expiresAt } = session.identity;
        if (expiresAt > clock.now()) waiting(message);
        else report({ ...name, reason: "RecoveryRequested", message: `waiting for recovery: ${message}`, expiresAt });
        void wanted.requested(request.name, message);
      },
    });
  } catch (error) {
    if (!changed.signal.aborted || signal.aborted) throw error;
    throw new JoinError("csr-conflict", "the addresses of this machine have changed while a request for them waited");
  } finally {
    over.abort();
  }
}

/** Whether `names` are all among `have`. */
export function coversNames(have: ServingNames, names: ServingNames): boolean {
  return names.dns.every((one) => have.dns.includes(one)) && names.ip.every((one) => have.ip.includes(one));
}

const decidedCodes: ReadonlySet<JoinErrorCode> = new Set([
  "denied",
  "failed",
  "deleted",
  "csr-conflict",
  "bad-certificate",
  "clock-skew",
]);
/** A deleted request leaves its name to another one. */
const sparing: ReadonlySet<JoinErrorCode> = new Set(["deleted", "clock-skew"]);

/** The failure that ended a rotation. @throws any error that is no failure of a call */
export function rotationFailure(error: unknown, session: NodeSession, expired: boolean): RotationFailure {
  if (error instanceof ConnectionError) {
    const { code, message } = connectionFailure(error, session);
    return { ...passing, code, message };
  }
  if (error instanceof JoinError) {
    const { code, message } = error;
    const decided = decidedCodes.has(code);
    return { ...passing, code, message, decided, spent: decided && !sparing.has(code) };
  }
  if (!(error instanceof StatusError)) throw error;
  return answerFailure(error, expired);
}

const passing = { decided: false, spent: false, retryAfterMs: undefined } as const;

function answerFailure(error: StatusError, expired: boolean): RotationFailure {
  const seconds = error.details?.retryAfterSeconds;
  const retryAfterMs = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined;
  const common = { ...passing, retryAfterMs };
  const answer = plainText(error.message);
  switch (error.reason) {
    case "Unauthorized":
      return {
        ...common,
        code: "unauthorized",
        decided: true,
        message: `the hub does not accept the client certificate (401): ${expired ? "it has expired, and this API does not renew expired certificates, or none that expired so long ago; the machine must join again" : "it was revoked, or its CA is trusted no longer"}`,
      };
    case "Forbidden":
      return {
        ...common,
        code: "forbidden",
        decided: true,
        message: `the hub does not let this node ask for a certificate: ${answer}`,
      };
    default:
      return { ...common, code: "refused", message: `the hub refuses the request: ${answer}` };
  }
}
