import { hasReason } from "../client/api-errors.ts";
import type { Backoff } from "../client/backoff.ts";
import type { ListOptions, ResourceRef } from "../client/client.ts";
import type { Change } from "../client/object-store.ts";
import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import type { StatusReason } from "../apimachinery/status.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import type { ObjectReference } from "../apis/event.ts";

/** The outcome of one reconcile of an object, and its report. A thrown error is logged and counts as `retry`. */
export type Outcome =
  | { readonly kind: "done"; readonly reports?: readonly Report[] }
  /** Reconcile again after this time; resets the count of failures. */
  | { readonly kind: "requeue"; readonly afterMs: number; readonly why: string; readonly reports?: readonly Report[] }
  /** Reconcile again after the backoff of the key: a precondition is missing, and no event shows when it is met. */
  | { readonly kind: "retry"; readonly why: string; readonly reports?: readonly Report[] }
  /**
   * The controller is blocked for this reason, which is reported when it starts and when it changes. Reconciled again when a watch wakes
   * the key, after the backoff, or after this many milliseconds.
   */
  | {
      readonly kind: "blocked";
      readonly because: Report;
      readonly again: "woken" | "paused" | number;
      readonly reports?: readonly Report[];
    };

export const done: Outcome = { kind: "done" };

/** The outcome of a reconcile, or `retry` where the API rejected it for one of these reasons: the change of another writer wakes the key. */
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
  /** Keeps only the metadata of each object, without managedFields: for controllers that watch many kinds. */
  readonly metadataOnly?: true;
  readonly keys?: (object: ApiObject) => readonly ObjectKey[];
  /** Called with each change, in order, before `keys`; for controllers that maintain an index. */
  readonly observe?: (change: Change) => void;
}

/**
 * A reconciler: level-based, `reconcile` gets no event. It reads, decides in a pure function, and writes once. Controllers use the API
 * only through a Client, under the ServiceAccount `kube-system/<serviceAccount>`.
 */
export interface Controller {
  readonly name: string;
  readonly serviceAccount: string;
  /** A function where kinds change at run time; it is called at the start and at each refresh. */
  readonly watches: readonly Watch[] | (() => readonly Watch[]);
  /** How many keys may be reconciled at once. */
  readonly concurrency: number;
  /** The backoff of one key; default 5 ms to 1000 s. */
  readonly backoff?: Backoff;
  readonly reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<Outcome>;
}

/** A report about one object: one log line, one Event, one count. Texts may be untrusted; the writers escape and truncate them. */
export interface Report {
  readonly reason: Reason;
  readonly about: ObjectReference;
  /** One sentence or clause for people. */
  readonly message: string;
  /** Further fields of the log line: `user`, `fingerprint` of the key, why. Undefined fields are omitted. */
  readonly details?: Readonly<Record<string, string | number | undefined>>;
  /** Reported once until its Event expires, also after restarts: for conditions that each start finds again. Default: each time. */
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

/** Shorter than the lifetime of an Event, which shows after a restart what was reported. */
const recentMs = 50 * 60_000;

/** Whether an RFC 3339 time is so recent that its event may not have been reported yet. An unreadable time is not recent. */
export function isRecent(time: string | undefined, now: number): boolean {
  return now - Date.parse(time ?? "") < recentMs;
}
