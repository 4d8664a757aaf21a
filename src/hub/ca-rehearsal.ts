import { join } from "node:path";
import { replaceFile, textIfThere } from "../agent/private-files.ts";
import type { Clock } from "../core/clock.ts";
import { badRequest } from "../core/status.ts";
import { anonymousUser, type UserInfo } from "../core/user.ts";
import type { Reply } from "../http/exchange.ts";
import { rehearsalName, rehearsalPath } from "../trust/ca-rehearsal.ts";
import type { Authorities } from "./authority-folder.ts";
import { phaseOf } from "./authority-state.ts";
import { errorText } from "./error-text.ts";
import type { LogEntry } from "./hub-options.ts";

/** Who has shown that they trust the newest CA. */
export interface Rehearsal {
  /** Of the newest CA; empty where no change is under way. */
  readonly pin: string;
  /** Users, with milliseconds since the epoch. */
  readonly shown: ReadonlyMap<string, number>;
}

/** How often what is new is written, in milliseconds. */
const writeMs = 5_000;
const mostUsers = 100_000;

/** The CA that comes, or that came last, while a change is under way. */
export function newestOf({ state, trusted }: Authorities): Authorities["signer"] | undefined {
  const phase = phaseOf(state);
  if (phase === "stable") return undefined;
  return phase === "prepared" ? trusted[1] : trusted[0];
}

/** What the hub was shown, as the folder has it. A file that cannot be read says that nobody has shown anything. */
export async function readRehearsal(dir: string): Promise<Rehearsal> {
  try {
    const value: unknown = JSON.parse((await textIfThere(join(dir, file))) ?? "{}");
    const { pin, shown } = value as { readonly pin?: unknown; readonly shown?: unknown };
    const entries = typeof shown === "object" && shown !== null ? Object.entries(shown) : [];
    return {
      pin: typeof pin === "string" ? pin : "",
      shown: new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === "number")),
    };
  } catch {
    return { pin: "", shown: new Map() };
  }
}

const file = "ca-rehearsed.json";

/** Notes who gets through under `rehearsalName`, and writes it down every few seconds until `signal` aborts. */
export async function caRehearsal(options: {
  readonly dir: string;
  readonly authorities: () => Authorities;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (entry: LogEntry) => void;
}): Promise<{
  /** The answer at `rehearsalPath`; undefined for other paths. @throws StatusError BadRequest where nothing is shown */
  readonly answer: (path: string, from: { readonly user: UserInfo; readonly serverName: string }) => Reply | undefined;
  /** Resolves when all is written, after `signal`. */
  readonly stopped: Promise<void>;
}> {
  const { dir, authorities, clock, signal, log } = options;
  const known = await readRehearsal(dir);
  let { pin } = known;
  let shown = new Map(known.shown);
  let isNew = false;
  let complaint = "";

  async function write(): Promise<void> {
    if (!isNew) return;
    isNew = false;
    try {
      await replaceFile(join(dir, file), JSON.stringify({ pin, shown: Object.fromEntries(shown) }));
      complaint = "";
    } catch (error) {
      isNew = true;
      const text = errorText(error);
      if (text !== complaint)
        log({ level: "warn", message: "who trusts the next CA cannot be written down", error: text });
      complaint = text;
    }
  }

  async function writing(): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(writeMs, signal);
      await write();
    }
  }

  return {
    answer: (path, { user, serverName }) => {
      if (path !== rehearsalPath) return undefined;
      const newest = newestOf(authorities());
      if (newest === undefined) throw badRequest("no change of the CA is under way");
      if (serverName !== rehearsalName) throw badRequest(`ask with the TLS server name ${rehearsalName}`);
      if (pin !== newest.pin) {
        pin = newest.pin;
        shown = new Map();
      }
      if (user.username !== anonymousUser && (shown.size < mostUsers || shown.has(user.username))) {
        shown.set(user.username, clock.now());
        isNew = true;
      }
      return { status: 200, contentType: "application/json", body: JSON.stringify({ pin }) };
    },
    stopped: writing(),
  };
}
