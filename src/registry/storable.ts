import type { ApiObject } from "../core/object.ts";
import { jsonExcess } from "../core/json-measure.ts";
import { maxDepth } from "../core/json-value.ts";
import { StatusError } from "../core/status.ts";
import { largeBytes } from "./large-work.ts";
import { encodeObject } from "../storage/stored-object.ts";

/** Above what a request may bring, so that owners of fields have room; below it an object could grow without end by small patches. */
const maxObjectBytes = 4 * 1024 * 1024;

/**
 * JSON values of one object, those of its managedFields included: three times what a request may bring, since each manager of a whole
 * object owns as many fields as that has.
 */
const maxObjectValues = 65_536;
const maxDefinitionValues = 131_072;

/** The bytes to store for an object. @throws StatusError RequestEntityTooLarge for more than 4 MiB, or more JSON values than an object may have. */
export function storable(object: ApiObject): Buffer {
  const bytes = encodeObject(object);
  if (bytes.length >= largeBytes)
    checkValues(bytes, object.kind === "CustomResourceDefinition" ? maxDefinitionValues : maxObjectValues);
  if (bytes.length <= maxObjectBytes) return bytes;
  throw new StatusError(
    "RequestEntityTooLarge",
    `the object would take ${bytes.length} bytes in the store: limit is ${maxObjectBytes}`,
  );
}

/** Each later request works on the whole object, however little it changes. */
function checkValues(bytes: Buffer, maxValues: number): void {
  if (jsonExcess(bytes.toString("latin1"), { maxDepth, maxValues }) !== "values") return;
  throw new StatusError(
    "RequestEntityTooLarge",
    `the object and its managedFields would hold more than ${maxValues} JSON values; split the object into several, or let fewer managers apply it`,
  );
}
