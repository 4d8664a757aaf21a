import { invalid, type FieldError } from "../apimachinery/field-error.ts";
import type { ClusterTaint } from "../apis/managed-cluster.ts";

/**
 * The taints of a cluster with the times since when they hold, or what is wrong with times that were given: whoever writes a taint
 * does not choose its time, and what stays as it is keeps it. Source: ocm pkg/registration/webhook/v1.
 */
export function stampedTaints(
  wanted: readonly ClusterTaint[],
  stored: readonly ClusterTaint[] | undefined,
  now: string,
): { readonly taints: readonly ClusterTaint[] } | { readonly errors: readonly FieldError[] } {
  if (stored === undefined) return { taints: wanted.map((taint) => ({ ...taint, timeAdded: now })) };
  const errors: FieldError[] = [];
  const taints = wanted.map((taint, index) => {
    const before = stored.find((one) => isSameTaint(one, taint));
    const time = taint.timeAdded ?? undefined;
    // One that is sent without its time, as from a manifest, keeps the time all the same.
    if (before !== undefined && (time === undefined || isSameTime(time, before.timeAdded))) {
      return withTime(taint, before.timeAdded ?? undefined);
    }
    if (time === undefined) return { ...taint, timeAdded: now };
    const why =
      before === undefined ? "a taint that is new or changed has no time yet" : "the time of a taint does not change";
    errors.push(invalid(`spec.taints[${index}].timeAdded`, time, why));
    return taint;
  });
  return errors.length > 0 ? { errors } : { taints };
}

/** Whether two taints are the same but for the time. */
export function isSameTaint(one: ClusterTaint, other: ClusterTaint): boolean {
  return one.key === other.key && one.effect === other.effect && (one.value ?? "") === (other.value ?? "");
}

function isSameTime(one: string, other: string | null | undefined): boolean {
  return other !== undefined && other !== null && Date.parse(one) === Date.parse(other);
}

function withTime({ timeAdded: _given, ...taint }: ClusterTaint, timeAdded: string | undefined): ClusterTaint {
  return timeAdded === undefined ? taint : { ...taint, timeAdded };
}
