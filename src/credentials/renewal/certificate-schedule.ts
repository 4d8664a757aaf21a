import { humanDuration } from "../../apimachinery/duration.ts";
import { decodePem } from "../../pki/pem.ts";
import { nouns, type AgentWorld, type CredentialName, type KeptName } from "../credential-event.ts";
import type { RenewalSchedule } from "../credential-manager.ts";
import { JoinError } from "../join-error.ts";
import type { HeldCertificate } from "../node-client.ts";
import type { ServingNames } from "../request/certificate-request.ts";
import { coversNames, rotationFailure, type RotationFailure } from "../request/node-certificate.ts";
import {
  readCertificateState,
  writeCertificateState,
  type CertificateFolder,
  type CertificateState,
} from "../storage/certificate-folder.ts";
import type { StoredCertificate } from "../storage/stored-certificate.ts";
import { earlyRotation, issuerInBundle } from "./early-rotation.ts";
import { overdueDelay, renewalDeadline, rotationPause } from "./rotation-plan.ts";

/** When one certificate of a node is renewed. */
export interface CertificateScheduleOptions extends Omit<AgentWorld, "userAgent"> {
  readonly kind: "client-certificate" | "serving-certificate";
  readonly folder: CertificateFolder;
  /** The names that it must have now; undefined while there are none, and then nothing is requested. Absent: a client certificate. */
  readonly servingNames?: (() => ServingNames | undefined) | undefined;
  /** The serving certificate (DER) that the hub presented last, where that is known: its issuer is the CA that signs now. */
  readonly shown?: (() => Promise<Uint8Array | undefined>) | undefined;
  /** Called once for a new certificate, once more if the agent was killed meanwhile; must not throw. */
  readonly renewed?: ((name: CredentialName) => Promise<void>) | undefined;
}

/** The schedule of a certificate, with its state file. */
export interface CertificateSchedule extends RenewalSchedule<HeldCertificate, unknown> {
  /** Stores the pending request, and the hub's condition that it waits for. */
  readonly requested: (request: string, waitsFor?: string) => Promise<void>;
}

/** Renews by the rules of a kubelet, and early where another CA signs. @see client-go util/certificate certificate_manager */
export function certificateSchedule(options: CertificateScheduleOptions, name: KeptName): CertificateSchedule {
  const { kind, folder, clock } = options;
  const keeping: Keeping = { options, name };
  let memory: Memory | undefined;
  let inProgress: PendingRequest = {};
  let writing = Promise.resolve();

  return {
    requested: (request, waitsFor) => {
      inProgress = { request, waitsFor };
      const { state } = memory ?? {};
      const next = state && { ...state, ...inProgress };
      if (next !== undefined) writing = writing.then(() => writeCertificateState(folder, next));
      return writing;
    },
    next: async ({ session, current, serving }) => {
      memory = await loadMemory(memory, current, keeping);
      memory = await notifyRenewed(memory, current, keeping);
      memory = await rotateEarly(memory, { current, session }, keeping);
      inProgress = {};
      const until = nextLook({ memory, current, serving, session }, options);
      if (until > clock.now()) return { kind: "wait", until };
      const { notAfter: expiresAt } = session.identity;
      if (expiresAt <= clock.now() && memory.state.failures === 0) {
        const ago = humanDuration(clock.now() - expiresAt);
        const message = `${nouns[kind]} expired ${ago} ago; the agent requests another one with its key`;
        options.report({ ...name, reason: "RecoveryRequested", message, expiresAt });
      }
      return { kind: "renew" };
    },
    renewed: async () => {
      await writing;
      if (memory !== undefined) memory = { ...memory, rotatedAt: clock.now() };
    },
    failed: async (error, held, signal) => {
      await writing;
      const failure = rotationFailure(error, held.session, held.session.identity.notAfter <= clock.now());
      if (signal.aborted || memory === undefined) return { kind: "wait", until: clock.now() };
      const state = { ...memory.state, ...(failure.spent ? noRequest : inProgress) };
      memory = await afterFailure({ ...held, memory: { ...memory, state } }, failure, keeping);
      return options.once ? { kind: "lost", error: new JoinError(failure.code, failure.message) } : { kind: "again" };
    },
  };
}

