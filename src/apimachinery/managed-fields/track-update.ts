import type { ObjectSchema } from "../schema.ts";
import type { JsonObject } from "../json-value.ts";
import type { Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { compareObjects, ignoring, isSame } from "./compare.ts";
import { contains, difference, isEmptySet, union, type FieldSet } from "./field-set.ts";
import {
  entryFor,
  foldedManagers,
  identityOf,
  sortedEntry,
  withFields,
  type ManagedFieldsEntry,
  type Managers,
  type Writer,
} from "./managers.ts";
import { reconciledFields } from "./fields-of.ts";

/** The common input of tracking and applying. */
export interface Tracking {
  readonly schema: ObjectSchema;
  readonly writer: Writer;
  /** RFC 3339, whole seconds. */
  readonly time: string;
  /** Fields that this endpoint cannot change, so that its managers do not own them or fields below. */
  readonly ignored: FieldSet;
}

/** Fields that no manager owns; fields below `metadata` may be owned. Source: apimachinery managedfields stripmeta. */
const neverOwned: FieldSet = {
  "f:apiVersion": {},
  "f:kind": {},
  "f:metadata": {
    ".": {},
    "f:name": {},
    "f:namespace": {},
    "f:creationTimestamp": {},
    "f:selfLink": {},
    "f:uid": {},
    "f:clusterName": {},
    "f:generation": {},
    "f:managedFields": {},
    "f:resourceVersion": {},
  },
};

/** A set without the fields that no manager owns. */
export function ownable(set: FieldSet, pace: Pace): Steps<FieldSet> {
  return difference(set, neverOwned, pace);
}

/**
 * The owners after an update, patch or create, in steps: its manager alone owns changed and added fields, no manager owns removed ones. Returns
 * `managers` itself where no owned field changed. Cheap where a manager changes its own fields: then only its time changes.
 * Source: structured-merge-diff merge.Updater.Update under apimachinery's managedfields.
 */
export function* trackUpdate(
  tracking: Tracking,
  managers: Managers,
  objects: { readonly before: JsonObject; readonly after: JsonObject },
): Steps<Managers> {
  const pace: Pace = { places: 0 };
  const { schema, writer, time, ignored } = tracking;
  const comparison = yield* ignoring(yield* compareObjects(schema, objects, pace), ignored, pace);
  if (isSame(comparison)) return managers;
  const touched = yield* union(comparison.modified, comparison.added, pace);
  const changed = yield* ownable(touched, pace);
  const lost = yield* union(touched, comparison.removed, pace);
  const id = identityOf(writer);
  const result = yield* othersWithout(tracking, managers, { id, lost, pace });
  const own = managers.get(id);
  const kept = own === undefined ? undefined : yield* difference(own.fieldsV1, comparison.removed, pace);
  if (own !== undefined && kept === own.fieldsV1 && (yield* contains(kept, changed, pace))) {
    result.set(id, isEmptySet(changed) ? own : withFields(own, kept, time));
    return yield* foldedManagers(result, pace);
  }
  const base = own ?? entryFor(writer, {});
  const fields = yield* union(yield* reconciledFields(schema, kept ?? {}, pace), changed, pace);
  const moved = isEmptySet(changed) ? base.time : time;
  keep(result, id, yield* sortedEntry(withFields(base, fields, moved), pace));
  return yield* foldedManagers(result, pace);
}

/** The entries of the other managers, without the fields that they lose. */
function* othersWithout(
  { schema }: Tracking,
  managers: Managers,
  { id, lost, pace }: { readonly id: string; readonly lost: FieldSet; readonly pace: Pace },
): Steps<Map<string, ManagedFieldsEntry>> {
  const result = new Map<string, ManagedFieldsEntry>();
  for (const [otherId, entry] of managers) {
    if (otherId === id) continue;
    const rest = yield* difference(entry.fieldsV1, lost, pace);
    if (rest === entry.fieldsV1) result.set(otherId, entry);
    else {
      const reconciled = yield* reconciledFields(schema, rest, pace);
      keep(result, otherId, withFields(entry, yield* ownable(reconciled, pace)));
    }
  }
  return result;
}

function keep(result: Map<string, ManagedFieldsEntry>, id: string, entry: ManagedFieldsEntry): void {
  if (!isEmptySet(entry.fieldsV1)) result.set(id, entry);
}
