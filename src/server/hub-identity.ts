import { X509Certificate } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inWords } from "../host/clock-skew.ts";
import { privateFolder, textIfThere } from "../host/private-files.ts";
import { rfc3339, type Clock } from "../apimachinery/clock.ts";
import { decodePem, PemError } from "../pki/pem.ts";
import { dataFile, holdsStore } from "../storage/store-directory.ts";
import type { Store } from "../storage/store.ts";
import { HubError } from "../apimachinery/hub-error.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import { isCopy, markOf, readHubRecord, wasUsed, writeHubRecord, type FileMark, type HubRecord } from "./hub-record.ts";

/** The locations of the store and of the keys of a hub. */
export interface Halves {
  readonly dataDir: string;
  readonly pkiDir: string;
  readonly storeDir: string;
  /** The CA of the operator, if given. */
  readonly caFile: string | undefined;
}

/** The token keys, by their key IDs. */
export interface TokenKeyIds {
  /** That of `pki/sa.key`; undefined where there is no such file. */
  readonly own: string | undefined;
  /** The signing key. */
  readonly signing: string | undefined;
  /** Whether the operator has named the file of the signing key: a changed key is then intended. */
  readonly isGiven: boolean;
}

/** A hub whose store and CA are known to belong together. */
export interface HubIdentity {
  /** Records which store belongs to the CA, and its revision, where it has changed since the last time. Never rejects. */
  note(): Promise<void>;
}

/** The namespace that identifies a store: its UID identifies a cluster elsewhere too, and admission prevents its deletion. */
const identityKey = "/registry/core/namespaces/kube-system";

/**
 * The record of the hub before its store is opened; undefined before its first start is complete. Changes nothing. @throws HubError
 * data-dir where there are keys of a hub and no store
 */
export async function knownHub(halves: Halves): Promise<{ readonly record: HubRecord | undefined } | undefined> {
  const record = await readHubRecord(halves.pkiDir);
  const isKnown = record?.phase === "ready" || (record === undefined && (await wasUsed(halves.pkiDir)));
  if (!isKnown) return undefined;
  if (!(await holdsStore(halves.storeDir))) throw missing(halves, "store");
  return { record };
}

/**
 * Creates the record of a new hub, or continues an interrupted first start. The store is open, so no other hub does the same. @throws
 * HubError data-dir where the store belongs to a hub whose keys are missing
 */
export async function beginHub(halves: Halves, store: Store, clock: Pick<Clock, "now">): Promise<HubRecord> {
  const begun = await readHubRecord(halves.pkiDir);
  if (begun !== undefined) return begun;
  if ((await store.currentRevision()) > 0) throw missing(halves, "pki");
  const record: HubRecord = { id: "", phase: "new", revision: 0, at: rfc3339(clock.now()) };
  await privateFolder(halves.pkiDir);
  await writeHubRecord(halves.pkiDir, record);
  return record;
}

function missing({ dataDir, pkiDir, storeDir }: Halves, half: "pki" | "store"): HubError {
  const [gone, kept] = half === "pki" ? [pkiDir, storeDir] : [storeDir, pkiDir];
  const what = half === "pki" ? "holds no keys of a hub" : "holds no store";
  return new HubError(
    "data-dir",
    `${gone} ${what}, but ${kept} belongs to a hub that has run: restore ${gone} from the same backup; for a new hub, use an empty directory in place of ${dataDir}`,
  );
}

/** An open store, and the other inputs of a start. */
interface OpenHub {
  readonly store: Store;
  readonly clock: Pick<Clock, "now">;
  readonly log: (entry: LogEntry) => void;
  readonly tokenKeys: TokenKeyIds;
  /** The list of revocations of this start, if any. */
  readonly revocationsFile: string | undefined;
}

/**
 * Verifies that store and CA belong to one hub, and warns where they were restored from an older copy. A hub without a record gets one,
 * where the CA named in its store is one in `pki`. @throws HubError data-dir where they belong to two hubs
 */
export async function identifyHub(halves: Halves, record: HubRecord | undefined, open: OpenHub): Promise<HubIdentity> {
  const known = record?.phase === "ready" ? record : undefined;
  if (known !== undefined) await requireSameHub(halves, known, open);
  await requireOwnCa(halves, known, open);
  const mark = await markOf(join(halves.storeDir, dataFile));
  if (known !== undefined) {
    warnOfRestore(known, { mark, revision: await open.store.currentRevision() }, open);
    warnOfClock(known, open);
  }
  const { own, signing } = open.tokenKeys;
  // A key file that does not sign, since another was given, has not been checked.
  const serviceAccountKey = own !== undefined && own === signing ? own : record?.serviceAccountKey;
  const note = noteOf(open, halves.pkiDir, { file: mark, serviceAccountKey });
  await note();
  return { note };
}

async function requireSameHub(halves: Halves, known: HubRecord, { store, tokenKeys }: OpenHub): Promise<void> {
  const id = await idOf(store);
  if (id === undefined) throw missing(halves, "store");
  if (id !== known.id) throw twoHubs(halves);
  const { own, isGiven } = tokenKeys;
  if (!isGiven && known.serviceAccountKey !== undefined && own !== known.serviceAccountKey) throw otherKey(halves);
}

async function requireOwnCa(halves: Halves, known: HubRecord | undefined, { store, log }: OpenHub): Promise<void> {
  if (await namesOwnCa(store, halves)) return;
  if (known === undefined) throw twoHubs(halves);
  if (halves.caFile === undefined) throw otherCa(halves);
  log(
    logEntry(
      "UntrustedSigner",
      `--cluster-signing-cert-file ${halves.caFile} is none of the CAs that clients of this hub trust; machines that joined before do not trust this hub until they are given the new CA`,
    ),
  );
}

