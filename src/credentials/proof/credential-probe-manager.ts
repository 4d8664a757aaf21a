import { rfc3339 } from "../../apimachinery/clock.ts";
import { nouns as credentialNouns, type AgentWorld, type CredentialName } from "../credential-event.ts";
import { probeCredential, credentialDigest, type Acceptance } from "./credential-probe.ts";
import { JoinError, unlessUnusable } from "../join-error.ts";
import type { Trust } from "../trust/trust-bundle-manager.ts";
import type { Manager, Turn } from "../run-managers.ts";
import type { ClientCredentials } from "../../client/transport.ts";
import { count, stateFormat, text, time } from "../storage/state-format.ts";

/** The present state of a credential. The credentials are secret. */
export interface Presented extends Trust {
  /** Its expiry by this machine's clock, in milliseconds since the epoch. The hub judges the beginning. */
  readonly notAfter: number;
}

/** The source of the credential, and the file that records its rejection. */
export interface PresentedStore {
  readonly name: CredentialName & { readonly kind: "token" | "client-certificate" };
  /** @throws JoinError no-access */
  readonly read: () => Promise<Presented>;
  readonly refusals: RefusalFile;
}

/** How a credential is probed. */
export interface CredentialProbeManagerOptions extends AgentWorld {
  readonly store: PresentedStore;
  /** Called with each reply of the hub that it accepts the credential; must not throw. */
  readonly confirmed?: (() => void) | undefined;
  /** Receives the digest of a credential that counts as rejected, and undefined when none does. */
  readonly refused?: ((digest: string | undefined) => void) | undefined;
}

const everyMs = 600_000;
const startMs = 60_000;
const againMs = 60_000;
const onceAgainMs = 5000;

/** The next step where the hub no longer accepts a credential. */
export const remedies: Readonly<Record<PresentedStore["name"]["kind"], string>> = {
  token:
    "see why on the hub (pratique credentials, pratique revocations list); then request access with pratique request under another --name, which an approver must approve",
  "client-certificate":
    "see why on the hub (pratique credentials, pratique revocations list); where only this certificate was revoked, join again with pratique join --force; where the node was (user system:node:NAME), that revocation must be deleted there first, and this certificate is accepted again",
};

const nouns: Readonly<Record<PresentedStore["name"]["kind"], string>> = {
  token: "the token: the access was revoked, or the account deleted",
  "client-certificate":
    "the client certificate: it was revoked, its CA is no longer trusted, or it is not valid yet by the hub's clock",
};

/**
 * Probes whether the hub accepts a credential that has not expired: about every ten minutes, after a rejection again within a minute; the
 * third rejection in a row counts, and one acceptance ends the count. A hub that cannot be reached, or answers neither, does not count.
 * With `once` all probes run in this run, and such a hub is an error, as is a rejection.
 */
export function credentialProbeManager(options: CredentialProbeManagerOptions): Manager {
  const { clock, once } = options;
  const { name, read } = options.store;
  let memory: Memory | undefined;

  async function asked(presented: Presented, known: Memory, signal: AbortSignal): Promise<Turn> {
    const now = clock.now();
    const acceptance = await probeCredential(presented, { ...options, signal });
    if (signal.aborted) return { kind: "wait", until: now };
    const refusals = acceptance.kind === "unknown" ? known.refusals : counted(known, acceptance, clock.now());
    await noted(known.refusals, refusals, options);
    if (acceptance.kind === "accepted") options.confirmed?.();
    const until = nextAsk(refusals, acceptance.kind, options);
    memory = { ...known, refusals, lastAt: clock.now(), until };
    if (!once || acceptance.kind === "accepted") return { kind: "wait", until };
    const error = lastError(name, refusals, acceptance);
    if (error !== undefined) return { kind: "lost", error };
    await clock.sleep(until - clock.now(), signal);
    return signal.aborted ? { kind: "wait", until: now } : { kind: "again" };
  }

  return {
    name: { kind: "check", path: name.path },
    act: async (signal): Promise<Turn> => {
      const presented = await read();
      const now = clock.now();
      memory = await loadMemory(memory, credentialDigest(presented.credentials), options);
      // An expired credential is rejected for that, and its own manager reports it.
      if (now >= presented.notAfter) return { kind: "wait", until: now + startMs };
      // A clock that was set back would else prolong the wait by as much.
      if (memory.lastAt <= now && now < memory.until) return { kind: "wait", until: memory.until };
      return asked(presented, memory, signal);
    },
  };
}

/** Why there is nothing more to probe in a run with no later check. */
function lastError(
  name: PresentedStore["name"],
  refusals: Refusals | undefined,
  acceptance: Exclude<Acceptance, { readonly kind: "accepted" }>,
): JoinError | undefined {
  if (isRefused(refusals)) return new JoinError("unauthorized", sentence(name, refusals));
  return acceptance.kind === "unknown" ? new JoinError("unreachable", acceptance.message) : undefined;
}

interface Memory {
  /** The digest of the probed credential. */
  readonly credential: string;
  readonly refusals: Refusals | undefined;
  readonly lastAt: number;
  readonly until: number;
}

