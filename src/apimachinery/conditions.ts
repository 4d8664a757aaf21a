import type { Condition } from "./object.ts";

/** The condition of a type, or undefined. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Whether the condition of a type exists with status True. */
export function isConditionTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === "True";
}

/**
 * The list with `next` in place of the condition of its type, or at the end. `lastTransitionTime` is that of `next`, else `now` (an
 * RFC 3339 time) where the status differs from before, else as before. Returns the list itself when `next` changes nothing.
 * Source: apimachinery meta.SetStatusCondition.
 */
export function setCondition(conditions: readonly Condition[], next: Condition, now: string): readonly Condition[] {
  const before = findCondition(conditions, next.type);
  if (before === undefined) return [...conditions, { ...next, lastTransitionTime: next.lastTransitionTime ?? now }];
  const since = before.status === next.status ? before.lastTransitionTime : (next.lastTransitionTime ?? now);
  const after: Condition = { ...before, ...next, ...(since === undefined ? {} : { lastTransitionTime: since }) };
  const fields = Object.keys(after) as (keyof Condition)[];
  if (fields.every((field) => after[field] === before[field])) return conditions;
  return conditions.map((condition) => (condition === before ? after : condition));
}
