import { unlessUnusable } from "../join-error.ts";
import type { CertificateFolder } from "./certificate-folder.ts";
import type { EarlyRotation } from "../renewal/early-rotation.ts";
import { count, record, stateFormat, text, time } from "./state-format.ts";

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
  readonly hastened?: EarlyRotation | undefined;
}

const format = stateFormat<CertificateState, "serial" | "deadline" | "nextAt">(
  {
    serial: text,
    deadline: time,
    nextAt: time,
    renewedAt: time,
    announced: text,
    failures: count,
    lastError: text,
    request: text,
    waitsFor: text,
    hastened: record<EarlyRotation>({ signer: text, at: time, tries: count }, ["signer", "at", "tries"]),
  },
  ["serial", "deadline", "nextAt"],
);

/** Writes it, with times that people can read. It is for people, and for a deadline that stays; where it cannot be written, keeping goes on. */
export async function writeCertificateState(folder: CertificateFolder, state: CertificateState): Promise<void> {
  await unlessUnusable(folder.writeShared(folder.state, format.print(state)));
}

/** What was written before, or undefined where nothing was, or nothing that can be read. */
export async function readCertificateState(
  folder: Pick<CertificateFolder, "text" | "state">,
): Promise<CertificateState | undefined> {
  const stored = format.parse(await unlessUnusable(folder.text(folder.state)));
  return stored && { announced: stored.serial, failures: 0, ...stored };
}
