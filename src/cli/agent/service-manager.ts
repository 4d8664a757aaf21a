import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";
import type { Io } from "../io.ts";

/** Tells systemd how a service stands. @see sd_notify(3) */
export interface ServiceManager {
  /** Assignments such as `READY=1`; those told while earlier ones are on their way are joined, the last of a name counts. */
  notify(assignments: Readonly<Record<string, string>>): void;
  /** Resolves when all is told. */
  idle(): Promise<void>;
}

const timeoutMs = 5000;
const maxStatusCharacters = 200;

/**
 * The service manager that started this process, if it wants to be told. Node has no datagrams of the kind that it listens for, so
 * `systemd-notify`, which is part of systemd, sends them; units need `NotifyAccess=all` for that. `signal` ends the watchdog.
 */
export function serviceManager(io: Io, log: (entry: LogEntry) => void, signal: AbortSignal): ServiceManager {
  const socket = io.env["NOTIFY_SOCKET"];
  if (socket === undefined || socket === "") return { notify: () => undefined, idle: async () => undefined };
  const env = { NOTIFY_SOCKET: socket, PATH: io.env["PATH"] ?? "/usr/bin:/bin" };
  let waiting: Readonly<Record<string, string>> = {};
  let sending: Promise<void> | undefined;
  let missing = false;

  const isWaiting = (): boolean => !missing && Object.keys(waiting).length > 0;

  async function send(): Promise<void> {
    while (isWaiting()) {
      const words = Object.entries(waiting).map(([name, value]) => `${name}=${value.slice(0, maxStatusCharacters)}`);
      waiting = {};
      const { kind, code } = await io.runChild(["systemd-notify", ...words], { env, timeoutMs });
      missing = kind === "missing";
      if (kind !== "ended" || code !== 0) {
        const message = "cannot report the status of this service to the service manager";
        log(logEntry("NotifyFailed", message, { systemdNotify: kind === "ended" ? `ended with code ${code}` : kind }));
      }
    }
  }

  function notify(assignments: Readonly<Record<string, string>>): void {
    waiting = { ...waiting, ...assignments };
    start();
  }

  function start(): void {
    if (sending !== undefined || !isWaiting()) return;
    sending = send().finally(() => {
      sending = undefined;
      start();
    });
  }

  async function watchdog(everyMs: number): Promise<void> {
    while (!signal.aborted) {
      notify({ WATCHDOG: "1" });
      await io.clock.sleep(everyMs, signal);
    }
  }

  const microseconds = Number(io.env["WATCHDOG_USEC"]);
  if (Number.isSafeInteger(microseconds) && microseconds >= 1_000_000) void watchdog(microseconds / 1000 / 3);
  return {
    notify,
    idle: async () => {
      while (sending !== undefined) await sending;
    },
  };
}
