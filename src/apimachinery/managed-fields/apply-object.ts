import { jsonEqual } from "../equal.ts";
import type { JsonObject } from "../json-value.ts";
import type { Pace } from "../step-budget.ts";
import type { Steps } from "../steps.ts";
import { compareObjects, ignoring } from "./compare.ts";
import {
  contains,
  difference,
  intersection,
  isEmptySet,
  noFields,
  recursiveDifference,
  sortedSet,
  union,
  unionOf,
  type FieldSet,
  countFields,
  pathsOf,
} from "./field-set.ts";
import { fieldsOf, reconciledFields, withNamedFields } from "./fields-of.ts";
import { entryFor, identityOf, withFields, type ManagedFieldsEntry, type Managers } from "./managers.ts";
import { mergeObjects, removeItems } from "./merge-objects.ts";
import { ownable, trackUpdate, type Tracking } from "./track-update.ts";
import { StatusError } from "../status.ts";
import { pathText } from "./path-element.ts";

/** The input of an apply. */
export interface Application {
  /** The stored object, or the substitute for an absent one; without managedFields. */
  readonly live: JsonObject;
  /** Without managedFields; `appliedProblem` found no error in it. */
  readonly config: JsonObject;
  readonly managers: Managers;
  /** Whether the applier takes over conflicting fields. */
  readonly force: boolean;
  /** Fields that the applier may take over without force. */
  readonly yielded?: FieldSet;
}

/** The object after an apply and its owners. */
export interface Applied {
  readonly object: JsonObject;
  readonly managers: Managers;
}

const beforeFirstApply = "before-first-apply";

/**
 * Server-side apply: puts the configuration over the live object, removes what the manager applied before and no longer applies and
 * no other manager owns, and updates the ownership. `before-first-apply` owns an object without owners.
 * @throws StatusError Conflict. Source: structured-merge-diff merge.Updater.Apply under apimachinery's managedfields.
 * Each step takes a time that grows with the object and not with its square.
 */
export function* applyObject(tracking: Tracking, application: Application): Steps<Applied> {
  const { schema, writer, ignored } = tracking;
  const { live, config } = application;
  const pace: Pace = { places: 0 };
  const managers = yield* reconciled(tracking, yield* known(tracking, application), pace);
  yield;
  const id = identityOf(writer);
  const last = managers.get(id);
  const set = yield* recursiveDifference(yield* fieldsOf(schema, config, pace), ignored, pace);
  const own = withFields({ ...entryFor(writer, set), ...timeOf(last) }, set);
  const owners = new Map([...managers, [id, own] as const]);
  yield;
  const merged = yield* mergeObjects(schema, { live, applied: config }, pace);
  yield;
  const object = last === undefined ? merged : yield* pruned(tracking, { merged, owners, last: last.fieldsV1, set });
  yield;
  const result = yield* settled(tracking, { application, object, owners });
  yield;
  const changed = !jsonEqual(live, object);
  const fields = yield* sortedSet(yield* ownable(set, pace), pace);
  if (isEmptySet(fields)) result.delete(id);
  else result.set(id, withFields(own, fields, changed ? tracking.time : own.time));
  return { object, managers: result };
}

function timeOf(entry: ManagedFieldsEntry | undefined): { readonly time?: string } {
  return entry?.time === undefined ? {} : { time: entry.time };
}

/** The stored owners; where there are none, `before-first-apply` owns all existing fields. */
function* known(tracking: Tracking, { managers, live }: Application): Steps<Managers> {
  if (managers.size > 0) return managers;
  const writer = { ...tracking.writer, manager: beforeFirstApply, operation: "Update" } as const;
  return yield* trackUpdate({ ...tracking, writer }, managers, { before: {}, after: live });
}

function* reconciled({ schema }: Tracking, managers: Managers, pace: Pace): Steps<Managers> {
  const result = new Map<string, ManagedFieldsEntry>();
  for (const [id, entry] of managers) {
    result.set(id, withFields(entry, yield* reconciledFields(schema, entry.fieldsV1, pace)));
  }
  return result;
}

interface Settling {
  readonly application: Application;
  readonly object: JsonObject;
  readonly owners: Managers;
}

