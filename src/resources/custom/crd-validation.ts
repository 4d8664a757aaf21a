import { invalid, type FieldError } from "../../core/field-error.ts";
import type { ApiObject } from "../../core/object.ts";
import { stringAt } from "../json-fields.ts";

/** What is wrong with a definition; with `stored`, what was wrong before may stay. Source: apiextensions-apiserver apis/apiextensions/validation. */
export function crdErrors(crd: ApiObject, _stored?: ApiObject): readonly FieldError[] {
  const name = `${stringAt(crd, "spec", "names", "plural")}.${stringAt(crd, "spec", "group")}`;
  if (crd.metadata.name === name) return [];
  return [invalid("metadata.name", crd.metadata.name, 'must be spec.names.plural+"."+spec.group')];
}

/** What an update does that no update may do. */
export function crdUpdateErrors(_next: ApiObject, _stored: ApiObject): readonly FieldError[] {
  return [];
}
