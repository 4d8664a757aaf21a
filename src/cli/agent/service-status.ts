import type { AgentEvent, CredentialName } from "../../credentials/credential-event.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { logEntry, type LogEntry } from "../../apimachinery/log-entry.ts";
import type { Io } from "../io.ts";

/** The status of all credentials of an agent, from its events. */
export interface CredentialsStatus {
  note(event: AgentEvent): void;
  /** The hub has replied that it accepts the credential. */
  confirm(name: CredentialName): void;
  /** Whether `isGood` is true, and the hub has accepted each client credential of the machine. */
  isConfirmed(now: number): boolean;
  /** Whether there is a credential and all of them are valid. `now` in milliseconds since the epoch. */
  isGood(now: number): boolean;
  /** One line for a service manager. */
  sentence(now: number): string;
}

interface One {
  readonly expiresAt: number;
  readonly nextAt: number;
  readonly lost: boolean;
  readonly refused: boolean;
  readonly confirmed: boolean;
}

const unknown: One = { expiresAt: 0, nextAt: 0, lost: false, refused: false, confirmed: false };
/** None of these is a client credential, and the hub is not probed with them. */
const isServing = (key: string): boolean => key.startsWith("serving-certificate ");

const changes: Partial<Record<AgentEvent["reason"], Partial<One>>> = {
  // Reported for a credential that existed before as well, after its rejection was reported.
  RenewalScheduled: { lost: false },
  CredentialRenewed: { lost: false, refused: false },
  CredentialRejected: { refused: true },
  CredentialAccepted: { refused: false },
  CredentialLost: { lost: true },
  RenewalRecovered: { lost: false },
};

/** A status without any credential. */
export function credentialsStatus(): CredentialsStatus {
  const known = new Map<string, One>();
  const isGoodOne = (one: One, now: number): boolean => !one.lost && !one.refused && now < one.expiresAt;

  const after = ({ reason, expiresAt, at }: AgentEvent, one: One): One => ({
    ...one,
    expiresAt: expiresAt ?? (reason === "RenewalFailed" ? 0 : one.expiresAt),
    nextAt: at ?? one.nextAt,
    ...changes[reason],
  });

  const isGood = (now: number): boolean => known.size > 0 && [...known.values()].every((one) => isGoodOne(one, now));

  return {
    confirm: ({ kind, path }) => {
      const key = `${kind} ${path}`;
      known.set(key, { ...(known.get(key) ?? unknown), confirmed: true });
    },
    isConfirmed: (now) => {
      const comesInBy = [...known].filter(([key]) => !isServing(key));
      return isGood(now) && comesInBy.length > 0 && comesInBy.every(([, { confirmed }]) => confirmed);
    },
    note: (event) => {
      // A failed check of the CA is in the log; the credentials are still valid.
      if (event.kind === "ca") return;
      const key = `${event.kind} ${event.path}`;
      known.set(key, after(event, known.get(key) ?? unknown));
    },
    isGood,
    sentence: (now) => {
      const all = [...known.values()];
      const good = all.filter((one) => isGoodOne(one, now)).length;
      const next = Math.min(...all.flatMap(({ nextAt }) => (nextAt > now ? [nextAt] : [])));
      const refused = all.filter((one) => one.refused).length;
      const reported = refused === 0 ? "" : `, ${refused} refused by the hub`;
      return `${good} of ${all.length} credentials good${reported}${Number.isFinite(next) ? `, next at ${rfc3339(next)}` : ""}`;
    },
  };
}

/** Sends the status of a service to systemd. @see sd_notify(3) */
export interface ServiceManager {
  /** Assignments such as `READY=1`; while earlier ones are being sent, later ones are merged, and the last of a name wins. */
  notify(assignments: Readonly<Record<string, string>>): void;
  /** Resolves when all is sent. */
  idle(): Promise<void>;
}

const timeoutMs = 5000;
const maxStatusCharacters = 200;

/**
 * The service manager that started this process, if it accepts notifications. Node has no Unix datagram sockets, so `systemd-notify`,
 * which is part of systemd, sends them; units need `NotifyAccess=all` for that. `signal` ends the watchdog.
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
