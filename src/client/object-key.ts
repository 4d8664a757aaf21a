import type { ApiObject, ObjectKey } from "../apimachinery/object.ts";

/** The key of an object: its name, and its namespace where it has one. */
export function keyOf(object: ApiObject): ObjectKey {
  const { namespace, name = "" } = object.metadata;
  return namespace === undefined || namespace === "" ? { name } : { namespace, name };
}

/** `namespace/name`, or the bare name of a cluster-scoped object: equal texts mean equal keys of one resource. */
export function keyText(key: ObjectKey): string {
  return key.namespace === undefined || key.namespace === "" ? key.name : `${key.namespace}/${key.name}`;
}
