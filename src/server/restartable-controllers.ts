import type { RunningControllers } from "../controllers/runner.ts";

/** Controllers that can be ended and started anew. */
export interface RestartableControl extends RunningControllers {
  /** Ends those that run, waits for what is under way, and starts them as they would be made now. After `signal` it does nothing. */
  restart(): Promise<void>;
}

/**
 * Runs what `start` makes until `signal` aborts: some controllers are given by value what nearly never changes, and are made anew when
 * it does. `ready` is that of the first.
 */
export function restartableControl(
  start: (signal: AbortSignal) => RunningControllers,
  signal: AbortSignal,
): RestartableControl {
  let stop = new AbortController();
  let running = start(stop.signal);
  const first = running.ready;
  let restarting: Promise<void> = Promise.resolve();
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      stop.abort();
      resolve();
    };
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });

  async function restartAll(): Promise<void> {
    if (signal.aborted) return;
    stop.abort();
    await running.stopped;
    if (signal.aborted) return;
    stop = new AbortController();
    running = start(stop.signal);
    await running.ready;
  }

  return {
    ready: first,
    refresh: () => running.refresh(),
    // One that failed keeps nobody from the next; whoever asked for it is told.
    restart: () => {
      const restarted = restarting.then(restartAll);
      restarting = restarted.catch(() => undefined);
      return restarted;
    },
    stopped: ended.then(() => restarting).then(() => running.stopped),
  };
}
