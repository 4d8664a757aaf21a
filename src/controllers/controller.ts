import type { ApiObject, ObjectKey } from "../core/object.ts";
import type { ListOptions, ResourceRef } from "../client/client.ts";

/** How one pass over one object ended. A thrown error is retried with backoff. */
export type Outcome =
  | { readonly kind: "done" }
  | { readonly kind: "requeue"; readonly afterMs: number; readonly why: string };

export const done: Outcome = { kind: "done" };

/** Objects of `resource` wake the keys that `keys` names (default: the object's own key). */
export interface Watch {
  readonly resource: ResourceRef;
  readonly namespace?: string;
  readonly fieldSelector?: ListOptions["fieldSelector"];
  readonly keys?: (object: ApiObject) => readonly ObjectKey[];
}

/**
 * A reconciler: level-based, no event reaches `reconcile`. It reads, decides in a pure function beside it, and writes once.
 * Controllers speak to the API through a Client alone, under the ServiceAccount `kube-system/<serviceAccount>`.
 */
export interface Controller {
  readonly name: string;
  readonly serviceAccount: string;
  readonly watches: readonly Watch[];
  /** How many keys may be reconciled at once. */
  readonly concurrency: number;
  readonly reconcile: (key: ObjectKey, signal: AbortSignal) => Promise<Outcome>;
}
