import { rfc3339 } from "../apimachinery/clock.ts";
import { setCondition } from "../apimachinery/conditions.ts";
import type { ApiObject, Condition } from "../apimachinery/object.ts";
import type { Client, DeleteOptions, ResourceRef } from "../client/client.ts";
import { keyOf } from "../client/paths.ts";

/** An object with conditions. */
export interface Conditioned {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** The conditions of an object with `next` merged in at `now`, in milliseconds; undefined where nothing changes. */
export function changedConditions(
  { status }: Conditioned,
  next: Condition,
  now: number,
): readonly Condition[] | undefined {
  const before = status?.conditions ?? [];
  const after = setCondition(before, next, rfc3339(now));
  return after === before ? undefined : after;
}

/** Writes conditions into the status of an object, unless it has changed since it was read; undefined writes nothing. @throws StatusError */
export async function patchConditions(
  { client, resource }: { readonly client: Client; readonly resource: ResourceRef },
  object: ApiObject,
  conditions: readonly Condition[] | undefined,
): Promise<void> {
  if (conditions === undefined) return;
  const patch = { metadata: versionOf(object), status: { conditions } };
  await client.patch(resource, keyOf(object), patch, { subresource: "status" });
}

/** The preconditions that limit a patch or a delete to the object as it was read. */
export function versionOf({
  metadata: { uid, resourceVersion },
}: ApiObject): NonNullable<DeleteOptions["preconditions"]> {
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

/** The options of a delete that removes this object, and no later one of its name. */
export function sameUid({ metadata: { uid } }: ApiObject): DeleteOptions {
  return uid === undefined ? {} : { preconditions: { uid } };
}
