import { basename, join } from "node:path";
import { onFile, unlessUnusable } from "../join-error.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";
import type { EarlyRotation } from "../renewal/early-rotation.ts";
import { count, record, stateFormat, text, time } from "./state-format.ts";

/** Which of a node's certificates: as a kubelet names its files. */
export type CertificatePrefix = "kubelet-client" | "kubelet-server";

/** The files of one certificate that is kept fresh. Each failure is a JoinError write-failed that names its path. */
export interface CertificateFolder {
  readonly certDir: string;
  /** The link to the certificate and key in use. */
  readonly current: string;
  /** The key of a rotation under way. */
  readonly nextKey: string;
  /** What the agent remembers; holds no secret. */
  readonly state: string;
  /** That the hub refuses it; holds no secret, and is there only then. */
  readonly refusals: string;
  text(path: string): Promise<string | undefined>;
  /** Writes what nobody but the agent may read. */
  writePrivate(path: string, content: string): Promise<void>;
  /** Writes what whoever may read the certificate may read as well. */
  writeShared(path: string, content: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Writes certificate and key to a file of their own and points `current` to it, in this order. */
  install(content: string, now: number): Promise<void>;
  /** Removes all earlier files but the one before `current`, and what killed writers have left. Failures are passed over. */
  tidy(now: number): Promise<void>;
}

/** The files of `prefix` in a folder; nothing is touched yet. @see client-go util/certificate certificate_store */
export function certificateFolder(
  where: { readonly certDir: string; readonly prefix: CertificatePrefix },
  files: PrivateFiles,
  access: FileAccess | undefined,
): CertificateFolder {
  const { certDir, prefix } = where;
  const current = join(certDir, `${prefix}-current.pem`);
  const own = new RegExp(String.raw`^${prefix}-\d{4}(?:-\d\d){5}\.pem$`);

  const write = (path: string, act: () => Promise<void>): Promise<void> =>
    onFile({ operation: "write", at: path }, act);

  async function install(content: string, now: number): Promise<void> {
    const taken = new Set(await files.namesIn(certDir).catch(() => []));
    // Names count seconds, and two rotations may fall into one.
    let at = now;
    while (taken.has(credentialPath("", at, prefix))) at += 1000;
    const path = credentialPath(certDir, at, prefix);
    await write(path, () => files.replaceFile(path, content, access));
    const via = join(certDir, `${prefix}-updated.pem`);
    await write(current, () => files.replaceLink({ path: current, target: path, via }));
  }

  async function tidy(now: number): Promise<void> {
    try {
      // A minute is more than any writer takes.
      await files.removeUnfinished(certDir, now - 60_000);
      const inUse = basename(await files.targetOf(current));
      const names = (await files.namesIn(certDir)).filter((name) => own.test(name) && name !== inUse);
      const older = names.filter((name) => name < inUse).toSorted();
      // What is later than the file in use was never installed: the agent was killed before.
      for (const name of names.filter((one) => one > inUse)) await files.removeFile(join(certDir, name));
      // Whoever has just read the link may still open what it pointed to.
      for (const name of older.slice(0, -1)) await files.removeFile(join(certDir, name));
    } catch {
      // Old files do no harm, and the next rotation looks at them again.
    }
  }

  return {
    certDir,
    current,
    nextKey: join(certDir, `${prefix}.next.key`),
    state: join(certDir, `${prefix}.agent.json`),
    refusals: join(certDir, `${prefix}.refused.json`),
    text: (path) => onFile({ operation: "read", at: path }, () => files.textIfThere(path)),
    writePrivate: (path, content) => write(path, () => files.replaceFile(path, content)),
    writeShared: (path, content) => write(path, () => files.replaceFile(path, content, access)),
    remove: (path) => write(path, () => files.removeFile(path)),
    install,
    tidy,
  };
}

/** `<certDir>/<prefix>-YYYY-MM-DD-HH-MM-SS.pem`, by the time in UTC; `now` in milliseconds since the epoch. The prefix is `kubelet-client` unless given. */
export function credentialPath(certDir: string, now: number, prefix = "kubelet-client"): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
  return join(certDir, `${prefix}-${stamp}.pem`);
}

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
