import type { Clock, RandomBytes } from "../core/clock.ts";
import { accessFolder, type AccessFolder } from "./access-folder.ts";
import type { AgentReport } from "./agent-event.ts";
import { readAgentState, writeAgentState, type AgentState } from "./agent-state.ts";
import { askAccessAgain } from "./ask-access-again.ts";
import { JoinError, type JoinErrorCode } from "./join-error.ts";
import type { JoinReport } from "./join-event.ts";
import { keptAccess, type KeptAccess } from "./kept-access.ts";
import { privateFiles, type PrivateFiles } from "./private-files.ts";
import { renewToken, type Renewal } from "./renew-token.ts";
import { dueAt, pauseAfter, renewalStep, type RenewalFailures } from "./token-renewal-policy.ts";

/** How access is kept. */
export interface KeepAccessOptions {
  readonly dir: string;
  readonly keyFile?: string | undefined;
  /** Does what is due now and ends. */
  readonly once: boolean;
  /** Asks for access anew by itself when the token is refused. */
  readonly askAgain: boolean;
  readonly hostname: string;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
  readonly userAgent: string;
  readonly report: AgentReport;
  /** Is told how asking anew goes. */
  readonly reportRequest: JoinReport;
  readonly files?: PrivateFiles;
  /** How the hub is asked; default over the network. */
  readonly calls?: { readonly renew: typeof renewToken; readonly askAgain: typeof askAccessAgain };
}

/** Long sleeps are cut, so that a machine that slept, or whose clock was set, is not late. */
const longestSleepMs = 60_000;

/**
 * Keeps the token of a folder fresh until `signal` aborts, or with `once` until nothing is due. The file is replaced as a whole and
 * only by a token that was read and is of the same account; being killed at any moment loses nothing but one unused token.
 * @throws JoinError no-access, unauthorized when the token is refused, write-failed, and what asking anew throws
 */
export async function keepAccess(options: KeepAccessOptions): Promise<void> {
  const { clock, signal, once } = options;
  const folder = accessFolder(options.dir, options.keyFile, options.files ?? privateFiles);
  const renew = options.calls?.renew ?? renewToken;
  await tidy(folder, options);
  let memory = await remembered(folder, options);
  while (!signal.aborted) {
    const access = await keptAccess(folder);
    memory = await forToken(memory, access, { folder, options });
    const step = renewalStep({ ...memory, token: access.claims, now: clock.now() });
    if (step.kind === "wait") {
      if (once) return;
      await clock.sleep(Math.min(step.until - clock.now(), longestSleepMs), signal);
      continue;
    }
    if (step.kind === "refused") {
      await refused(access, step.expired, { folder, options });
      memory = { ...memory, failures: undefined };
      continue;
    }
    const renewal = await renew({ ...access, clock, userAgent: options.userAgent, signal });
    if (signal.aborted && renewal.kind === "failed") return;
    memory = await after(renewal, memory, { access, folder, options });
    if (once && memory.failures !== undefined) return endOnce(renewal, access, { folder, options });
  }
}

/** The state is for people to look at; where it cannot be written, renewing goes on. */
async function noted(folder: AccessFolder, state: AgentState): Promise<void> {
  try {
    await writeAgentState(folder, state);
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
  }
}

interface Memory {
  /** The token that it is about. */
  readonly token: string;
  readonly spread: number;
  readonly aheadMs: number | undefined;
  readonly renewedAt: number | undefined;
  readonly failures: RenewalFailures | undefined;
}

interface Keeping {
  readonly folder: AccessFolder;
  readonly options: KeepAccessOptions;
}

async function remembered(folder: AccessFolder, options: KeepAccessOptions): Promise<Memory> {
  const { aheadMs, renewedAt } = (await readAgentState(folder)) ?? {};
  return { token: "", spread: fraction(options), aheadMs, renewedAt, failures: undefined };
}

/** Secrets of a writer that was killed do not lie about. A minute is more than any writer takes. */
async function tidy(folder: AccessFolder, { files = privateFiles, clock }: KeepAccessOptions): Promise<void> {
  try {
    await files.removeUnfinished(folder.dir, clock.now() - 60_000);
  } catch {
    // A folder that is not there, or not ours, is told about when the token is read.
  }
}

/** With `once` nobody tries again, so the first failure is the end. */
async function endOnce(renewal: Renewal, access: KeptAccess, keeping: Keeping): Promise<void> {
  if (renewal.kind === "renewed") throw new JoinError("write-failed", `cannot write ${keeping.folder.token}`);
  if (renewal.code !== "unauthorized") throw new JoinError(renewal.code, renewal.message);
  await refused(access, keeping.options.clock.now() >= access.claims.expiresAt, keeping);
}

