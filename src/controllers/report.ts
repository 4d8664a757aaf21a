import type { ResourceRef } from "../client/client.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import type { ObjectReference } from "../apis/event.ts";

/** What a controller reports of one object: one log line, one Event, one count. Texts may come from strangers; they are escaped and cut where they are written. */
export interface Report {
  readonly reason: Reason;
  readonly about: ObjectReference;
  /** One sentence or clause for people. */
  readonly message: string;
  /** Further fields of the log line: who (`user`), which key (`fingerprint`), why. Undefined ones are left out. */
  readonly details?: Readonly<Record<string, string | number | undefined>>;
  /** Reported once in the life of its Event, whatever restarts; for what is found again at each start. Default: each time. */
  readonly once?: boolean;
}

/** The object as an Event refers to it. */
export function referenceTo({ group, version, kind }: ResourceRef, { metadata }: ApiObject): ObjectReference {
  const { namespace, name = "", uid } = metadata;
  return {
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    name,
    ...(uid === undefined ? {} : { uid }),
  };
}

/** Less than the life of an Event, by which what was reported once is known after a restart. */
const recentMs = 50 * 60_000;

/** Whether something happened so lately, by an RFC 3339 time, that it may not have been reported yet. An unreadable time is not recent. */
export function isRecent(time: string | undefined, now: number): boolean {
  return now - Date.parse(time ?? "") < recentMs;
}