async function idOf(store: Store): Promise<string | undefined> {
  const { value } = await store.get(identityKey);
  return value === undefined ? undefined : stored(value.value).metadata?.uid;
}

interface Stored {
  readonly metadata?: { readonly uid?: string };
  readonly data?: Readonly<Record<string, unknown>>;
}

function stored(bytes: Uint8Array): Stored {
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as Stored;
}

function noteOf(
  { store, clock, log }: OpenHub,
  pkiDir: string,
  facts: Pick<HubRecord, "file" | "serviceAccountKey">,
): () => Promise<void> {
  let noted = -1;
  let isFailing = false;
  return async () => {
    try {
      // A durable revision: after a crash the store has it.
      const revision = await store.currentRevision();
      const id = revision === noted ? undefined : await idOf(store);
      // Missing before the first start has created it.
      if (id === undefined) return;
      await writeHubRecord(pkiDir, { id, phase: "ready", revision, at: rfc3339(clock.now()), ...facts });
      noted = revision;
      isFailing = false;
    } catch (error) {
      if (!isFailing)
        log(logEntry("RecordWriteFailed", "the hub cannot record the revision of its store beside the CA", { error }));
      isFailing = true;
    }
  };
}

function warnOfRestore(
  record: HubRecord,
  { mark, revision }: { readonly mark: FileMark; readonly revision: number },
  { log, revocationsFile }: OpenHub,
): void {
  const isOlder = revision < record.revision;
  if (!isOlder && (record.file === undefined || !isCopy(record.file, mark))) return;
  const what = isOlder
    ? "the store is older than pki/, so credentials that were revoked after it was copied"
    : "the data directory is a copy; if it is a backup, credentials that were revoked after it was made";
  const next =
    revocationsFile === undefined
      ? "take the revocations from a newer list: pratique hub --revocations-from FILE, or pratique revocations import FILE"
      : `but for those that ${revocationsFile} lists, which are added before the port opens`;
  const message = `${what} are accepted again, and accounts, bindings and tokens that were deleted are back; ${next}`;
  const details = { revision, recordedRevision: record.revision, recordedAt: record.at };
  log(logEntry("DataDirectoryRestored", message, details));
}

/** A difference that NTP corrects after a start. In milliseconds. */
const clockSlackMs = 60_000;

/** With a clock behind the last run, certificates issued then are not valid yet, and expired ones are valid again. */
function warnOfClock(record: HubRecord, { clock, log }: OpenHub): void {
  const now = clock.now();
  const behind = Date.parse(record.at) - now;
  if (!(behind > clockSlackMs)) return;
  const message = `the system clock is ${inWords(behind)} behind the time at which this hub last ran: correct the clock of this machine; until then certificates and tokens that have ended since are accepted`;
  log(logEntry("ClockBehind", message, { now: rfc3339(now), recordedAt: record.at }));
}

function twoHubs({ pkiDir, storeDir }: Halves): HubError {
  return new HubError("data-dir", `${pkiDir} and ${storeDir} belong to two hubs; restore both from the same backup`);
}

function otherCa({ pkiDir, storeDir }: Halves): HubError {
  return new HubError(
    "data-dir",
    `${pkiDir} holds another CA than the one that clients of ${storeDir} trust: restore ca.crt and ca.key from the backup; to change the CA, use pratique ca prepare`,
  );
}

function otherKey({ pkiDir, storeDir }: Halves): HubError {
  const file = join(pkiDir, "sa.key");
  return new HubError(
    "data-dir",
    `${file} is not the key that belongs to ${storeDir}, and its holder could sign tokens of any ServiceAccount: restore it from the backup; if the key was replaced on purpose, start once with --service-account-signing-key-file ${file}`,
  );
}

/** Whether the CA that the store publishes to its clients is one in `pki`. A store that publishes none was never in use. */
async function namesOwnCa(store: Store, halves: Halves): Promise<boolean> {
  const named = await namedCas(store);
  if (named.length === 0) return true;
  const own = new Set(await ownCas(halves));
  return named.some((ca) => own.has(ca));
}

const rootCas = ["kube-system", "default", "kube-public"].map(
  (namespace) => `/registry/core/configmaps/${namespace}/kube-root-ca.crt`,
);

/** The public keys of the CAs in the ConfigMaps `kube-root-ca.crt`. */
async function namedCas(store: Store): Promise<readonly string[]> {
  const found = await Promise.all(rootCas.map((key) => store.get(key)));
  return found.flatMap(({ value }) => {
    const pem = value === undefined ? undefined : stored(value.value).data?.["ca.crt"];
    return typeof pem === "string" ? keysIn(pem) : [];
  });
}

/** Includes CAs that were revoked while the hub was stopped: their certificates remain. */
async function ownCas({ pkiDir, caFile }: Halves): Promise<readonly string[]> {
  if (caFile !== undefined) return keysIn((await textIfThere(caFile)) ?? "");
  const names = (await readdir(pkiDir)).filter((name) => /^ca(?:-\d+)?\.crt$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(pkiDir, name), "utf8")));
  return texts.flatMap(keysIn);
}

function keysIn(pem: string): readonly string[] {
  try {
    return decodePem(pem, { surroundingText: "ignore" }).map(({ bytes }) =>
      new X509Certificate(bytes).publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    );
  } catch (error) {
    if (error instanceof PemError) return [];
    throw error;
  }
}