/** The entries of the other managers after the applier has taken the fields that it changes. @throws StatusError Conflict where it may not. */
function* settled(
  tracking: Tracking,
  { application, object, owners }: Settling,
): Steps<Map<string, ManagedFieldsEntry>> {
  const { schema, writer, ignored } = tracking;
  const pace: Pace = { places: 0 };
  const comparison = yield* compareObjects(schema, { before: application.live, after: object }, pace);
  const { removed, modified, added } = yield* ignoring(comparison, ignored, pace);
  yield;
  const changed = yield* union(modified, added, pace);
  const id = identityOf(writer);
  const result = new Map<string, ManagedFieldsEntry>();
  const conflicts: Conflict[] = [];
  for (const [otherId, entry] of owners) {
    if (otherId === id) continue;
    yield;
    const fields = yield* intersection(entry.fieldsV1, changed, pace);
    if (!isEmptySet(fields)) conflicts.push({ owner: entry, fields });
    const rest = yield* difference(yield* difference(entry.fieldsV1, fields, pace), removed, pace);
    if (!isEmptySet(rest)) result.set(otherId, withFields(entry, rest));
  }
  if (conflicts.length > 0 && !application.force) yield* refuse(conflicts, application.yielded ?? noFields);
  return result;
}

function* refuse(conflicts: readonly Conflict[], yielded: FieldSet): Steps<void> {
  const kept: Conflict[] = [];
  for (const { owner, fields } of conflicts) {
    const left = yield* difference(fields, yielded, { places: 0 });
    if (!isEmptySet(left)) kept.push({ owner, fields: left });
  }
  if (kept.length > 0) throw applyConflict(kept);
}

interface Pruning {
  readonly merged: JsonObject;
  readonly owners: Managers;
  /** The fields that the applier owned before. */
  readonly last: FieldSet;
  /** The fields that it owns now. */
  readonly set: FieldSet;
}

/** Removes the fields that the applier no longer applies, unless any manager, itself included, owns them or fields below. */
function* pruned({ schema }: Tracking, { merged, owners, last, set }: Pruning): Steps<JsonObject> {
  const pace: Pace = { places: 0 };
  if (yield* contains(set, last, pace)) return merged;
  const named = (fields: FieldSet): Steps<FieldSet> => withNamedFields(schema, fields, pace);
  const fieldsIn = function* (object: JsonObject): Steps<FieldSet> {
    return yield* named(yield* fieldsOf(schema, object, pace));
  };
  const without = (fields: FieldSet): Steps<JsonObject> => removeItems(schema, merged, { fields, pace });
  const before = yield* named(last);
  const gone = yield* without(before);
  yield;
  const all = yield* fieldsIn(merged);
  yield;
  const owned = yield* unionOf(
    [...owners.values()].map(({ fieldsV1 }) => fieldsV1),
    pace,
  );
  yield;
  const staying = yield* union(yield* fieldsIn(gone), yield* named(owned), pace);
  yield;
  const afterOwners = yield* without(yield* difference(all, staying, pace));
  yield;
  const lost = yield* difference(all, yield* fieldsIn(afterOwners), pace);
  return yield* without(yield* intersection(lost, before, pace));
}

/** Fields that an apply would change and that another manager owns. */
interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** How many conflicting fields the response names; Kubernetes names all. */
const maxNamed = 100;

interface NamedConflict {
  readonly owner: string;
  readonly paths: readonly string[];
}

/**
 * The 409 that names the conflicting fields and their owners, in the wording that kubectl shows. Beyond 100 fields it states only how many
 * more there are. Source: apimachinery managedfields NewConflictError.
 */
function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const byOwner = conflicts
    .map(({ owner, fields }) => ({ owner: ownerText(owner), fields }))
    .sort((a, b) => (a.owner < b.owner ? -1 : 1));
  const named: NamedConflict[] = [];
  let [remaining, count] = [maxNamed, 0];
  for (const { owner, fields } of byOwner) {
    const paths = pathsOf(fields, remaining).map(pathText);
    count += countFields(fields);
    remaining -= paths.length;
    if (paths.length > 0) named.push({ owner, paths });
  }
  const causes = named.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  );
  return new StatusError("Conflict", conflictText(named, count), { details: { causes } });
}

function conflictText(named: readonly NamedConflict[], count: number): string {
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${named[0]?.owner}: ${named[0]?.paths[0]}`;
  const lines = named.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  const more = count > maxNamed ? [`and ${count - maxNamed} more conflicts`] : [];
  return `Apply failed with ${count} conflicts: ${[...lines, ...more].join("\n")}`;
}

function ownerText({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? "");
  const through = subresource === undefined ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === "Update" ? `${through} using ${apiVersion}` : through;
}
