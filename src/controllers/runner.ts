import type { Informer } from "../client/informer.ts";
import type { Change } from "../client/object-store.ts";
import { keyOf, keyText } from "../client/paths.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import { StatusError } from "../apimachinery/status.ts";
import { type Controller, type Outcome, type Watch, referenceTo } from "./controller.ts";
import { eventRecorder, type EventRecorder, obstacleMemory, reporter } from "./event-recorder.ts";
import type { SharedInformers } from "./shared-informers.ts";
import {
  defaultBackoff,
  workQueue,
  type Verdict,
  type WorkQueue,
  type WorkQueueObserver,
  type WorkQueueOptions,
} from "./workqueue.ts";

export interface RunOptions {
  readonly controllers: readonly Controller[];
  readonly informers: SharedInformers;
  readonly clock: Clock;
  /** `thrown` is what a reconcile threw; messages of API errors contain no secrets. */
  readonly log: (entry: LogEntry, thrown?: unknown) => void;
  /** Counts reports about objects. */
  readonly count?: ((controller: string, reason: Reason) => void) | undefined;
  /** The observer of the queue of each controller, by its name. */
  readonly observerOf?: ((controller: string) => WorkQueueObserver) | undefined;
  /** Stops all controllers; running reconciles get the same signal and are awaited. */
  readonly signal: AbortSignal;
}

/** Running controllers. */
export interface RunningControllers {
  /** Resolves when every controller has synced and started, or when all were stopped before. */
  readonly ready: Promise<void>;
  /** Reads the watches of controllers with changing ones again, starts new watches and stops old ones. Call it when kinds change. */
  refresh(): void;
  /** Resolves after `signal`, when no reconcile runs any more. Never rejects. */
  readonly stopped: Promise<void>;
}

interface Source {
  readonly watch: Watch;
  /** Unsubscribes from the informer. */
  readonly leave: () => void;
}

interface Worker {
  readonly controller: Controller;
  readonly queue: WorkQueue;
  /** The informer that wakes it, and the watch. */
  readonly sources: Map<Informer, Source>;
}

/**
 * Runs controllers until `signal` aborts. A controller starts once its informers are synced; then a change reaches `reconcile` in the
 * next microtask, if a worker is free. An error affects only its key: it is logged and retried.
 */
export function runControllers(options: RunOptions): RunningControllers {
  const { signal } = options;
  const record = eventRecorder(options.clock);
  const workers = options.controllers.map((controller) => worker(controller, options, record));
  for (const each of workers) connect(each, options.informers);

  async function begin(each: Worker): Promise<void> {
    const synced = await Promise.all([...each.sources.keys()].map((source) => source.synced));
    if (synced.every(Boolean) && !signal.aborted) each.queue.start();
  }

  const ready = Promise.all(workers.map(begin)).then(() => undefined);
  const stopped = aborted(signal)
    .then(() => Promise.all([...workers.map((each) => each.queue.stop()), options.informers.stopped()]))
    .then(() => undefined);

  function refresh(): void {
    for (const each of workers) if (typeof each.controller.watches === "function") connect(each, options.informers);
  }

  return { ready, refresh, stopped };
}

