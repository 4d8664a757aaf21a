import { randomFraction } from "../host/system-random.ts";
import type { RandomBytes } from "../apimachinery/clock.ts";
import {
  type AccessFolder,
  type AgentState,
  type StoredAccess,
  accessFolder,
  readAgentState,
  storedAccess,
  writeAgentState,
} from "./storage/access-folder.ts";
import type { AgentEvent, AgentWorld, CredentialName } from "./credential-event.ts";
import { JoinError, type JoinErrorCode, unlessUnusable } from "./join-error.ts";
import type { Manager, Turn } from "./run-managers.ts";
import { type FileAccess, type PrivateFiles, privateFiles } from "../host/private-files.ts";
import type { Renewal, renewToken } from "./request/renew-token.ts";
import {
  type RenewalFailures,
  type RenewalStep,
  dueAt,
  pauseAfter,
  renewalStep,
  rotationPause,
} from "./renewal/rotation-plan.ts";

/** The parameters of a folder's token manager. */
export interface TokenManagerOptions extends Omit<AgentWorld, "fraction"> {
  readonly dir: string;
  readonly keyFile?: string | undefined;
  /** Requests access again by itself also where an unexpired token is rejected: one that was revoked. */
  readonly askAgain: boolean;
  /** Whether the hub is known to reject a token; with `askAgain` it is then not kept until its renewal. */
  readonly isRefused?: ((token: string) => boolean) | undefined;
  readonly hostname: string;
  readonly random: RandomBytes;
  readonly files?: PrivateFiles;
  /** The readers of the token; default its owner only. */
  readonly access?: FileAccess | undefined;
  /** Called once for a new token; must not throw. */
  readonly renewed?: ((name: CredentialName) => Promise<void>) | undefined;
  /** How the manager calls the hub. */
  readonly calls: { readonly renew: typeof renewToken; readonly askAgain: AskAgain };
}

/** An access that the hub no longer accepts, and how long to wait for another one, in milliseconds; default a week. */
export interface RefusedAccess {
  readonly folder: AccessFolder;
  readonly refused: StoredAccess;
  readonly signal: AbortSignal;
  readonly waitMs?: number | undefined;
}

/** Requests access again and returns once another token is in the folder. @throws JoinError */
export type AskAgain = (
  access: RefusedAccess,
  report: (reported: Pick<AgentEvent, "reason" | "message" | "details">) => void,
) => Promise<void>;

/**
 * Renews the token of a folder that `pratique request` has written. The file is replaced as a whole and only by a parsed token of the
 * same account; a kill at any moment loses at most one unused token. The manager throws JoinError no-access, write-failed, and what a
 * repeated access request throws.
 */
export function tokenManager(options: TokenManagerOptions): Manager {
  const { clock } = options;
  const folder = accessFolder(options.dir, options.keyFile, options.files ?? privateFiles);
  const keeping = { folder, options };
  let memory: Memory | undefined;
  let given: { readonly token: string; readonly error: JoinError } | undefined;

  async function renew(access: StoredAccess, known: Memory, signal: AbortSignal): Promise<Turn> {
    const renewal = await options.calls.renew({ ...access, clock, userAgent: options.userAgent, signal });
    if (signal.aborted && renewal.kind === "failed") return { kind: "again" };
    memory = await after(renewal, known, { ...keeping, access });
    if (!options.once || memory.failures === undefined) return { kind: "again" };
    return { kind: "lost", error: await endOnce(renewal, access, { ...keeping, signal }) };
  }

  return {
    name: { kind: "token", path: folder.token },
    act: async (signal) => {
      if (memory === undefined) await tidy(folder, options);
      const access = await storedAccess(folder);
      if (given?.token === access.token) return { kind: "lost", error: given.error };
      memory = await forToken(memory ?? (await loadMemory(folder, options)), access, keeping);
      const step = nextStep(memory, access, options);
      if (step.kind === "wait") return { kind: "wait", until: step.until };
      if (step.kind === "refused") {
        memory = { ...memory, failures: undefined };
        const error = await refused(access, { ...keeping, signal, expired: step.expired });
        if (error === undefined) return { kind: "again" };
        given = { token: access.token, error };
        return { kind: "lost", error };
      }
      return renew(access, memory, signal);
    },
  };
}

