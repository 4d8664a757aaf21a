import type { ClientCredentials } from "../../client/transport.ts";
import { credentialDigest } from "../proof/credential-probe.ts";
import { unlessUnusable } from "../join-error.ts";
import { count, stateFormat, text, time } from "./state-format.ts";

/** How often in a row a hub has refused a credential before its end. */
export interface Refusals {
  /** The digest of the credential. */
  readonly credential: string;
  readonly count: number;
  /** When the first was, in milliseconds since the epoch. */
  readonly since: number;
  /** What the hub said. */
  readonly message: string;
}

/** Where they are written down; there is no file while the hub takes the credential. */
export interface RefusalFile {
  /** As it is now, undefined where there is none. */
  readonly text: () => Promise<string | undefined>;
  /** @throws JoinError write-failed */
  readonly write: (content: string) => Promise<void>;
  /** @throws JoinError write-failed */
  readonly remove: () => Promise<void>;
}

/** A hub that has just begun, or one of several behind an address, may refuse what it takes a moment later. */
const minRefusals = 3;

/** Whether they are so many that the credential counts as refused. */
export function isRefused(refusals: Refusals | undefined): refusals is Refusals {
  return refusals !== undefined && refusals.count >= minRefusals;
}

const format = stateFormat<Refusals, keyof Refusals>({ credential: text, count, since: time, message: text }, [
  "credential",
  "count",
  "since",
  "message",
]);

/** What was written down, or undefined where nothing was, or nothing that can be read. */
export async function readRefusals(file: Pick<RefusalFile, "text">): Promise<Refusals | undefined> {
  return format.parse(await unlessUnusable(file.text()));
}

/** That the hub does not take a credential before its end: since when, in milliseconds since the epoch, and what it said. */
export type Refused = Pick<Refusals, "since" | "message">;

/** Whether what was written down says that this very credential is refused; what was written about another one says nothing of it. */
export async function refusalOf(
  credentials: ClientCredentials,
  file: Pick<RefusalFile, "text">,
): Promise<Refused | undefined> {
  const found = await readRefusals(file);
  if (!isRefused(found) || found.credential !== credentialDigest(credentials)) return undefined;
  return { since: found.since, message: found.message };
}

/** Writes them down, or that there are none. It is for people and for the next agent; where it cannot be written, keeping goes on. */
export async function writeRefusals(file: RefusalFile, refusals: Refusals | undefined): Promise<void> {
  await unlessUnusable(refusals === undefined ? file.remove() : file.write(format.print(refusals)));
}