function worker(controller: Controller, options: RunOptions, record: EventRecorder): Worker {
  const { signal, log } = options;
  const sources = new Map<Informer, Source>();
  const reports = reporter({
    ...options,
    record,
    controller: controller.name,
    client: options.informers.as(controller.serviceAccount).client,
  });
  const obstacles = obstacleMemory();

  async function process(key: ObjectKey, attempt: number): Promise<Verdict> {
    try {
      return await settle(key, attempt, await controller.reconcile(key, signal));
    } catch (error) {
      if (signal.aborted) return { kind: "forget" };
      // A conflict only means that the cached object was old.
      const expected = error instanceof StatusError && error.reason === "Conflict";
      const message = error instanceof Error ? error.message : "reconcile failed";
      const about = { controller: controller.name, key: keyText(key), attempt };
      log(logEntry(expected ? "ReconcileRequeued" : "ReconcileError", message, about), error);
      if (attempt === reportAtAttempt) await reportRetries(key, "ReconcileFailed", message);
      return { kind: "retry" };
    }
  }

  async function settle(key: ObjectKey, attempt: number, outcome: Outcome): Promise<Verdict> {
    const id = keyText(key);
    for (const one of outcome.reports ?? []) await reports(one);
    if (outcome.kind === "blocked" && obstacles.isNew(id, outcome.because)) await reports(outcome.because, true);
    if (outcome.kind === "done" || outcome.kind === "requeue") obstacles.forget(id);
    if (outcome.kind === "retry") {
      log(logEntry("ReconcileRequeued", outcome.why, { controller: controller.name, key: id, attempt }));
      if (attempt === reportAtAttempt) await reportRetries(key, "ReconcileRetried", outcome.why);
    }
    return verdictOf(outcome);
  }

  /** A repeated failure is reported on its object where the key is that of an object, else in log and metric only. */
  async function reportRetries(key: ObjectKey, reason: Reason, why: string): Promise<void> {
    const id = keyText(key);
    const message = `${controller.name} tried ${reportAtAttempt} times and keeps trying: ${why}`;
    for (const [informer, { watch }] of sources) {
      const object = informer.get(key);
      const isOwn = object !== undefined && (watch.keys?.(object) ?? [key]).some((one) => keyText(one) === id);
      if (isOwn) return reports({ reason, about: referenceTo(watch.resource, object), message }, true);
    }
    options.count?.(controller.name, reason);
    log(logEntry(reason, message, { controller: controller.name, key: id }));
  }

  const observer = options.observerOf?.(controller.name);
  const queue = workQueue({
    clock: options.clock,
    onAdded: observer?.added,
    concurrency: controller.concurrency,
    backoff: controller.backoff ?? defaultBackoff,
    process: observer === undefined ? process : observed(observer, process),
    onRoom: () => {
      for (const [source, { watch }] of sources) for (const object of source.list()) wake(queue, watch, object);
    },
  });
  return { controller, queue, sources };
}

function observed(observer: WorkQueueObserver, process: WorkQueueOptions["process"]): WorkQueueOptions["process"] {
  return async (key, attempt) => {
    const id = keyText(key);
    observer.started(id);
    const verdict = await process(key, attempt);
    observer.finished(id, verdict.kind === "retry");
    return verdict;
  };
}

/** With the default backoff, a third of a second after the first attempt. */
const reportAtAttempt = 7;

function verdictOf(outcome: Outcome): Verdict {
  switch (outcome.kind) {
    case "done":
      return { kind: "forget" };
    case "requeue":
      return { kind: "after", ms: outcome.afterMs };
    case "retry":
      return { kind: "retry" };
    case "blocked":
      if (outcome.again === "woken") return { kind: "forget" };
      return outcome.again === "paused" ? { kind: "retry" } : { kind: "after", ms: outcome.again };
  }
}

function connect(each: Worker, informers: SharedInformers): void {
  const { controller, queue, sources } = each;
  const watches = typeof controller.watches === "function" ? controller.watches() : controller.watches;
  const wanted = new Set<Informer>();
  for (const watch of watches) {
    const source = informers.get(controller.serviceAccount, watch);
    wanted.add(source);
    if (sources.has(source)) continue;
    const enqueueChange = (change: Change): void => {
      watch.observe?.(change);
      wake(queue, watch, change.object);
    };
    sources.set(source, { watch, leave: source.onChange(enqueueChange) });
  }
  for (const [source, { watch, leave }] of sources) {
    if (wanted.has(source)) continue;
    sources.delete(source);
    leave();
    // The kind is no longer served: its remaining objects count as deleted.
    for (const object of source.list()) {
      watch.observe?.({ type: "DELETED", object, previous: object });
      wake(queue, watch, object);
    }
    informers.release(source);
  }
}

function wake(queue: WorkQueue, watch: Watch, object: ApiObject): void {
  if (watch.keys === undefined) queue.add(keyOf(object));
  else for (const key of watch.keys(object)) queue.add(key);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
