import type { ListOptions } from "../client/client.ts";
import {
  checkFieldLabels,
  matchesFields,
  parseFieldSelector,
  selectedName,
  type FieldSelector,
} from "../apimachinery/field-selector.ts";
import { matchesLabels, parseLabelSelector, type LabelSelector } from "../apimachinery/label-selector.ts";
import type { ApiObject, ObjectMeta } from "../apimachinery/object.ts";
import { SelectorError } from "../apimachinery/selector-error.ts";
import { badRequest } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import { metadataOf, objectOf, type Entry } from "../storage/stored-object.ts";

/** Which objects of a resource a request selects. */
export interface Selection {
  /** No selector at all. */
  readonly everything: boolean;
  /** The one name that can match, where the selector requires one. */
  readonly name: string | undefined;
  readonly matches: (entry: Entry) => boolean;
}

export const everything: Selection = { everything: true, name: undefined, matches: () => true };

/** The selection of two selector texts. @throws StatusError BadRequest for a malformed selector or an unknown field label. */
export function selectionOf(
  resource: Resource,
  { labelSelector = "", fieldSelector = "" }: Pick<ListOptions, "labelSelector" | "fieldSelector">,
): Selection {
  if (labelSelector === "" && fieldSelector === "") return everything;
  try {
    const labels = labelSelector === "" ? undefined : parseLabelSelector(labelSelector);
    const fields = parseFieldSelector(fieldSelector);
    checkFields(resource, fields);
    return selectionFrom(resource, labels, fields);
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

/** @throws StatusError BadRequest, SelectorError for a field that the kind does not support. */
function checkFields({ selectableFields = {}, custom, scope }: Resource, fields: FieldSelector): void {
  const labelsOfKind = Object.keys(selectableFields);
  checkFieldLabels(fields, labelsOfKind, labelsOfKind.length > 0 || custom !== undefined);
  // Kinds of the cluster that name their own labels leave the namespace out; all others have it, empty.
  const isNamespaceStrange = scope === "Cluster" && labelsOfKind.length > 0;
  if (isNamespaceStrange && fields.some(({ field }) => field === "metadata.namespace")) {
    throw badRequest("field label not supported: metadata.namespace");
  }
}

function selectionFrom(resource: Resource, labels: LabelSelector | undefined, fields: FieldSelector): Selection {
  const valueIn = (object: ApiObject, field: string): string => fieldValue(resource, object, field);
  const name = selectedName(fields);
  return {
    everything: labels === undefined && fields.length === 0,
    name,
    matches: (entry) => {
      // A watch of one name must not parse, and so keep parsed, all other objects of the kind.
      if (name !== undefined && !entry.key.endsWith(`/${name}`)) return false;
      if (labels !== undefined && !matchesLabels(labels, metadataIn(entry).labels ?? {})) return false;
      if (fields.length === 0) return true;
      const object = objectOf(entry);
      return matchesFields(fields, (field) => valueIn(object, field));
    },
  };
}

/** From this length in characters on, searching the metadata in the text is cheaper than parsing all of it. */
const largeCharacters = 16 * 1024;

function metadataIn(entry: Entry): ObjectMeta {
  return entry.json.length < largeCharacters ? objectOf(entry).metadata : metadataOf(entry);
}

function fieldValue(resource: Resource, object: ApiObject, field: string): string {
  if (field === "metadata.name") return object.metadata.name ?? "";
  if (field === "metadata.namespace") return object.metadata.namespace ?? "";
  return resource.selectableFields?.[field]?.(object) ?? "";
}
