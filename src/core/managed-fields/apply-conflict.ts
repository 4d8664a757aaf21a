import { StatusError } from "../status.ts";
import { pathsOf, type FieldSet } from "./field-set.ts";
import type { ManagedFieldsEntry } from "./managers.ts";
import { pathText } from "./path-element.ts";

/** Fields that an apply would change and that another manager owns. */
export interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** The 409 that names every conflicting field and its owner, in the words that kubectl shows. Source: apimachinery managedfields NewConflictError. */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const named = conflicts
    .map(({ owner, fields }) => ({ owner: ownerText(owner), paths: pathsOf(fields).map(pathText) }))
    .sort((a, b) => (a.owner < b.owner ? -1 : 1));
  const causes = named.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  );
  return new StatusError("Conflict", conflictText(named, causes.length), { details: { causes } });
}

function conflictText(
  named: readonly { readonly owner: string; readonly paths: readonly string[] }[],
  count: number,
): string {
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${named[0]?.owner}: ${named[0]?.paths[0]}`;
  const lines = named.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  return `Apply failed with ${count} conflicts: ${lines.join("\n")}`;
}

function ownerText({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? "");
  const through = subresource === undefined ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === "Update" ? `${through} using ${apiVersion}` : through;
}
