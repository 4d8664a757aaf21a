import type { Clock } from "../core/clock.ts";
import { humanDuration } from "../core/duration.ts";
import { sameBytes } from "../pki/der.ts";
import { loadPrivateKey, spkiOf } from "../pki/keys.ts";
import { decodePem } from "../pki/pem.ts";
import { KeyError } from "../pki/public-key.ts";
import { nouns, type AgentReport, type CredentialName, type KeptName } from "./agent-event.ts";
import type { CertificateFolder } from "./certificate-folder.ts";
import { readCertificateState, writeCertificateState, type CertificateState } from "./certificate-state.ts";
import { hastenedRotation } from "./hastened-rotation.ts";
import { issuerInBundle } from "./issuer-in-bundle.ts";
import { JoinError } from "./join-error.ts";
import type { Keeper, Turn } from "./keeper.ts";
import { readKeptCertificate, type KeptCertificate } from "./kept-certificate.ts";
import type { NodeHub, NodeSession } from "./node-hub.ts";
import type { ServingNames } from "./node-request.ts";
import { coversNames, rotateCertificate, rotationFailure, type RotationFailure } from "./rotate-certificate.ts";
import { overdueDelay, renewalDeadline, rotationPause } from "./rotation-plan.ts";

/** How one certificate of a node is kept. */
export interface KeepCertificateOptions {
  readonly kind: "client-certificate" | "serving-certificate";
  readonly folder: CertificateFolder;
  readonly hub: NodeHub;
  /** For which names it must be good now; undefined while there are none, and nothing is asked then. Absent: a client certificate. */
  readonly servingNames?: (() => ServingNames | undefined) | undefined;
  /** The certificate (DER) by which the hub was known last, where that is known: who has signed it signs now. */
  readonly shown?: (() => Promise<Uint8Array | undefined>) | undefined;
  /** Nobody comes back later: a failure is the end. */
  readonly once: boolean;
  readonly clock: Clock;
  /** Yields [0, 1). */
  readonly fraction: () => number;
  readonly report: AgentReport;
  /** Is called once a new certificate is there, once more if the agent was killed meanwhile; must not throw. */
  readonly renewed?: ((name: CredentialName) => Promise<void>) | undefined;
}

/**
 * Keeps a certificate fresh by the rules of a kubelet: a new key each time, the node's present certificate as the identity, the old one in
 * use until the new one is complete. Its keeper throws JoinError no-access where files of the node are missing.
 * @see client-go util/certificate certificate_manager
 */
export function certificateKeeper(options: KeepCertificateOptions): Keeper {
  const { kind, folder, hub, clock } = options;
  const keeping: Keeping = { options, name: { kind, path: folder.current } };
  let memory: Memory | undefined;

  async function rotated(looked: Looked, signal: AbortSignal): Promise<Turn> {
    const { session, current, serving } = looked;
    let under: Pick<CertificateState, "request" | "waitsFor"> = {};
    let writing = Promise.resolve();
    const asked = (request: string, waitsFor?: string): Promise<void> => {
      const state = { ...looked.memory.state, request, waitsFor };
      under = { request, waitsFor };
      writing = writing.then(() => writeCertificateState(folder, state));
      return writing;
    };
    const { notAfter: expiresAt } = session.identity;
    if (expiresAt <= clock.now() && looked.memory.state.failures === 0) {
      const ago = humanDuration(clock.now() - expiresAt);
      const message = `${nouns[kind]} expired ${ago} ago; the agent requests another one with its key`;
      options.report({ ...keeping.name, reason: "RecoveryRequested", message, expiresAt });
    }
    try {
      await rotateCertificate({ ...options, name: keeping.name, session, current, serving, signal, asked });
      await writing;
    } catch (error) {
      await writing;
      const expired = session.identity.notAfter <= clock.now();
      const failure = rotationFailure(error, session, expired);
      if (signal.aborted) return { kind: "wait", until: clock.now() };
      const state = { ...looked.memory.state, ...(failure.spent ? noRequest : under) };
      memory = await afterFailure({ ...looked, memory: { ...looked.memory, state } }, failure, keeping);
      return options.once ? { kind: "lost", error: new JoinError(failure.code, failure.message) } : { kind: "again" };
    }
    memory = { ...looked.memory, rotatedAt: clock.now() };
    if (kind === "client-certificate") hub.moved();
    return { kind: "again" };
  }

  return {
    name: keeping.name,
    act: async (signal) => {
      const session = await hub.open();
      try {
        const current = await inUse(folder);
        if (memory === undefined) await finish(current, folder);
        memory = await remembered(memory, current, keeping);
        memory = await announced(memory, current, keeping);
        memory = await hastened(memory, { current, session }, keeping);
        const serving = options.servingNames?.();
        const until = nextLook({ memory, current, serving, session }, options);
        return until > clock.now()
          ? { kind: "wait", until }
          : await rotated({ memory, current, serving, session }, signal);
      } finally {
        session.close();
      }
    },
  };
}

