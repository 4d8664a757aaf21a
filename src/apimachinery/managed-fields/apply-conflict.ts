import { StatusError } from "../status.ts";
import { countFields, pathsOf, type FieldSet } from "./field-set.ts";
import type { ManagedFieldsEntry } from "./managers.ts";
import { pathText } from "./path-element.ts";

/** Fields that an apply would change and that another manager owns. */
export interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** How many conflicting fields the answer names; Kubernetes names all. */
const maxNamed = 100;

interface NamedConflict {
  readonly owner: string;
  readonly paths: readonly string[];
}

/**
 * The 409 that names the conflicting fields and their owners, in the words that kubectl shows. Beyond 100 fields it tells only how many
 * more there are. Source: apimachinery managedfields NewConflictError.
 */
export function applyConflict(conflicts: readonly Conflict[]): StatusError {
  const byOwner = conflicts
    .map(({ owner, fields }) => ({ owner: ownerText(owner), fields }))
    .sort((a, b) => (a.owner < b.owner ? -1 : 1));
  const named: NamedConflict[] = [];
  let [room, count] = [maxNamed, 0];
  for (const { owner, fields } of byOwner) {
    const paths = pathsOf(fields, room).map(pathText);
    count += countFields(fields);
    room -= paths.length;
    if (paths.length > 0) named.push({ owner, paths });
  }
  const causes = named.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: "FieldManagerConflict", message: `conflict with ${owner}`, field })),
  );
  return new StatusError("Conflict", conflictText(named, count), { details: { causes } });
}

function conflictText(named: readonly NamedConflict[], count: number): string {
  if (count === 1) return `Apply failed with 1 conflict: conflict with ${named[0]?.owner}: ${named[0]?.paths[0]}`;
  const lines = named.flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)]);
  const more = count > maxNamed ? [`and ${count - maxNamed} more conflicts`] : [];
  return `Apply failed with ${count} conflicts: ${[...lines, ...more].join("\n")}`;
}

function ownerText({ manager, operation, apiVersion, subresource }: ManagedFieldsEntry): string {
  const name = JSON.stringify(manager ?? "");
  const through = subresource === undefined ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === "Update" ? `${through} using ${apiVersion}` : through;
}