/** A manager that may request access again tries to renew a token once it is known to be rejected; others keep it until its expiry. */
function nextStep(memory: Memory, { token, claims }: StoredAccess, options: TokenManagerOptions): RenewalStep {
  const { askAgain, isRefused, clock } = options;
  const hurries = askAgain && memory.failures === undefined && isRefused?.(token) === true;
  return hurries ? { kind: "renew" } : renewalStep({ ...memory, token: claims, now: clock.now() });
}

/** The state serves people; where it cannot be written, renewal continues. */
async function noted({ folder, options }: Keeping, state: AgentState): Promise<void> {
  await unlessUnusable(writeAgentState(folder, state, options.access));
}

interface Memory {
  /** The token of the state. */
  readonly token: string;
  readonly spread: number;
  readonly aheadMs: number | undefined;
  readonly renewedAt: number | undefined;
  readonly failures: RenewalFailures | undefined;
}

interface Keeping {
  readonly folder: AccessFolder;
  readonly options: TokenManagerOptions;
}

async function loadMemory(folder: AccessFolder, options: TokenManagerOptions): Promise<Memory> {
  const { aheadMs, renewedAt } = (await readAgentState(folder)) ?? {};
  return { token: "", spread: randomFraction(options.random), aheadMs, renewedAt, failures: undefined };
}

/** Removes secrets of a killed writer. No writer takes longer than a minute. */
async function tidy(folder: AccessFolder, { files = privateFiles, clock }: TokenManagerOptions): Promise<void> {
  try {
    await files.removeUnfinished(folder.dir, clock.now() - 60_000);
  } catch {
    // A missing or foreign folder is reported when the token is read.
  }
}

interface Refusing extends Keeping {
  readonly signal: AbortSignal;
}

/** With `once` there is no retry, so the first failure is final. */
async function endOnce(renewal: Renewal, access: StoredAccess, refusing: Refusing): Promise<JoinError> {
  if (renewal.kind === "renewed") return new JoinError("write-failed", `cannot write ${refusing.folder.token}`);
  const failure = new JoinError(renewal.code === "unauthorized" ? "unauthorized" : renewal.code, renewal.message);
  if (renewal.code !== "unauthorized") return failure;
  const expired = refusing.options.clock.now() >= access.claims.expiresAt;
  return (await refused(access, { ...refusing, expired })) ?? failure;
}

/** A token that another program wrote into the folder starts a new state. */
async function forToken(memory: Memory, access: StoredAccess, { folder, options }: Keeping): Promise<Memory> {
  if (memory.token === access.token) return memory;
  // With `once` there is no later run for this token, so all of the time from the earliest moment on is used.
  const next = {
    ...memory,
    token: access.token,
    spread: options.once ? 0 : randomFraction(options.random),
    failures: undefined,
  };
  const { claims } = access;
  const at = dueAt({ ...next, token: claims });
  await noted({ folder, options }, stateOf(next, access, { nextAt: at }));
  const account = `${claims.namespace}/${claims.serviceAccount}`;
  const message = "scheduled the renewal of the token";
  const { expiresAt } = claims;
  options.report({ ...nameOf(folder), reason: "RenewalScheduled", message, details: { account }, expiresAt, at });
  return next;
}

function stateOf(
  { aheadMs, renewedAt, failures }: Memory,
  { claims }: StoredAccess,
  more: Pick<AgentState, "nextAt"> & Partial<AgentState>,
): AgentState {
  return { expiresAt: claims.expiresAt, renewedAt, aheadMs, failures: failures?.count ?? 0, refused: false, ...more };
}

