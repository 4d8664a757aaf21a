import { isJsonObject, type JsonObject } from "../../apimachinery/json-value.ts";
import { apiVersionOf, type ApiObject } from "../../apimachinery/object.ts";
import { internalError } from "../../apimachinery/status.ts";
import { objectOf, type Entry } from "../../registry/entry.ts";
import { unstoredEntry } from "../../registry/storable.ts";
import type { UpdateRequest } from "../../registry/update.ts";
import type { ShownAs } from "../../apis/resource.ts";

/** An entry in the shape of its subresource; itself where that has none of its own. */
export function shapedEntry(shownAs: ShownAs | undefined, entry: Entry): Entry {
  return shownAs === undefined ? entry : unstoredEntry(entry.key, shownAs.show(objectOf(entry)));
}

/** The same for a reader. @throws StatusError InternalError where the object has nothing to show. */
export function readEntry(shownAs: ShownAs | undefined, entry: Entry): Entry {
  const missing = shownAs?.missing(objectOf(entry));
  if (missing !== undefined) throw internalError(missing);
  return shapedEntry(shownAs, entry);
}

/** What a stored object is to become, with turns where that is much work. */
type Change = UpdateRequest["desired"];

/** A change of what is shown as a change of the object behind it. */
export function shapedChange(shownAs: ShownAs | undefined, change: Change): Change {
  if (shownAs === undefined) return change;
  return async (stored, turn) => shownAs.write(await change(shownAs.show(stored), turn), stored);
}

/** What is applied to a subresource as what is applied to the object behind it. */
export function shapedConfig(shownAs: ShownAs | undefined, config: JsonObject, behind: ApiObject): JsonObject {
  const { metadata, spec } = config;
  if (shownAs === undefined) return config;
  const place = isJsonObject(metadata) ? metadata : {};
  const { kind, version, group } = shownAs.kind;
  const shown: ApiObject = { ...config, kind, apiVersion: apiVersionOf(group, version), metadata: place };
  // Who applies nothing wants nothing, which is not zero.
  const asked = isJsonObject(spec) && Object.keys(spec).length > 0;
  return asked ? { ...shownAs.write(shown, behind), metadata: place } : { ...behind, metadata: place };
}
