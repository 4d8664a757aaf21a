import { rfc3339 } from "../core/clock.ts";
import { JoinError } from "./join-error.ts";
import type { CertificateFolder } from "./certificate-folder.ts";
import type { Hastened } from "./hastened-rotation.ts";

/** What the agent remembers of a certificate beside the files. Times in milliseconds since the epoch, by this machine's clock. */
export interface CertificateState {
  /** The serial number of the certificate that this is about; empty where there is none yet. */
  readonly serial: string;
  /** When it is rotated; drawn once. */
  readonly deadline: number;
  /** When something is done next: the deadline, or the next try. */
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** The serial number of the last certificate of which others were told. */
  readonly announced: string;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** The request under way. */
  readonly request?: string | undefined;
  /** What the hub says that the request waits for: reason and message. */
  readonly waitsFor?: string | undefined;
  /** The last rotation before its time, of this certificate or one before it. */
  readonly hastened?: Hastened | undefined;
}

/** Writes it, with times that people can read. It is for people, and for a deadline that stays; where it cannot be written, keeping goes on. */
export async function writeCertificateState(folder: CertificateFolder, state: CertificateState): Promise<void> {
  const { serial, deadline, nextAt, renewedAt, hastened, ...rest } = state;
  const text = {
    serial,
    deadline: rfc3339(deadline),
    nextAt: rfc3339(nextAt),
    ...(renewedAt === undefined ? {} : { renewedAt: rfc3339(renewedAt) }),
    ...rest,
    ...(hastened === undefined ? {} : { hastened: { ...hastened, at: rfc3339(hastened.at) } }),
  };
  try {
    await folder.writeShared(folder.state, `${JSON.stringify(text, undefined, 2)}\n`);
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
  }
}

/** What was written before, or undefined where nothing was, or nothing that can be read. */
export async function readCertificateState(
  folder: Pick<CertificateFolder, "text" | "state">,
): Promise<CertificateState | undefined> {
  try {
    const value: unknown = JSON.parse((await folder.text(folder.state)) ?? "");
    return typeof value === "object" && value !== null ? stateIn(value) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JoinError) return undefined;
    throw error;
  }
}

function stateIn(value: Partial<Record<keyof CertificateState, unknown>>): CertificateState | undefined {
  const { serial, announced, failures, lastError, request, waitsFor } = value;
  const [deadline, nextAt, renewedAt] = [value.deadline, value.nextAt, value.renewedAt].map(timeIn);
  if (typeof serial !== "string" || deadline === undefined || nextAt === undefined) return undefined;
  return {
    serial,
    deadline,
    nextAt,
    renewedAt,
    announced: typeof announced === "string" ? announced : serial,
    failures: typeof failures === "number" && Number.isSafeInteger(failures) ? failures : 0,
    lastError: typeof lastError === "string" ? lastError : undefined,
    request: typeof request === "string" ? request : undefined,
    waitsFor: typeof waitsFor === "string" ? waitsFor : undefined,
    hastened: hastenedIn(value.hastened),
  };
}

function hastenedIn(value: unknown): Hastened | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { signer, at, tries } = value as Partial<Record<keyof Hastened, unknown>>;
  const time = timeIn(at);
  const isKnown = typeof signer === "string" && time !== undefined && Number.isSafeInteger(tries);
  return isKnown ? { signer, at: time, tries: Math.max(1, Number(tries)) } : undefined;
}

function timeIn(value: unknown): number | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}
