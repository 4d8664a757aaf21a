import { hasReason } from "../client/api-errors.ts";
import type { Backoff } from "../client/backoff.ts";
import type { ListOptions, ResourceRef } from "../client/client.ts";
import type { Change } from "../client/object-store.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import type { StatusReason } from "../apimachinery/status.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import type { ObjectReference } from "../apis/event.ts";

/** How one pass over one object ended, and what is to be told of it. A thrown error is logged and counts as `retry`. */
export type Outcome =
  | { readonly kind: "done"; readonly reports?: readonly Report[] }
  /** Once more after a time that the controller knows; earlier failures are forgotten. */
  | { readonly kind: "requeue"; readonly afterMs: number; readonly why: string; readonly reports?: readonly Report[] }
  /** Once more after the key's growing pause: the world is not ready, and nothing says when it will be. */
  | { readonly kind: "retry"; readonly why: string; readonly reports?: readonly Report[] }
  /**
   * The controller cannot go on, for this reason, which is told when it begins and when it becomes another. Looked at again when a watch
   * wakes the key, after the growing pause, or after so many milliseconds.
   */
  | {
      readonly kind: "blocked";
      readonly because: Report;
      readonly again: "woken" | "paused" | number;
      readonly reports?: readonly Report[];
    };

export const done: Outcome = { kind: "done" };

/** The outcome of a pass, or `retry` where the API refused it for one of these reasons: the change of another writer wakes the key. */
export async function retryOn(pass: Promise<Outcome>, ...reasons: readonly StatusReason[]): Promise<Outcome> {
  try {
    return await pass;
  } catch (error) {
    if (hasReason(error, ...reasons)) return { kind: "retry", why: error.message };
    throw error;
  }
}

/** Objects of `resource` wake the keys that `keys` names (default: the object's own key). A controller watches a selection only once. */
export interface Watch {
  readonly resource: ResourceRef;
  readonly namespace?: string;
  readonly fieldSelector?: ListOptions["fieldSelector"];
  /** Only metadata is kept of each object, without managedFields: for controllers that watch many kinds. */
  readonly metadataOnly?: true;
  readonly keys?: (object: ApiObject) => readonly ObjectKey[];
  /** Told of each change, in order, before `keys` is asked; for controllers that keep an index of what they see. */
  readonly observe?: (change: Change) => void;
}

/**
 * A reconciler: level-based, no event reaches `reconcile`. It reads, decides in a pure function beside it, and writes once.
 * Controllers speak to the API through a Client alone, under the ServiceAccount `kube-system/<serviceAccount>`.
 */
export interface Controller {
  readonly name: string;
  readonly serviceAccount: string;
  /** A function where kinds come and go at run time; it is asked at the start and at each refresh. */
  readonly watches: readonly Watch[] | (() => readonly Watch[]);
  /** How many keys may be reconciled at once. */
  readonly concurrency: number;
  /** The growing pauses of one key; default 5 ms to 1000 s. */
  readonly backoff?: Backoff;
  readonly reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<Outcome>;
}

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
