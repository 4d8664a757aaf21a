import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { privateFiles, textIfThere, type FileAccess, type PrivateFiles } from "../host/private-files.ts";
import type { RandomBytes } from "../apimachinery/clock.ts";
import { CaError, createCa, crossCertificate, loadCa, type CertificateAuthority } from "../pki/ca.ts";
import { exportPkcs8Pem, generatePrivateKey } from "../pki/keys.ts";
import { lockDirectory, type DirectoryLock } from "../storage/directory-lock.ts";
import { StorageError } from "../storage/store.ts";
import {
  trustedCas,
  firstState,
  parseState,
  stateText,
  takeStep,
  type AuthorityState,
  type AuthorityStep,
} from "./ca-state.ts";
import { HubError } from "../apimachinery/hub-error.ts";

/** The current CAs of a hub. */
export interface Authorities {
  readonly state: AuthorityState;
  /** Signs all new certificates. */
  readonly signer: CertificateAuthority;
  /** All trusted CAs, the signer first; more than one during a rotation. */
  readonly trusted: readonly CertificateAuthority[];
  /** The certificates of the trusted ones, for clients. */
  readonly bundlePem: string;
  /** Sent after a serving certificate, for clients that trust only the previous CA; empty where there is none. */
  readonly chainPem: string;
}

export interface AuthorityOptions {
  /** The folder for CAs, the state of their rotation and the serving certificate. */
  readonly dir: string;
  /** The operator's own CA in place of generated ones. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Whether to create a CA where there is none; default true. */
  readonly mayCreate?: boolean;
  readonly now: number;
  readonly random: RandomBytes;
}

const caYears = 10;

/** The hub's CAs: the operator's, or those from `dir`, the first of them created at the first start. @throws HubError with the invalid file. */
export async function openAuthorities(options: AuthorityOptions): Promise<Authorities> {
  const { dir, certFile, keyFile, now } = options;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new HubError(
      "options",
      "--cluster-signing-cert-file and --cluster-signing-key-file go together: give both or neither",
    );
  }
  if (certFile !== undefined && keyFile !== undefined) {
    return authoritiesOf(firstState, [await loaded({ certFile, keyFile, now, isGiven: true })], "");
  }
  const { state } = await readState(dir);
  if (state.signer === firstState.signer && !(await hasFirstCertificate(dir))) {
    if (options.mayCreate !== false) await makeFirstCa(options);
    else if (await isEmpty(dir)) throw noCa(dir);
  }
  return readAuthorities(dir, state, now);
}

/** Of several programs that start at once in one folder, as an authorizer and its --print-kubeconfig, one creates the CA, and the others wait for it. */
async function makeFirstCa(options: AuthorityOptions): Promise<void> {
  const { dir } = options;
  await privateFiles.privateFolder(dir);
  const lock = await lockFolder(dir, otherMakerMs);
  try {
    if (await isEmpty(dir)) await makeCa({ dir, files: privateFiles, owner: undefined }, { ...options, stem: "ca" });
  } finally {
    await lock.release();
  }
}

function noCa(dir: string): HubError {
  return new HubError(
    "ca",
    `the CA is missing in ${dir}, where a hub has run: no machine would trust another one; restore ca.crt and ca.key from the backup, or give --cluster-signing-cert-file and --cluster-signing-key-file if the hub ran with them`,
  );
}

/** The text of the state file and its parsed state; a folder without one is in its initial state. @throws HubError */
export async function readState(dir: string): Promise<{ readonly text: string; readonly state: AuthorityState }> {
  const file = join(dir, stateFile);
  const text = (await textIfThere(file)) ?? stateText(firstState);
  const state = parseState(text);
  if (state === undefined)
    throw new HubError("ca", `${file} is damaged: it must say which CA signs, such as {"signer":"ca"}`);
  return { text, state };
}

/**
 * The CAs of a state; those that are expired at `now` are left out, and an expired signer is an error. Without `now` all of them, for
 * display. @throws HubError with the invalid file.
 */
export async function readAuthorities(
  dir: string,
  state: AuthorityState,
  now: number | undefined,
): Promise<Authorities> {
  const { signer, previous } = state;
  const trusted = [await loaded({ ...filesOf(dir, signer), now })];
  for (const stem of trustedCas(state).slice(1)) {
    // One that is not valid yet stays: at startup the clock may be behind, and each use checks the validity at that time.
    const other = await loaded({ ...filesOf(dir, stem), now: undefined });
    if (now === undefined || now <= other.notAfter) trusted.push(other);
  }
  const chainPem = previous === undefined ? "" : ((await textIfThere(crossFile(dir, signer, previous))) ?? "");
  return authoritiesOf(state, trusted, chainPem);
}