/** A credential that another program installed starts a new count; a restarted agent continues the stored one. */
async function loadMemory(
  memory: Memory | undefined,
  credential: string,
  options: CredentialProbeManagerOptions,
): Promise<Memory> {
  if (memory?.credential === credential) return memory;
  const { clock, once, fraction, store } = options;
  const now = clock.now();
  const stored = memory === undefined ? await readRefusals(store.refusals) : memory.refusals;
  const refusals = stored?.credential === credential ? stored : undefined;
  if (memory === undefined && isRefused(refusals)) notify(refusals, options);
  else await noted(stored, refusals, options);
  // Spreads machines that were started together.
  return { credential, refusals, lastAt: now, until: once ? now : now + Math.floor(startMs * fraction()) };
}

function counted(
  { credential, refusals }: Memory,
  acceptance: { readonly kind: "accepted" } | { readonly kind: "refused"; readonly message: string },
  now: number,
): Refusals | undefined {
  if (acceptance.kind === "accepted") return undefined;
  const { message } = acceptance;
  return { credential, count: (refusals?.count ?? 0) + 1, since: refusals?.since ?? now, message };
}

function nextAsk(
  refusals: Refusals | undefined,
  kind: "accepted" | "refused" | "unknown",
  { clock, fraction, once }: CredentialProbeManagerOptions,
): number {
  const isOpen = kind === "refused" && !isRefused(refusals);
  if (isOpen) return clock.now() + (once ? onceAgainMs : Math.round(againMs * (0.5 + 0.5 * fraction())));
  return clock.now() + Math.round(everyMs * (0.8 + 0.4 * fraction()));
}

/** Stores and reports changes. */
async function noted(
  before: Refusals | undefined,
  after: Refusals | undefined,
  options: CredentialProbeManagerOptions,
): Promise<void> {
  const was = isRefused(before);
  // Counting further rejections has no use, and would write the file without end.
  if (before !== after && !(was && isRefused(after))) await writeRefusals(options.store.refusals, after);
  if (isRefused(after)) {
    if (!was) notify(after, options);
  } else if (was) {
    options.refused?.(undefined);
    const { name } = options.store;
    const message = `the hub accepts ${credentialNouns[name.kind]} again`;
    options.report({ ...name, reason: "CredentialAccepted", message });
  }
}

function notify(refusals: Refusals, { store: { name }, report, refused }: CredentialProbeManagerOptions): void {
  const { credential, since } = refusals;
  refused?.(credential);
  const details = { since: rfc3339(since) };
  report({ ...name, reason: "CredentialRejected", message: sentence(name, refusals), details });
}

function sentence({ kind }: PresentedStore["name"], { message }: Refusals): string {
  return `the hub does not accept ${nouns[kind]} (${message}); ${remedies[kind]}`;
}

/** How many times in a row a hub has rejected an unexpired credential. */
export interface Refusals {
  /** The digest of the credential. */
  readonly credential: string;
  readonly count: number;
  /** The time of the first, in milliseconds since the epoch. */
  readonly since: number;
  /** The hub's message. */
  readonly message: string;
}

/** The file of rejections; it does not exist while the hub accepts the credential. */
export interface RefusalFile {
  /** The present contents, undefined where there is no file. */
  readonly text: () => Promise<string | undefined>;
  /** @throws JoinError write-failed */
  readonly write: (content: string) => Promise<void>;
  /** @throws JoinError write-failed */
  readonly remove: () => Promise<void>;
}

/** A hub that has just started, or one of several behind an address, may reject what it accepts a moment later. */
const minRefusals = 3;

/** Whether they are so many that the credential counts as rejected. */
export function isRefused(refusals: Refusals | undefined): refusals is Refusals {
  return refusals !== undefined && refusals.count >= minRefusals;
}

const format = stateFormat<Refusals, keyof Refusals>({ credential: text, count, since: time, message: text }, [
  "credential",
  "count",
  "since",
  "message",
]);

/** The stored rejections, or undefined where there are none, or none that can be read. */
async function readRefusals(file: Pick<RefusalFile, "text">): Promise<Refusals | undefined> {
  return format.parse(await unlessUnusable(file.text()));
}

/** That the hub rejects an unexpired credential: since when, in milliseconds since the epoch, and with which message. */
export type Refused = Pick<Refusals, "since" | "message">;

/** Whether the stored rejections are of this very credential; those of another one do not count. */
export async function refusalOf(
  credentials: ClientCredentials,
  file: Pick<RefusalFile, "text">,
): Promise<Refused | undefined> {
  const found = await readRefusals(file);
  if (!isRefused(found) || found.credential !== credentialDigest(credentials)) return undefined;
  return { since: found.since, message: found.message };
}

/** Stores them, or removes the file. It serves people and the next agent; where it cannot be written, the agent continues. */
async function writeRefusals(file: RefusalFile, refusals: Refusals | undefined): Promise<void> {
  await unlessUnusable(refusals === undefined ? file.remove() : file.write(format.print(refusals)));
}
