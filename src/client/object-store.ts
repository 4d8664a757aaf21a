import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";
import { keyOf, keyText } from "./paths.ts";

/** One difference between the previous and the present state. A DELETED object is in its last known state. */
export interface Change<T extends ApiObject = ApiObject> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
  /** The previous state under this key. */
  readonly previous: T | undefined;
}

/** Reads objects without copying them: they are shared and must not be changed. */
export interface Reader<T extends ApiObject = ApiObject> {
  get(key: ObjectKey): T | undefined;
  list(): readonly T[];
}

/** The objects of one resource by key, and the listeners for changes. */
export interface ObjectStore<T extends ApiObject> extends Reader<T> {
  /** Stores the object's state; nothing happens when its resourceVersion is known already. */
  put(object: T): void;
  /** Removes the object; `last` is its final state. */
  remove(last: T): void;
  /** Replaces all objects with `objects` and reports the difference, deletions first. */
  replace(objects: readonly T[]): void;
  /** Calls `listener` synchronously for each change, first with the known objects as ADDED. Returns the function that ends it. */
  onChange(listener: (change: Change<T>) => void): () => void;
}

/** An empty store. `onListenerError` receives what a listener throws; the others are still called. */
export function objectStore<T extends ApiObject>(onListenerError: (error: unknown) => void): ObjectStore<T> {
  const objects = new Map<string, T>();
  const listeners = new Set<(change: Change<T>) => void>();

  function notify(listener: (change: Change<T>) => void, change: Change<T>): void {
    try {
      listener(change);
    } catch (error) {
      onListenerError(error);
    }
  }

  function put(object: T): void {
    const id = keyText(keyOf(object));
    const before = objects.get(id);
    // Another object has the name now: for a listener that tracks the uid, one was deleted and one was added.
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) remove(before);
    const previous = objects.get(id);
    if (previous !== undefined && previous.metadata.resourceVersion === object.metadata.resourceVersion) return;
    objects.set(id, object);
    const type = previous === undefined ? "ADDED" : "MODIFIED";
    for (const listener of listeners) notify(listener, { type, object, previous });
  }

  function remove(last: T): void {
    const id = keyText(keyOf(last));
    const previous = objects.get(id);
    objects.delete(id);
    for (const listener of listeners) notify(listener, { type: "DELETED", object: last, previous });
  }

  function replace(next: readonly T[]): void {
    const present = new Set(next.map((object) => keyText(keyOf(object))));
    for (const [id, object] of objects) if (!present.has(id)) remove(object);
    for (const object of next) put(object);
  }

  function onChange(listener: (change: Change<T>) => void): () => void {
    for (const object of objects.values()) notify(listener, { type: "ADDED", object, previous: undefined });
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  return { get: (key) => objects.get(keyText(key)), list: () => [...objects.values()], put, remove, replace, onChange };
}