async function after(
  renewal: Renewal,
  memory: Memory,
  { access, folder, options }: Keeping & { readonly access: StoredAccess },
): Promise<Memory> {
  const now = options.clock.now();
  const outcome = renewal.kind === "renewed" ? await written(renewal, { folder, options }) : renewal;
  if (outcome.kind === "renewed") {
    const { claims } = outcome;
    const { expiresAt } = claims;
    options.report({ ...nameOf(folder), reason: "CredentialRenewed", message: "renewed the token", expiresAt });
    await options.renewed?.(nameOf(folder));
    return { ...memory, renewedAt: now, aheadMs: now - claims.issuedAt, failures: undefined };
  }
  const { count, refusals } = memory.failures ?? { count: 0, refusals: 0 };
  const leftMs = access.claims.expiresAt + (memory.aheadMs ?? 0) - now;
  const { retryAfterMs, message } = outcome;
  const pauseMs = pauseAfter({ count: count + 1, retryAfterMs, leftMs, random: randomFraction(options.random) });
  const failures = {
    count: count + 1,
    refusals: outcome.code === "unauthorized" ? refusals + 1 : 0,
    lastAt: now,
    pauseMs,
  };
  const next = { ...memory, failures };
  await noted({ folder, options }, stateOf(next, access, { nextAt: now + pauseMs, lastError: message }));
  options.report({
    ...nameOf(folder),
    reason: "RenewalFailed",
    message,
    at: now + pauseMs,
    expiresAt: access.claims.expiresAt,
  });
  return next;
}

/** A full disk may have room a minute later, and the old token is still there. */
async function written(renewal: Extract<Renewal, { kind: "renewed" }>, { folder, options }: Keeping): Promise<Renewal> {
  try {
    await folder.write(folder.token, renewal.token, options.access);
    return renewal;
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { kind: "failed", code: "refused", message: error.message, retryAfterMs: undefined };
  }
}

/** No approver decides at once, and the next run resumes the same request. */
const onceWaitMs = 30_000;

/** Connection problems, which may be temporary. */
const passing: ReadonlySet<JoinErrorCode> = new Set([
  "unreachable",
  "not-a-hub",
  "no-cluster-info",
  "bad-cluster-info",
  "timeout-waiting",
]);

/** Why the token is given up; undefined where a new one was granted, or the agent ends. */
async function refused(
  access: StoredAccess,
  { folder, options, signal, expired }: Refusing & { readonly expired: boolean },
): Promise<JoinError | undefined> {
  const { clock, report } = options;
  const why = expired
    ? "the token has expired"
    : "the hub does not accept the token (401): the access was revoked, or its request deleted";
  const state: AgentState = {
    expiresAt: access.claims.expiresAt,
    nextAt: clock.now(),
    failures: 0,
    refused: true,
    lastError: why,
  };
  await noted({ folder, options }, state);
  // An expired token was not revoked: its owner would request access again.
  if (!options.askAgain && !expired) {
    return new JoinError(
      "unauthorized",
      `${why}; request access again: pratique request ${access.server} --dir ${folder.dir} --name NAME, with a name that was not used before`,
    );
  }
  const message = `${why}; the agent requests access again`;
  report({ ...nameOf(folder), reason: "AccessRequestedAgain", message });
  for (let count = 1; ; count += 1) {
    try {
      await options.calls.askAgain(
        { signal, folder, refused: access, waitMs: options.once ? onceWaitMs : undefined },
        (reported) => report({ ...nameOf(folder), ...reported }),
      );
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      const { message: failure, pauseMs } = failureOfAsking(error, count, options);
      const { expiresAt } = access.claims;
      const at = clock.now() + pauseMs;
      report({ ...nameOf(folder), reason: "RenewalFailed", message: failure, at, expiresAt });
      await clock.sleep(pauseMs, signal);
      if (signal.aborted) return undefined;
    }
  }
}

/** The failure, and how long to wait before the next try. @throws the error where a retry is of no use, or there is none */
function failureOfAsking(
  error: unknown,
  count: number,
  { once, random }: TokenManagerOptions,
): { readonly message: string; readonly pauseMs: number } {
  if (!(error instanceof JoinError) || once) throw error;
  // Approvers may yet decide on a request that expired, or was approved without effect; a denial is their decision.
  const decided = error.code === "failed";
  const passes = decided || passing.has(error.code) || error.causeCode === "TooManyRequests";
  if (!passes) throw error;
  const fraction = randomFraction(random);
  const pauseMs = rotationPause({ count, decided, retryAfterMs: undefined, leftMs: 0, random: fraction });
  return { message: error.message, pauseMs };
}

function nameOf(folder: AccessFolder): CredentialName {
  return { kind: "token", path: folder.token };
}