type PendingRequest = Pick<CertificateState, "request" | "waitsFor">;

const noRequest = { request: undefined, waitsFor: undefined } as const;

interface Keeping {
  readonly options: CertificateScheduleOptions;
  readonly name: KeptName;
}

interface Memory {
  readonly state: CertificateState;
  /** When this agent rotated it, until the new certificate is checked. */
  readonly rotatedAt?: number;
}

type Looked = HeldCertificate & { readonly memory: Memory };

/** The stored state of the present certificate; a certificate that another program installed starts a new state. */
async function loadMemory(
  memory: Memory | undefined,
  current: StoredCertificate | undefined,
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
  readonly current: StoredCertificate | undefined;
}

function plannedState({ memory, stored, current }: Known, options: CertificateScheduleOptions): CertificateState {
  const serial = current?.serial ?? "";
  const before: Partial<CertificateState> = stored ?? {};
  const { announced = serial, hastened: last } = before;
  const common = { serial, announced, failures: 0, hastened: last };
  if (current === undefined) {
    const now = options.clock.now();
    return { ...common, deadline: now, nextAt: now };
  }
  const same = before.serial === serial ? before : {};
  const renewedAt = same.renewedAt ?? memory?.rotatedAt;
  const deadline = deadlineOf(current, { renewedAt, drawn: same.deadline }, options);
  const nextAt = memory === undefined ? startAt(deadline, current, options) : deadline;
  return { ...common, deadline, nextAt, renewedAt };
}

/** Drawn once for each certificate, and the same after a restart. */
function deadlineOf(
  current: StoredCertificate,
  { renewedAt, drawn }: { readonly renewedAt: number | undefined; readonly drawn: number | undefined },
  { once, fraction }: CertificateScheduleOptions,
): number {
  if (drawn !== undefined && !once) return drawn;
  // With `once` there is no later run for this certificate, so all of the time from the earliest moment on is used.
  const planned = renewalDeadline(current, { spread: once ? 0 : fraction(), receivedAt: renewedAt });
  // An earlier moment was chosen by an early rotation.
  return Math.min(drawn ?? planned, planned);
}

function startAt(
  deadline: number,
  { notAfter }: StoredCertificate,
  { once, clock, fraction }: CertificateScheduleOptions,
): number {
  const now = clock.now();
  return once || deadline > now ? deadline : now + overdueDelay(notAfter - now, fraction());
}

/** Calls `renewed` for a certificate that was not passed to it, even where this agent did not fetch it. */
async function notifyRenewed(
  memory: Memory,
  current: StoredCertificate | undefined,
  { options }: Keeping,
): Promise<Memory> {
  if (current === undefined || memory.state.announced === current.serial) return memory;
  await options.renewed?.({ kind: options.kind, path: options.folder.current });
  const state = { ...memory.state, announced: current.serial };
  await writeCertificateState(options.folder, state);
  return { ...memory, state };
}

/** A certificate of a CA that no longer signs is renewed early, so that the CA can be removed before the last such certificate expires. */
async function rotateEarly(
  memory: Memory,
  { current, session }: Pick<Looked, "current" | "session">,
  { options, name }: Keeping,
): Promise<Memory> {
  const { folder, clock, fraction, once, report, shown } = options;
  const { deadline, failures, hastened: last } = memory.state;
  const now = clock.now();
  if (current === undefined || failures > 0 || deadline <= now) return memory;
  const signer = issuerInBundle(await shown?.(), session.caPem);
  if (signer === undefined) return memory;
  const own = issuerInBundle(decodePem(current.certificatesPem)[0]?.bytes, session.caPem);
  if (own === undefined) return memory;
  // With `once` there is no run at the moment that was drawn.
  const plan = earlyRotation({ own, signer, deadline, last, now, random: once ? 0 : fraction() });
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
  { servingNames, clock }: CertificateScheduleOptions,
): number {
  const { nextAt, failures } = memory.state;
  const now = clock.now();
  if (servingNames !== undefined && serving === undefined) return now + namesAgainMs;
  // Only the client certificate can be recovered; a serving certificate waits for it.
  if (serving !== undefined && session.identity.notAfter <= now) return Math.max(nextAt, now + namesAgainMs);
  // A certificate from the future, of a clock that was ahead, is not valid for a correct clock.
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
