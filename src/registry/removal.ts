import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "../apis/resource.ts";
import { entryAt, type Entry } from "../storage/stored-object.ts";
import type { Backend } from "./backend.ts";
import { unstoredEntry } from "./unstored-entry.ts";

/** Whether anything keeps a marked object in the store: finalizers, or what the kind itself names. */
export function isHeld(resource: Resource, object: ApiObject): boolean {
  return (object.metadata.finalizers ?? []).length > 0 || (resource.deletion?.held?.(object) ?? false);
}

/** Whether a marked object has nothing left to wait for: no holder and no grace. */
export function isReleased(resource: Resource, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  return deletionTimestamp !== undefined && (deletionGracePeriodSeconds ?? 0) === 0 && !isHeld(resource, object);
}

/** Removes a stored object if nobody changed it meanwhile; returns its last state, or undefined after a lost race. */
export async function removeEntry(backend: Backend, entry: Entry, last?: ApiObject): Promise<Entry | undefined> {
  const result = await backend.store.delete(entry.key, { ifRevision: entry.revision });
  if (result.kind === "conflict") return undefined;
  if (result.kind === "missing") return last === undefined ? entry : unstoredEntry(entry.key, last);
  await backend.cache.waitFor(result.revision);
  return last === undefined ? entryAt(entry, result.revision) : unstoredEntry(entry.key, last);
}