/** In [0, 1). */
function fraction({ random }: KeepAccessOptions): number {
  const [high = 0, low = 0] = random(2);
  return (high * 256 + low) / 65_536;
}

/** Whoever wrote another token into the folder began a new life. */
async function forToken(memory: Memory, access: KeptAccess, { folder, options }: Keeping): Promise<Memory> {
  if (memory.token === access.token) return memory;
  // With `once` nobody comes back later in this token's life, so all of the time from the earliest moment on is used.
  const next = { ...memory, token: access.token, spread: options.once ? 0 : fraction(options), failures: undefined };
  const { claims } = access;
  const at = dueAt({ ...next, token: claims });
  await noted(folder, stateOf(next, access, { nextAt: at }));
  const account = `${claims.namespace}/${claims.serviceAccount}`;
  options.report({ kind: "planned", at, expiresAt: claims.expiresAt, account });
  return next;
}

function stateOf(
  { aheadMs, renewedAt, failures }: Memory,
  { claims }: KeptAccess,
  more: Pick<AgentState, "nextAt"> & Partial<AgentState>,
): AgentState {
  return { expiresAt: claims.expiresAt, renewedAt, aheadMs, failures: failures?.count ?? 0, refused: false, ...more };
}

async function after(
  renewal: Renewal,
  memory: Memory,
  { access, folder, options }: Keeping & { readonly access: KeptAccess },
): Promise<Memory> {
  const now = options.clock.now();
  const outcome = renewal.kind === "renewed" ? await written(renewal, folder) : renewal;
  if (outcome.kind === "renewed") {
    const { claims } = outcome;
    options.report({ kind: "renewed", expiresAt: claims.expiresAt });
    return { ...memory, renewedAt: now, aheadMs: now - claims.issuedAt, failures: undefined };
  }
  const { count, refusals } = memory.failures ?? { count: 0, refusals: 0 };
  const leftMs = access.claims.expiresAt + (memory.aheadMs ?? 0) - now;
  const { retryAfterMs, message } = outcome;
  const pauseMs = pauseAfter({ count: count + 1, retryAfterMs, leftMs, random: fraction(options) });
  const failures = {
    count: count + 1,
    refusals: outcome.code === "unauthorized" ? refusals + 1 : 0,
    lastAt: now,
    pauseMs,
  };
  const next = { ...memory, failures };
  await noted(folder, stateOf(next, access, { nextAt: now + pauseMs, lastError: message }));
  options.report({ kind: "failed", message, at: now + pauseMs, expiresAt: access.claims.expiresAt });
  return next;
}

/** A disk that is full may have room a minute later, and the old token is still there. */
async function written(renewal: Extract<Renewal, { kind: "renewed" }>, folder: AccessFolder): Promise<Renewal> {
  try {
    await folder.write(folder.token, renewal.token);
    return renewal;
  } catch (error) {
    if (!(error instanceof JoinError)) throw error;
    return { kind: "failed", code: "refused", message: error.message, retryAfterMs: undefined };
  }
}

/** Problems on the way to the hub, which may pass. */
const passing: ReadonlySet<JoinErrorCode> = new Set([
  "unreachable",
  "not-a-hub",
  "no-cluster-info",
  "bad-cluster-info",
  "timeout-waiting",
]);

async function refused(access: KeptAccess, expired: boolean, { folder, options }: Keeping): Promise<void> {
  const { clock, signal, report } = options;
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
  await noted(folder, state);
  if (!options.askAgain) {
    throw new JoinError(
      "unauthorized",
      `${why}; ask for access anew: pratique request ${access.server} --dir ${folder.dir}`,
    );
  }
  report({ kind: "asking-again", message: why });
  for (let count = 1; ; count += 1) {
    try {
      return await (options.calls?.askAgain ?? askAccessAgain)(
        { ...options, folder, refused: access },
        options.reportRequest,
      );
    } catch (error) {
      if (signal.aborted) return;
      const passes = error instanceof JoinError && (passing.has(error.code) || error.causeCode === "TooManyRequests");
      if (!passes) throw error;
      const pauseMs = pauseAfter({ count, retryAfterMs: undefined, leftMs: 0, random: fraction(options) });
      const { expiresAt } = access.claims;
      report({ kind: "failed", message: error.message, at: clock.now() + pauseMs, expiresAt });
      await clock.sleep(pauseMs, signal);
      if (signal.aborted) return;
    }
  }
}