const noRequest = { request: undefined, waitsFor: undefined } as const;

interface Keeping {
  readonly options: KeepCertificateOptions;
  readonly name: KeptName;
}

interface Memory {
  readonly state: CertificateState;
  /** When this agent rotated it, while the new certificate has not been looked at. */
  readonly rotatedAt?: number;
}

interface Looked {
  readonly memory: Memory;
  readonly current: KeptCertificate | undefined;
  readonly serving: ServingNames | undefined;
  readonly session: NodeSession;
}

async function inUse(folder: CertificateFolder): Promise<KeptCertificate | undefined> {
  const text = await folder.text(folder.current);
  return text === undefined ? undefined : readKeptCertificate(text);
}

/** An agent that was killed after its last step has left the key that is in use by now, and perhaps more. */
async function finish(current: KeptCertificate | undefined, folder: CertificateFolder): Promise<void> {
  const text = await folder.text(folder.nextKey);
  if (text === undefined || current === undefined) return;
  try {
    if (sameBytes(spkiOf(loadPrivateKey(text)), current.spki)) await folder.remove(folder.nextKey);
  } catch (error) {
    if (!(error instanceof KeyError || error instanceof JoinError)) throw error;
  }
}

/** What is known of the certificate that is there; whoever has put another one there began a new life. */
async function remembered(
  memory: Memory | undefined,
  current: KeptCertificate | undefined,
  { options, name }: Keeping,
): Promise<Memory> {
  const { folder, clock } = options;
  if (memory?.state.serial === (current?.serial ?? "")) return memory;
  const stored = memory?.state ?? (await readCertificateState(folder));
  const state = plannedState({ memory, stored, current }, options);
  await folder.tidy(clock.now());
  await writeCertificateState(folder, state);
  if (current !== undefined) {
    const { commonName: node, notAfter: expiresAt } = current;
    const noun = nouns[name.kind];
    if (memory?.rotatedAt !== undefined) {
      options.report({ ...name, reason: "CredentialRenewed", message: `renewed ${noun}`, expiresAt });
    }
    const message = `scheduled the renewal of ${noun}`;
    options.report({ ...name, reason: "RenewalScheduled", message, details: { node }, expiresAt, at: state.nextAt });
  }
  return { state };
}

interface Known {
  readonly memory: Memory | undefined;
  readonly stored: CertificateState | undefined;
  readonly current: KeptCertificate | undefined;
}

function plannedState({ memory, stored, current }: Known, options: KeepCertificateOptions): CertificateState {
  const serial = current?.serial ?? "";
  const announced = stored?.announced ?? serial;
  const last = stored?.hastened;
  if (current === undefined) {
    const now = options.clock.now();
    return { serial, deadline: now, nextAt: now, announced, failures: 0, hastened: last };
  }
  const earlier = stored?.serial === serial ? stored : undefined;
  const renewedAt = earlier?.renewedAt ?? memory?.rotatedAt;
  const deadline = deadlineOf(current, { renewedAt, drawn: earlier?.deadline }, options);
  const nextAt = memory === undefined ? startAt(deadline, current, options) : deadline;
  return { serial, deadline, nextAt, renewedAt, announced, failures: 0, hastened: last };
}