/** The pins of all trusted CAs, the signer's first. */
export function pinsOf({ trusted }: Authorities): readonly string[] {
  return trusted.map(({ pin }) => pin);
}

/** The result of a step. */
export interface AuthorityChange {
  readonly before: AuthorityState;
  readonly after: AuthorityState;
}

/** The time of a step, and its random bytes. */
interface StepTime {
  readonly now: number;
  readonly random: RandomBytes;
}

/**
 * Takes one step of a rotation in the folder: new files first, then the state atomically, so that a crash leaves the state before or
 * the one after. A running hub reloads it. Files belong to the owner of the folder, whichever user takes the step.
 * @throws HubError for a step that cannot be taken now, for a folder without a CA, and while another process takes one
 */
export async function changeAuthorities(
  dir: string,
  step: AuthorityStep,
  at: StepTime & { readonly files?: PrivateFiles },
): Promise<AuthorityChange> {
  const lock = await lockFolder(dir);
  try {
    return await change({ dir, files: at.files ?? privateFiles, owner: await foreignOwner(dir) }, step, at);
  } finally {
    await lock.release();
  }
}

/** Where CAs are written, by which file system, and the owner of the files. */
interface Folder {
  readonly dir: string;
  readonly files: PrivateFiles;
  readonly owner: FileAccess["owner"];
}

async function change(folder: Folder, step: AuthorityStep, at: StepTime): Promise<AuthorityChange> {
  const { dir, files, owner } = folder;
  const { state } = await readState(dir);
  await removeNeedless(folder, state, at.now);
  const made = step === "prepare" ? await freeStem(dir) : "";
  const taken = takeStep(state, step, made);
  if (taken.kind === "refused") throw new HubError("ca", taken.why);
  if (step === "prepare") await makeCa(folder, { ...at, stem: made });
  if (step === "activate") await cross(folder, state, at);
  await files.replaceFile(join(dir, stateFile), stateText(taken.state), { mode: 0o600, owner });
  // Left by an activation that crashed before it wrote its state.
  if (step === "cancel" && state.next !== undefined) await files.removeFile(crossFile(dir, state.next, state.signer));
  await removeNeedless(folder, taken.state, at.now);
  return { before: state, after: taken.state };
}

/** No writer takes a minute. */
const writerMs = 60_000;

/**
 * Removes keys without a use, which could only be stolen; also those left by a crash. The certificates stay:
 * old signatures can still be checked.
 */
async function removeNeedless({ dir, files }: Folder, state: AuthorityState, now: number): Promise<void> {
  await files.removeUnfinished(dir, now - writerMs);
  const needed = new Set(trustedCas(state).map((stem) => `${stem}.key`));
  for (const name of await readdir(dir)) {
    if (/^ca(?:-\d{1,6})?\.key$/.test(name) && !needed.has(name)) await files.removeFile(join(dir, name));
  }
}

/** Creating a CA takes milliseconds, on a busy machine a second. */
const otherMakerMs = 10_000;
const lockAgainMs = 50;

/** Waits for so many milliseconds, none by default, while another program holds the lock. A running hub does not hold the lock: it only reads the state. */
async function lockFolder(dir: string, waitMs = 0): Promise<DirectoryLock> {
  for (let waitedMs = 0; ; waitedMs += lockAgainMs) {
    try {
      return await lockDirectory(dir);
    } catch (error) {
      if (!(error instanceof StorageError && error.code === "locked")) throw error;
      if (waitedMs >= waitMs) {
        throw new HubError("ca", `another change of the CA is under way: ${error.message}`, { cause: error });
      }
      await pause(lockAgainMs);
    }
  }
}

/** The owner of the folder where that is another user: root takes steps for a hub that runs as another user, which must still read the files. */
async function foreignOwner(dir: string): Promise<FileAccess["owner"]> {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = await stat(dir);
  return uid === 0 ? undefined : { uid, gid };
}

/**
 * Writes the certificate of the next CA that the current signer issues, for clients that trust the current signer alone. Not before the
 * activation: a CA that is canceled must have no certificate by which it is trusted.
 */
