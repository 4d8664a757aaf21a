import type { ApiObject } from "../apimachinery/object.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { leases } from "../apis/lease.ts";
import type { Resource } from "../apis/resource.ts";

/** No Lease and no revocation that is meant as one is larger, in bytes. */
const maxReserveBytes = 8 * 1024;

/**
 * Whether a write is taken when the store is full: what lets go of an object, so that space can be freed, the Leases that say that a
 * machine is alive, and revocations, which must not wait for a disk. All of them are small.
 */
export function mayUseReserve(write: {
  readonly resource: Resource;
  readonly object: ApiObject;
  readonly value: Uint8Array;
  readonly isCreate: boolean;
}): boolean {
  const { resource, object, value, isCreate } = write;
  if (!isCreate && object.metadata.deletionTimestamp !== undefined) return true;
  if (value.length > maxReserveBytes) return false;
  return isSame(resource, credentialRevocations) || (!isCreate && isSame(resource, leases));
}

function isSame(a: Resource, b: Resource): boolean {
  return a.group === b.group && a.plural === b.plural;
}
