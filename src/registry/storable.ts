import type { ApiObject } from "../core/object.ts";
import { StatusError } from "../core/status.ts";
import { encodeObject } from "../storage/stored-object.ts";

/** Above what a request may bring, so that owners of fields have room; below it an object could grow without end by small patches. */
const maxObjectBytes = 4 * 1024 * 1024;

/** The bytes to store for an object. @throws StatusError RequestEntityTooLarge for more than 4 MiB of them */
export function storable(object: ApiObject): Buffer {
  const bytes = encodeObject(object);
  if (bytes.length <= maxObjectBytes) return bytes;
  throw new StatusError(
    "RequestEntityTooLarge",
    `the object would take ${bytes.length} bytes in the store: limit is ${maxObjectBytes}`,
  );
}
