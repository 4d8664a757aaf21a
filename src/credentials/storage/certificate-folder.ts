import { basename, join } from "node:path";
import { onFile, unlessUnusable } from "../join-error.ts";
import type { FileAccess, PrivateFiles } from "../../host/private-files.ts";
import type { EarlyRotation } from "../renewal/early-rotation.ts";
import { count, record, stateFormat, text, time } from "./state-format.ts";

/** Which of a node's certificates, by the kubelet's file name. */
export type CertificatePrefix = "kubelet-client" | "kubelet-server";

/** The files of one renewed certificate. Each failure is a JoinError write-failed that names its path. */
export interface CertificateFolder {
  readonly certDir: string;
  /** The link to the certificate and key in use. */
  readonly current: string;
  /** The key of a pending rotation. */
  readonly nextKey: string;
  /** The stored state of the agent; contains no secret. */
  readonly state: string;
  /** That the hub rejects it; contains no secret, and exists only then. */
  readonly refusals: string;
  text(path: string): Promise<string | undefined>;
  /** Writes a file that only the agent may read. */
  writePrivate(path: string, content: string): Promise<void>;
  /** Writes a file that every reader of the certificate may read. */
  writeShared(path: string, content: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Writes certificate and key to a file of their own and points `current` to it, in this order. */
  install(content: string, now: number): Promise<void>;
  /** Removes all earlier files but the one before `current`, and the leftovers of killed writers. Ignores failures. */
  tidy(now: number): Promise<void>;
}

/** The files of `prefix` in a folder; touches nothing yet. @see client-go util/certificate certificate_store */
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
    // Names have a resolution of a second, and two rotations may fall into one.
    let at = now;
    while (taken.has(credentialPath("", at, prefix))) at += 1000;
    const path = credentialPath(certDir, at, prefix);
    await write(path, () => files.replaceFile(path, content, access));
    const via = join(certDir, `${prefix}-updated.pem`);
    await write(current, () => files.replaceLink({ path: current, target: path, via }));
  }

  async function tidy(now: number): Promise<void> {
    try {
      // No writer takes longer than a minute.
      await files.removeUnfinished(certDir, now - 60_000);
      const inUse = basename(await files.targetOf(current));
      const names = (await files.namesIn(certDir)).filter((name) => own.test(name) && name !== inUse);
      const older = names.filter((name) => name < inUse).toSorted();
      // A file later than the one in use was never installed: the agent was killed before.
      for (const name of names.filter((one) => one > inUse)) await files.removeFile(join(certDir, name));
      // A reader that has just resolved the link may still open its old target.
      for (const name of older.slice(0, -1)) await files.removeFile(join(certDir, name));
    } catch {
      // Old files do no harm, and the next rotation removes them.
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

/** `<certDir>/<prefix>-YYYY-MM-DD-HH-MM-SS.pem`, by the time in UTC; `now` in milliseconds since the epoch. The default prefix is `kubelet-client`. */
export function credentialPath(certDir: string, now: number, prefix = "kubelet-client"): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
  return join(certDir, `${prefix}-${stamp}.pem`);
}

/** What the agent stores of a certificate beside the files. Times in milliseconds since the epoch, by this machine's clock. */
export interface CertificateState {
  /** The serial number of the certificate that this is about; empty while there is none. */
  readonly serial: string;
  /** When it is rotated; drawn once. */
  readonly deadline: number;
  /** The time of the next action: the deadline, or the next try. */
  readonly nextAt: number;
  readonly renewedAt?: number | undefined;
  /** The serial number of the last certificate that was passed to `renewed`. */
  readonly announced: string;
  /** How many tries have failed in a row. */
  readonly failures: number;
  readonly lastError?: string | undefined;
  /** The pending request. */
  readonly request?: string | undefined;
  /** The hub's condition that the request waits for: reason and message. */
  readonly waitsFor?: string | undefined;
  /** The last early rotation, of this certificate or one before it. */
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

/** Writes it, with times in RFC 3339. It serves people, and a stable deadline; where it cannot be written, renewal continues. */
export async function writeCertificateState(folder: CertificateFolder, state: CertificateState): Promise<void> {
  await unlessUnusable(folder.writeShared(folder.state, format.print(state)));
}

/** The stored state, or undefined where there is none, or none that can be read. */
export async function readCertificateState(
  folder: Pick<CertificateFolder, "text" | "state">,
): Promise<CertificateState | undefined> {
  const stored = format.parse(await unlessUnusable(folder.text(folder.state)));
  return stored && { announced: stored.serial, failures: 0, ...stored };
}
