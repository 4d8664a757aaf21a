import { humanDuration } from "../apimachinery/duration.ts";
import { arrayAt, stringAt } from "./json-fields.ts";
import type { Column } from "./resource.ts";

/** How long ago an RFC 3339 time was, as kubectl writes it; `<unknown>` for an absent or unreadable time. `now` in milliseconds. */
export function ageOf(time: string, now: number): string {
  const then = time === "" ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

/** A column of text, and what each object has in it. */
export function column(name: string, description: string, cell: Column["cell"]): Column {
  return { name, type: "string", description, cell };
}

/** A column that shows only with `-o wide`. */
export function wideColumn(name: string, description: string, cell: Column["cell"]): Column {
  return { ...column(name, description, cell), priority: 1 };
}

/** A column of the string that lies under a path. */
export function textColumn(name: string, description: string, ...path: readonly string[]): Column {
  return column(name, description, (object) => stringAt(object, ...path));
}

/** A column of how many entries the list under a path has. */
export function countColumn(name: string, description: string, ...path: readonly string[]): Column {
  return { ...column(name, description, (object) => arrayAt(object, ...path).length), type: "integer" };
}

/** The Age column of nearly every kind. */
export const ageColumn: Column = column("Age", "How long ago the server created the object.", (object, now) =>
  ageOf(stringAt(object, "metadata", "creationTimestamp"), now),
);

/** The column of kinds without columns of their own: the creation time as it is stored. Source: apiserver pkg/registry/rest/table.go. */
export const createdAtColumn: Column = {
  ...column(
    "Created At",
    "When the server created the object, in RFC 3339 form and in UTC.",
    (object) => stringAt(object, "metadata", "creationTimestamp") || "<unknown>",
  ),
  type: "date",
};
