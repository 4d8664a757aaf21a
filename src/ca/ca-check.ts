import { join } from "node:path";
import { removeFile, replaceFile, textIfThere } from "../host/private-files.ts";
import type { Clock } from "../apimachinery/clock.ts";
import { badRequest } from "../apimachinery/status.ts";
import { anonymousUser, type UserInfo } from "../apimachinery/user.ts";
import type { Reply } from "../apiserver/http-types.ts";
import { caCheckPath, caCheckServerName, deprecatedCaCheckPath } from "../trust/ca-check.ts";
import type { Authorities } from "./ca-folder.ts";
import { phaseOf } from "./ca-state.ts";
import { errorText } from "../apimachinery/error-text.ts";
import { logEntry, type LogEntry } from "../apimachinery/log-entry.ts";

/** The users that have proven that they trust the newest CA. */
export interface CaCheck {
  /** The pin of the newest CA; empty where no rotation is in progress. */
  readonly pin: string;
  /** Users, with milliseconds since the epoch. */
  readonly shown: ReadonlyMap<string, number>;
}

/** How often new records are written, in milliseconds. */
const writeMs = 5_000;
const maxUsers = 100_000;

/** The prepared CA, or the one activated last, during a rotation. */
export function newestOf({ state, trusted }: Authorities): Authorities["signer"] | undefined {
  const phase = phaseOf(state);
  if (phase === "stable") return undefined;
  return phase === "prepared" ? trusted[1] : trusted[0];
}

/** The record in the folder, of this release or the previous one. An unreadable file counts as an empty record. */
export async function readCaCheck(dir: string): Promise<CaCheck> {
  try {
    const text = (await textIfThere(join(dir, file))) ?? (await textIfThere(join(dir, deprecatedFile)));
    const value: unknown = JSON.parse(text ?? "{}");
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

const file = "ca-check.json";
/** Written by the previous release; read until this one writes its own. */
const deprecatedFile = "ca-rehearsed.json";

/** Records the users that reach `caCheckPath` under `caCheckServerName`, and writes them every few seconds until `signal` aborts. */
export async function recordCaCheck(options: {
  readonly dir: string;
  readonly authorities: () => Authorities;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: (entry: LogEntry) => void;
}): Promise<{
  /** The answer at `caCheckPath` and at the path of the last release; undefined for other paths. @throws StatusError BadRequest where the request proves nothing */
  readonly answer: (path: string, from: { readonly user: UserInfo; readonly serverName: string }) => Reply | undefined;
  /** Resolves when all is written, after `signal`. */
  readonly stopped: Promise<void>;
}> {
  const { dir, authorities, clock, signal, log } = options;
  const known = await readCaCheck(dir);
  let { pin } = known;
  let shown = new Map(known.shown);
  let isNew = false;
  let complaint = "";

  async function write(): Promise<void> {
    if (!isNew) return;
    isNew = false;
    try {
      await replaceFile(join(dir, file), JSON.stringify({ pin, shown: Object.fromEntries(shown) }));
      await removeFile(join(dir, deprecatedFile));
      complaint = "";
    } catch (error) {
      isNew = true;
      const text = errorText(error);
      if (text !== complaint)
        log(
          logEntry("RecordWriteFailed", "the hub cannot write the record of the machines that trust the next CA", {
            error: text,
          }),
        );
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
      if (path !== caCheckPath && path !== deprecatedCaCheckPath) return undefined;
      const newest = newestOf(authorities());
      if (newest === undefined) throw badRequest("no CA change is in progress");
      if (serverName !== caCheckServerName) throw badRequest(`ask with the TLS server name ${caCheckServerName}`);
      if (pin !== newest.pin) {
        pin = newest.pin;
        shown = new Map();
      }
      if (user.username !== anonymousUser && (shown.size < maxUsers || shown.has(user.username))) {
        shown.set(user.username, clock.now());
        isNew = true;
      }
      return { status: 200, contentType: "application/json", body: JSON.stringify({ pin }) };
    },
    stopped: writing(),
  };
}
