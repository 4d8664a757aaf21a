import type { ApiObject } from "../apimachinery/object.ts";
import type { Entry } from "../storage/stored-object.ts";

/** An entry for an object that was not stored: a dry run's answer, or an evaluated review. It keeps whatever resourceVersion it has. */
export function unstoredEntry(key: string, object: ApiObject): Entry {
  return { key, revision: 0, json: JSON.stringify(object), parsed: object, metadata: undefined };
}
