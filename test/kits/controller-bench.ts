import type { Client } from "../../src/client/client.ts";
import type { LogEntry } from "../../src/apimachinery/log-entry.ts";
import type { Reason } from "../../src/apimachinery/reasons.ts";
import type { Controller } from "../../src/controllers/controller.ts";
import { runControllers } from "../../src/controllers/runner.ts";
import type { RunningControllers } from "../../src/controllers/runner.ts";
import { sharedInformers } from "../../src/controllers/shared-informers.ts";
import type { SharedInformers } from "../../src/controllers/shared-informers.ts";
import { memoryApi } from "./memory-api.ts";
import type { MemoryApi, MemoryApiOptions } from "./memory-api.ts";
import { fakeClock, settled } from "./fake-clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** Controllers on an API in memory with a clock that stands still. */
export interface ControllerBench {
  readonly api: MemoryApi;
  readonly client: Client;
  readonly clock: FakeClock;
  readonly informers: SharedInformers;
  readonly log: LogEntry[];
  /** The reasons that were counted. */
  readonly counted: Reason[];
  /** Runs them and resolves when all is quiet. */
  readonly start: (...controllers: readonly Controller[]) => Promise<RunningControllers>;
  /** Ends everything and waits for it. */
  readonly stop: () => Promise<void>;
}

/** An empty API, and nothing running. */
export function controllerBench(options: Omit<MemoryApiOptions, "clock"> = {}): ControllerBench {
  const clock = fakeClock();
  const api = memoryApi({ clock, ...options });
  const ending = new AbortController();
  const { signal } = ending;
  const log: LogEntry[] = [];
  const counted: Reason[] = [];
  const informers = sharedInformers({
    clientFor: () => api.client,
    clock,
    random: () => 0,
    onError: () => undefined,
    signal,
  });
  let running: RunningControllers | undefined;

  async function start(...controllers: readonly Controller[]): Promise<RunningControllers> {
    const count = (_controller: string, reason: Reason): void => void counted.push(reason);
    running = runControllers({ controllers, informers, clock, log: (entry) => void log.push(entry), count, signal });
    await running.ready;
    await settled();
    return running;
  }

  async function stop(): Promise<void> {
    ending.abort();
    await running?.stopped;
  }

  return { api, client: api.client, clock, informers, log, counted, start, stop };
}
