import type { Clock } from "../apimachinery/clock.ts";
import { type AuditBackend, lossCounter } from "./audit-log.ts";

/** Sends events to a server in batches. */
export interface AuditWebhookOptions {
  /** Posts a JSON body and resolves with the status of the response. Rejects when there is none. */
  readonly post: (
    body: Buffer,
    signal: AbortSignal,
  ) => Promise<{ readonly status: number; readonly retryAfterSeconds: number | undefined }>;
  readonly batchMaxSize: number;
  /** How long an event waits for others, in milliseconds. */
  readonly batchMaxWaitMs: number;
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly chance: () => number;
  readonly trouble: (message: string, error?: Error) => void;
}

/** Limits of the events that wait to be sent; more are dropped. */
const max = { events: 10_000, characters: 64 << 20 } as const;
/** Attempts, and growth and jitter of the wait between them. Source: apiserver pkg/util/webhook. */
const retry = { tries: 5, factor: 1.5, jitter: 0.2, maxMs: 60_000 } as const;
const answerMs = 30_000;
/** How long a stop may take. */
const flushMs = 5_000;

/**
 * Sends one batch after the other as an audit.k8s.io/v1 EventList. A transient failure (no answer, 429, 500, 504, or a
 * Retry-After) is tried five times in all, any other failure once. Lost events are counted; requests never wait.
 */
export function auditWebhook(options: AuditWebhookOptions): AuditBackend {
  const { clock, batchMaxSize, trouble } = options;
  const closing = new AbortController();
  let waiting: string[] = [];
  let characters = 0;
  const losses = lossCounter(trouble);
  let full: (() => void) | undefined;
  let sending: Promise<void> | undefined;

  const lose = (count: number, why: string, error?: Error): void =>
    losses.lose(count, `audit events are lost: ${why}`, error);
  const taken = (): void => losses.recover((count) => `the audit webhook takes events again; ${count} were lost`);
  const gathered = async (): Promise<void> => {
    if (waiting.length >= batchMaxSize || closing.signal.aborted) return;
    const enough = new AbortController();
    const stop = (): void => enough.abort();
    full = stop;
    closing.signal.addEventListener("abort", stop, { once: true });
    await clock.sleep(options.batchMaxWaitMs, enough.signal);
    closing.signal.removeEventListener("abort", stop);
    full = undefined;
  };
  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      await gathered();
      const batch = waiting.slice(0, batchMaxSize);
      waiting = waiting.slice(batch.length);
      characters -= batch.reduce((sum, line) => sum + line.length, 0);
      await deliver(options, closing.signal, batch).then(taken, (error: unknown) =>
        lose(batch.length, "the webhook does not take them", error instanceof Error ? error : undefined),
      );
    }
    sending = undefined;
  };
  return {
    write: (line) => {
      if (waiting.length >= max.events || characters + line.length > max.characters) {
        lose(1, "the webhook is too slow");
        return;
      }
      waiting.push(line);
      characters += line.length;
      if (waiting.length >= batchMaxSize) full?.();
      sending ??= sendAll();
    },
    lost: losses.total,
    close: async () => {
      closing.abort();
      const late = new AbortController();
      await Promise.race([sending, clock.sleep(flushMs, late.signal)]);
      late.abort();
      if (waiting.length > 0) lose(waiting.length, "the hub stops");
      waiting = [];
    },
  };
}

/** A batch that the webhook rejected. */
class NotTaken extends Error {
  readonly again: boolean;
  readonly retryAfterMs: number;

  constructor(status: number, retryAfterSeconds: number | undefined) {
    super(`the webhook answered ${status}`);
    this.name = "NotTaken";
    this.again = retryAfterSeconds !== undefined || againStatuses.has(status);
    this.retryAfterMs = (retryAfterSeconds ?? 0) * 1000;
  }
}

const againStatuses: ReadonlySet<number> = new Set([429, 500, 504]);

async function deliver(options: AuditWebhookOptions, closing: AbortSignal, batch: readonly string[]): Promise<void> {
  const items = batch.map((line) => line.trimEnd()).join(",");
  const body = Buffer.from(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`);
  let backoff = options.initialBackoffMs;
  for (let left = retry.tries; ; left -= 1) {
    const error = await failureOf(options, body);
    if (error === undefined) return;
    // While the hub stops, each batch is tried at most once more.
    if (left <= 1 || closing.aborted || (error instanceof NotTaken && !error.again)) throw error;
    const asked = error instanceof NotTaken ? error.retryAfterMs : 0;
    const spread = backoff * (1 + retry.jitter * options.chance());
    await options.clock.sleep(Math.min(Math.max(spread, asked), retry.maxMs), closing);
    backoff *= retry.factor;
  }
}

/** Undefined when the webhook accepts the batch. */
async function failureOf({ post, clock }: AuditWebhookOptions, body: Buffer): Promise<Error | undefined> {
  const answered = new AbortController();
  const late = new AbortController();
  void clock.sleep(answerMs, answered.signal).then(() => late.abort());
  try {
    const { status, retryAfterSeconds } = await post(body, late.signal);
    return status >= 200 && status < 300 ? undefined : new NotTaken(status, retryAfterSeconds);
  } catch (error) {
    return error instanceof Error ? error : new NotTaken(0, undefined);
  } finally {
    answered.abort();
  }
}
