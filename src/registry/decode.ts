import { DecodeError } from "../apimachinery/decode-error.ts";
import { decodeObject } from "../apimachinery/decode.ts";
import { isJsonObject, type JsonObject } from "../apimachinery/json-value.ts";
import { apiVersionOf, type ApiObject } from "../apimachinery/object.ts";
import { badRequest, type StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";

/** A decoded object, and the paths of the fields that its schema does not have. */
export interface DecodedObject {
  readonly object: ApiObject;
  readonly unknown: readonly string[];
}

/**
 * Decodes a value along the schema of a resource, as each write does over HTTP and inside the hub: unknown fields are pruned, and defaults
 * of custom kinds are set. Its apiVersion and kind become the resource's. @throws DecodeError
 */
export function decodeTyped(value: JsonObject, resource: Resource): DecodedObject {
  const { apiVersion: _version, kind: _kind, ...fields } = value;
  const { object, unknown } = resource.custom?.decode(fields) ?? decodeObject(resource.schema, fields);
  const metadata = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  return {
    object: { kind: resource.kind, apiVersion: apiVersionOf(resource.group, resource.version), ...object, metadata },
    unknown,
  };
}

/** The same for clients inside the hub, which have no strict decoding. @throws StatusError BadRequest where a field has another type. */
export function decodedWrite(value: unknown, resource: Resource): ApiObject {
  if (!isJsonObject(value)) throw cannotBeHandled(resource, "json: cannot unmarshal into an object");
  try {
    return decodeTyped(value, resource).object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw cannotBeHandled(resource, error.message);
  }
}

function cannotBeHandled({ kind, version }: Resource, why: string): StatusError {
  return badRequest(`${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: ${why}`);
}
