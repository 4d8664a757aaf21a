import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { largeBytes } from "./turns.ts";
import { encodeObject, type Entry } from "../storage/stored-object.ts";
import { credentialRevocations } from "../apis/credential-revocation.ts";
import { leases } from "../apis/lease.ts";
import type { Resource } from "../apis/resource.ts";

/** Above the request limit, so that field owners have room; without it an object could grow without bound by small patches. */
const maxObjectBytes = 4 * 1024 * 1024;

/**
 * JSON values of one object, those of its managedFields included: three times the request limit, since each manager of a whole
 * object owns all its fields.
 */
const maxObjectValues = 65_536;
const maxDefinitionValues = 131_072;

/** The bytes to store for an object. @throws StatusError RequestEntityTooLarge for more than 4 MiB, or more JSON values than an object may have. */
export function storable(object: ApiObject): Buffer {
  const bytes = encodeObject(object);
  if (bytes.length >= largeBytes)
    checkValues(object, object.kind === "CustomResourceDefinition" ? maxDefinitionValues : maxObjectValues);
  if (bytes.length <= maxObjectBytes) return bytes;
  throw new StatusError(
    "RequestEntityTooLarge",
    `the object would take ${bytes.length} bytes in the store: limit is ${maxObjectBytes}`,
  );
}

/** Each later request processes the whole object, however little it changes. */
function checkValues(object: ApiObject, maxValues: number): void {
  if (valuesWithin(object, maxValues) <= maxValues) return;
  throw new StatusError(
    "RequestEntityTooLarge",
    `the object and its managedFields would hold more than ${maxValues} JSON values; split the object into several, or let fewer managers apply it`,
  );
}

/** The JSON values of a value, itself included, counted until there are more than `maxValues`; a fifth of the time that its text takes. */
function valuesWithin(value: unknown, maxValues: number): number {
  if (typeof value !== "object" || value === null) return 1;
  let values = 1;
  for (const key in value) {
    if (values > maxValues) break;
    const member: unknown = Reflect.get(value, key);
    if (member !== undefined) values += valuesWithin(member, maxValues - values);
  }
  return values;
}

/** No legitimate Lease or revocation is larger, in bytes. */
const maxReserveBytes = 8 * 1024;

/**
 * Whether a write is accepted when the store is full: one that releases an object, so that space can be freed, the Leases that prove that a
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

/** An entry for an object that was not stored: a dry run's answer, or an evaluated review. It keeps its resourceVersion. */
export function unstoredEntry(key: string, object: ApiObject): Entry {
  return { key, revision: 0, json: JSON.stringify(object), parsed: object, metadata: undefined };
}
