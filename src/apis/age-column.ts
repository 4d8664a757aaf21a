import { humanDuration } from "../apimachinery/duration.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { stringAt } from "./json-fields.ts";
import type { Column } from "./resource.ts";

/** How long ago an RFC 3339 time was, as kubectl writes it; `<unknown>` for an absent or unreadable time. `now` in milliseconds. */
export function ageOf(time: string, now: number): string {
  const then = time === "" ? Number.NaN : Date.parse(time);
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now - then);
}

/** The Age column of nearly every kind. */
export const ageColumn: Column = {
  name: "Age",
  type: "string",
  description: "How long ago the server created the object.",
  cell: (object: ApiObject, now: number) => ageOf(stringAt(object, "metadata", "creationTimestamp"), now),
};

/** The column of kinds without columns of their own: the creation time as it is stored. Source: apiserver pkg/registry/rest/table.go. */
export const createdAtColumn: Column = {
  name: "Created At",
  type: "date",
  description: "When the server created the object, in RFC 3339 form and in UTC.",
  cell: (object: ApiObject) => {
    const time = stringAt(object, "metadata", "creationTimestamp");
    return time === "" ? "<unknown>" : time;
  },
};
