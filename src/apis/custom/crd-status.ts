import { isConditionTrue } from "../../apimachinery/conditions.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { arrayAt, fieldsAt, stringAt } from "../json-fields.ts";
import type { CustomResourceDefinition } from "./crd-object.ts";

/** Whether the kind of a definition is in use: its names were accepted, and it was established. */
export function isEstablished(crd: CustomResourceDefinition): boolean {
  return isConditionTrue(crd.status?.conditions, "Established");
}

/** Whether an object has what every valid definition has; what came out of the store was valid once. */
export function isDefinition(object: ApiObject): object is CustomResourceDefinition {
  const names = fieldsAt(object, "spec", "names");
  return (
    stringAt(object, "spec", "group") !== "" &&
    stringAt(names, "plural") !== "" &&
    stringAt(names, "kind") !== "" &&
    arrayAt(object, "spec", "versions").length > 0
  );
}
