import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageOf, column, textColumn, wideColumn, builtinKind, stringFields } from "./builtin-kind.ts";
import { numberAt, stringAt, valueAt } from "./json-fields.ts";
import type { Column, Resource } from "./resource.ts";
import { nameErrors, fieldErrors } from "./field-rules.ts";

/** A report of something that happened to an object. Source: api/core/v1 Event. */
export interface Event extends ApiObject {
  readonly involvedObject: ObjectReference;
  readonly reason?: string;
  readonly message?: string;
  readonly source?: { readonly component?: string; readonly host?: string };
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly count?: number;
  readonly type?: string;
  /** MicroTime, six decimals. */
  readonly eventTime?: string;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly action?: string;
  readonly related?: ObjectReference;
  readonly reportingComponent?: string;
  readonly reportingInstance?: string;
}

/** The object of an event. */
export interface ObjectReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

const columns: readonly Column[] = [
  column("Last Seen", "How long ago this was last recorded.", lastSeen),
  textColumn("Type", "Normal or Warning.", "type"),
  textColumn("Reason", "Why this happened, in one word for machines.", "reason"),
  column("Object", "The object that this is about.", target),
  wideColumn("Subobject", "The part of the object that this is about.", (object) =>
    stringAt(object, "involvedObject", "fieldPath"),
  ),
  wideColumn("Source", "Who recorded this.", source),
  column("Message", "A description of the event.", (object) => stringAt(object, "message").trim()),
  wideColumn("First Seen", "How long ago this was first recorded.", firstSeen),
  wideColumn("Count", "How often this has happened.", count),
  {
    name: "Name",
    type: "string",
    format: "name",
    priority: 1,
    description: "The name of the event itself.",
    cell: (object) => object.metadata.name ?? "",
  },
];

export const events: Resource = builtinKind({
  group: "",
  kind: "Event",
  shortNames: ["ev"],
  scope: "Namespaced",
  schema: "io.k8s.api.core.v1.Event",
  columns,
  // Clients use the involved object's name as a prefix, and names of certificate requests and RBAC objects are no DNS names.
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
  validate: validateEvent,
  selectableFields: {
    ...stringFields(
      "involvedObject.kind",
      "involvedObject.namespace",
      "involvedObject.name",
      "involvedObject.uid",
      "involvedObject.apiVersion",
      "involvedObject.resourceVersion",
      "involvedObject.fieldPath",
      "reason",
      "reportingComponent",
    ),
    source: (object) => stringAt(object, "source", "component") || stringAt(object, "reportingComponent"),
    ...stringFields("type"),
  },
});

/** Events of the older recorders have no eventTime and only need to be in the right namespace. Source: pkg/apis/core/validation/events.go. */
function validateEvent(object: ApiObject): readonly FieldError[] {
  const namespace = object.metadata.namespace ?? "";
  const involved = stringAt(object, "involvedObject", "namespace");
  const elsewhere = invalid("involvedObject.namespace", involved, "does not match event.namespace");
  if (stringAt(object, "eventTime") === "") {
    const fits = involved === "" ? namespace === "" || namespace === "default" : namespace === involved;
    return fits ? [] : [elsewhere];
  }
  const component = stringAt(object, "reportingComponent");
  return fieldErrors(
    involved === "" && namespace !== "default" && namespace !== "kube-system" && elsewhere,
    component === "" && required("reportingController"),
    nameErrors("reportingController", component, qualifiedNameProblems),
    bounded(object, "reportingInstance", 128),
    bounded(object, "action", 128),
    bounded(object, "reason", 128),
    atMost(object, "message", 1024),
  );
}

function bounded(object: ApiObject, field: string, limit: number): readonly FieldError[] {
  return stringAt(object, field) === "" ? [required(field)] : atMost(object, field, limit);
}

function atMost(object: ApiObject, field: string, limit: number): readonly FieldError[] {
  const bytes = Buffer.byteLength(stringAt(object, field));
  return bytes > limit ? [invalid(field, "", `can have at most ${limit} characters`)] : [];
}

function firstSeen(object: ApiObject, now: number): string {
  return ageOf(stringAt(object, "firstTimestamp") || stringAt(object, "eventTime"), now);
}

function lastSeen(object: ApiObject, now: number): string {
  if (valueAt(object, "series", "lastObservedTime") !== undefined) {
    return ageOf(stringAt(object, "series", "lastObservedTime"), now);
  }
  const last = stringAt(object, "lastTimestamp");
  return last === "" ? firstSeen(object, now) : ageOf(last, now);
}

/** The first event of a series is not counted in it; an event outside a series happened once. */
function count(object: ApiObject): number {
  const inSeries = numberAt(object, "series", "count");
  return inSeries === undefined ? numberAt(object, "count") || 1 : inSeries + 1;
}

function target(object: ApiObject): string {
  const kind = stringAt(object, "involvedObject", "kind").toLowerCase();
  const name = stringAt(object, "involvedObject", "name");
  return name === "" ? kind : `${kind}/${name}`;
}

function source(object: ApiObject): string {
  const component = stringAt(object, "source", "component") || stringAt(object, "reportingComponent");
  const host = stringAt(object, "source", "host") || stringAt(object, "reportingInstance");
  return host === "" ? component : `${component}, ${host}`;
}

/**
 * An Event as current recorders send it. It is stored as a core Event, by which it is also read and watched: here it can be created
 * only. Source: api/events/v1 Event.
 */
export const reportedEvents: Resource = builtinKind({
  group: "events.k8s.io",
  kind: "Event",
  scope: "Namespaced",
  verbs: ["create"],
  schema: "io.k8s.api.events.v1.Event",
  names: "path",
});

/** The fields of a reported event, by their names in a core Event. */
const reportedNames: Readonly<Record<string, string>> = {
  involvedObject: "regarding",
  message: "note",
  reportingComponent: "reportingController",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  ...Object.fromEntries(
    ["eventTime", "series", "reportingInstance", "action", "reason", "related", "type"].map((name) => [name, name]),
  ),
};

/** The core Event of a reported one. */
export function coreEventOf(reported: ApiObject): ApiObject {
  const fields = Object.entries(reportedNames).map(([to, from]) => [to, reported[from]] as const);
  return {
    involvedObject: {},
    ...Object.fromEntries(fields.filter(([, value]) => value !== undefined)),
    apiVersion: "v1",
    kind: "Event",
    metadata: reported.metadata,
  };
}