/** Drawn once for each certificate, and the same after a restart. */
function deadlineOf(
  current: KeptCertificate,
  { renewedAt, drawn }: { readonly renewedAt: number | undefined; readonly drawn: number | undefined },
  { once, fraction }: KeepCertificateOptions,
): number {
  if (drawn !== undefined && !once) return drawn;
  // With `once` nobody comes back later in this life, so all of the time from the earliest moment on is used.
  const planned = renewalDeadline(current, { spread: once ? 0 : fraction(), receivedAt: renewedAt });
  // Drawn before that is what was hastened.
  return Math.min(drawn ?? planned, planned);
}

function startAt(
  deadline: number,
  { notAfter }: KeptCertificate,
  { once, clock, fraction }: KeepCertificateOptions,
): number {
  const now = clock.now();
  return once || deadline > now ? deadline : now + overdueDelay(notAfter - now, fraction());
}

/** Tells others of a certificate of which they were not told, even where this agent is not the one that fetched it. */
async function announced(memory: Memory, current: KeptCertificate | undefined, { options }: Keeping): Promise<Memory> {
  if (current === undefined || memory.state.announced === current.serial) return memory;
  await options.renewed?.({ kind: options.kind, path: options.folder.current });
  const state = { ...memory.state, announced: current.serial };
  await writeCertificateState(options.folder, state);
  return { ...memory, state };
}

/** Whoever holds a certificate of a CA that signs no more renews soon, lest everybody waits for the last to do so before the CA can go. */
async function hastened(
  memory: Memory,
  { current, session }: Pick<Looked, "current" | "session">,
  { options, name }: Keeping,
): Promise<Memory> {
  const { folder, clock, fraction, once, report, shown } = options;
  const { deadline, failures } = memory.state;
  const now = clock.now();
  if (current === undefined || failures > 0 || deadline <= now) return memory;
  const seen = await shown?.();
  const leaf = decodePem(current.certificatesPem)[0]?.bytes;
  const signer = seen === undefined ? undefined : issuerInBundle(seen, session.caPem);
  const own = leaf === undefined || signer === undefined ? undefined : issuerInBundle(leaf, session.caPem);
  if (signer === undefined || own === undefined) return memory;
  const { hastened: last } = memory.state;
  // With `once` nobody comes back at the moment that was drawn.
  const plan = hastenedRotation({ own, signer, deadline, last, now, random: once ? 0 : fraction() });
  if (plan === undefined) return memory;
  const { deadline: at, ...decided } = plan;
  const state = { ...memory.state, deadline: at, nextAt: Math.min(memory.state.nextAt, at), hastened: decided };
  await writeCertificateState(folder, state);
  const message = `another CA of the hub signs now; the agent renews ${nouns[name.kind]} early`;
  report({ ...name, reason: "EarlyRenewalScheduled", message, details: { pin: decided.signer }, at });
  return { ...memory, state };
}

const namesAgainMs = 20_000;

function nextLook(
  { memory, current, serving, session }: Looked,
  { servingNames, clock }: KeepCertificateOptions,
): number {
  const { nextAt, failures } = memory.state;
  const now = clock.now();
  if (servingNames !== undefined && serving === undefined) return now + namesAgainMs;
  // Only the client certificate can come back; whoever serves waits until it has.
  if (serving !== undefined && session.identity.notAfter <= now) return Math.max(nextAt, now + namesAgainMs);
  // One from the future, of a clock that was ahead, serves nobody with a right clock.
  const fits =
    current !== undefined &&
    (serving === undefined || (coversNames(current.names, serving) && current.notBefore <= now));
  return fits || failures > 0 ? nextAt : now;
}

async function afterFailure(
  { memory, current }: Looked,
  failure: RotationFailure,
  { options, name }: Keeping,
): Promise<Memory> {
  const { folder, clock, fraction, report } = options;
  const now = clock.now();
  const { message, decided, retryAfterMs } = failure;
  const count = memory.state.failures + 1;
  const leftMs = Math.max(0, (current?.notAfter ?? now) - now);
  const at = now + rotationPause({ count, decided, retryAfterMs, leftMs, random: fraction() });
  if (failure.spent) await folder.remove(folder.nextKey);
  const state: CertificateState = { ...memory.state, nextAt: at, failures: count, lastError: message };
  await writeCertificateState(folder, state);
  report({ ...name, reason: "RenewalFailed", message, at, expiresAt: current?.notAfter });
  return { state };
}