async function cross(folder: Folder, { signer, next }: AuthorityState, { now, random }: StepTime): Promise<void> {
  const { dir, files, owner } = folder;
  if (next === undefined) return;
  const subject = await loaded({ ...filesOf(dir, next), now });
  const before = await unlessExpired(loaded({ ...filesOf(dir, signer), now }));
  // No client accepts an expired CA, and one that may have no CA below it cannot certify the next.
  if (before === undefined || before.certificate.basicConstraints?.pathLength === 0) return;
  const pem = crossCertificate({ subject, signer: before, now, random });
  await files.replaceFile(crossFile(dir, next, signer), pem, { mode: 0o644, owner });
}

async function unlessExpired(ca: Promise<CertificateAuthority>): Promise<CertificateAuthority | undefined> {
  try {
    return await ca;
  } catch (error) {
    if (error instanceof HubError && error.cause instanceof CaError && error.cause.code === "expired") return undefined;
    throw error;
  }
}

async function makeCa(
  { dir, files, owner }: Folder,
  { stem, now, random }: StepTime & { readonly stem: string },
): Promise<CertificateAuthority> {
  await files.privateFolder(dir);
  const key = generatePrivateKey();
  const ca = createCa({ commonName: stem.replace("ca", "pratique"), key, now, years: caYears, random });
  const { certFile, keyFile } = filesOf(dir, stem);
  // The key first: a certificate without its key would count as a damaged CA.
  await files.replaceFile(keyFile, exportPkcs8Pem(key), { mode: 0o600, owner });
  await files.replaceFile(certFile, ca.pem, { mode: 0o644, owner });
  return ca;
}

async function loaded(from: {
  readonly certFile: string;
  readonly keyFile: string;
  readonly now: number | undefined;
  /** Whether the operator provides the files: then the operator restores and replaces the CA. */
  readonly isGiven?: boolean;
}): Promise<CertificateAuthority> {
  const { certFile, keyFile, now, isGiven = false } = from;
  const [certificatePem, keyPem] = [await textIfThere(certFile), await textIfThere(keyFile)];
  if (certificatePem === undefined || keyPem === undefined) {
    const next = isGiven ? "" : ": restore it from a backup of the data directory";
    throw new HubError(
      "ca",
      `${certificatePem === undefined ? certFile : keyFile} is missing; a CA needs its certificate and its key${next}`,
    );
  }
  try {
    return loadCa({ certificatePem, keyPem, now });
  } catch (error) {
    if (!(error instanceof CaError)) throw error;
    const next =
      error.code === "expired" ? `; ${wrongTime}; if the clock is right, ${isGiven ? "replace this CA" : newCa}` : "";
    throw new HubError("ca", `${certFile}, ${keyFile}: ${error.message}${next}`, { cause: error });
  }
}

const wrongTime = "correct the clock of this machine";
const newCa = "make another CA with `pratique ca prepare`, then `pratique ca activate`, and start the hub again";

function authoritiesOf(state: AuthorityState, trusted: readonly CertificateAuthority[], chainPem: string): Authorities {
  const [signer] = trusted;
  if (signer === undefined) throw new TypeError("a hub has at least one CA");
  return { state, signer, trusted, bundlePem: trusted.map(({ pem }) => pem).join(""), chainPem };
}

const stateFile = "ca-state.json";

function filesOf(dir: string, stem: string): { readonly certFile: string; readonly keyFile: string } {
  return { certFile: join(dir, `${stem}.crt`), keyFile: join(dir, `${stem}.key`) };
}

/** The file of one CA's certificate that another CA signs. */
function crossFile(dir: string, subject: string, signer: string): string {
  return join(dir, `${subject}-by-${signer}.crt`);
}

/** It is written after its key: where it exists, the first CA is complete. */
async function hasFirstCertificate(dir: string): Promise<boolean> {
  return (await textIfThere(filesOf(dir, "ca").certFile)) !== undefined;
}

async function isEmpty(dir: string): Promise<boolean> {
  const { certFile, keyFile } = filesOf(dir, "ca");
  return (await textIfThere(certFile)) === undefined && (await textIfThere(keyFile)) === undefined;
}

/** `ca-2` and so on: never one that was used before, so that no two CAs have the same name. */
async function freeStem(dir: string): Promise<string> {
  const used = (await readdir(dir)).flatMap((name) => /^ca-(\d{1,6})\.(?:crt|key)$/.exec(name)?.[1] ?? []);
  return `ca-${Math.max(1, ...used.map(Number)) + 1}`;
}
