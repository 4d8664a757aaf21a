import type { ApiObject } from "../../apimachinery/object.ts";
import type { Resource } from "../resource.ts";
import type { CrdVersion } from "./crd-object.ts";
import { pathFields, valueUnder } from "./simple-path.ts";

/** The field labels of a version, named by their path without the leading dot; what is missing in an object reads as empty. */
export function selectableFields(version: Pick<CrdVersion, "selectableFields">): Resource["selectableFields"] {
  const entries = (version.selectableFields ?? []).map(({ jsonPath }) => {
    const fields = pathFields(jsonPath);
    return [fields.join("."), (object: ApiObject) => selectableText(valueUnder(object, fields))] as const;
  });
  return Object.fromEntries(entries);
}

function selectableText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}
