import type { AdminKubeconfig } from "../bootstrap/admin-kubeconfig.ts";
import type { Authorities } from "../ca/ca-folder.ts";
import { followAuthorities } from "../ca/ca-watcher.ts";
import { rfc3339 } from "../apimachinery/clock.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import { inWords } from "../host/clock-skew.ts";
import { repeat, renewalCheckMs } from "../host/repeat.ts";
import { compactionLoop, keepStoreWritable } from "../storage/store-upkeep.ts";
import type { HubOptions } from "./hub-options.ts";
import type { HubBase } from "./hub-state.ts";

/** How often the revision of the store is recorded beside the CA, in milliseconds. */
const noteMs = 60_000;
/** NTP makes smaller steps unnoticed. In milliseconds. */
const jumpMs = 60_000;

/**
 * Background tasks until the hub stops: compaction, reloading the CAs from their folder, the kubeconfig of the operator, the clock. Their
 * close functions are in `closers`.
 */
export function upkeep(
  options: HubOptions,
  parts: HubBase & {
    /** The folder of the CAs. */
    readonly dir: string;
    readonly shutdown: AbortController;
    readonly kubeconfig: AdminKubeconfig;
    /** Applies changed CAs. */
    readonly changed: (next: Authorities) => Promise<void>;
  },
): void {
  const { store, cache, clock, closers, shutdown, dir, authorities, changed, kubeconfig, hub } = parts;
  const { log } = options;
  const shared = { clock, signal: shutdown.signal, log };
  const failed = (error: unknown): void => log(logEntry("CompactionFailed", "compaction failed", { error }));
  const compacting = compactionLoop({ ...shared, store, cache, failed });
  // The operator changes the CA of --cluster-signing-cert-file: the CA in the folder is from another time.
  const following =
    options.clusterSigningCertFile === undefined
      ? followAuthorities({ ...shared, dir, current: authorities(), changed })
      : Promise.resolve();
  const watching = [
    keepStoreWritable({ ...shared, store }),
    repeat({ ...shared, everyMs: noteMs, work: () => hub.note() }),
    kubeconfig.keep(shutdown.signal),
    watchClock(shared),
  ];
  closers.push(
    () => compacting,
    () => following,
    async () => void (await Promise.all(watching)),
    async () => shutdown.abort(),
  );
}

/**
 * Compares the wall clock with the monotonic one every 30 seconds until `signal` aborts, and logs each jump of more than a minute:
 * clients may then judge earlier certificates and tokens differently. A suspended machine looks the same.
 */
function watchClock({
  clock,
  signal,
  log,
}: Pick<HubBase, "clock"> & { readonly signal: AbortSignal } & Pick<HubOptions, "log">): Promise<void> {
  let offset = clock.now() - performance.now();
  const look = async (): Promise<void> => {
    const now = clock.now();
    const ahead = now - performance.now() - offset;
    if (Math.abs(ahead) <= jumpMs) return;
    offset += ahead;
    const direction = ahead > 0 ? "ahead" : "back";
    const message = `the system clock was set ${direction} by ${inWords(ahead)}; certificates of the hub are judged by the new time`;
    log(logEntry("ClockChanged", message, { now: rfc3339(now) }));
  };
  return repeat({ clock, signal, everyMs: renewalCheckMs, work: look });
}
