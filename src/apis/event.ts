import { type FieldError, invalid, required } from "../apimachinery/field-error.ts";
import { qualifiedNameProblems } from "../apimachinery/names.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { ageOf } from "./age-column.ts";
import { numberAt, stringAt, valueAt } from "./json-fields.ts";
import { type Column, type Resource, storedVerbs } from "./resource.ts";
import { published } from "./schemas/published.ts";

/** Something that happened to an object. Source: api/core/v1 Event. */
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

/** Which object an event is about. */
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
  { name: "Last Seen", type: "string", description: "How long ago this was last recorded.", cell: lastSeen },
  text("Type", "Normal or Warning.", "type"),
  text("Reason", "Why this happened, in one word for machines.", "reason"),
  { name: "Object", type: "string", description: "The object that this is about.", cell: target },
  {
    name: "Subobject",
    type: "string",
    priority: 1,
    description: "The part of the object that this is about.",
    cell: (object) => stringAt(object, "involvedObject", "fieldPath"),
  },
  { name: "Source", type: "string", priority: 1, description: "Who recorded this.", cell: source },
  {
    name: "Message",
    type: "string",
    description: "What happened, for people.",
    cell: (object) => stringAt(object, "message").trim(),
  },
  {
    name: "First Seen",
    type: "string",
    priority: 1,
    description: "How long ago this was first recorded.",
    cell: firstSeen,
  },
  { name: "Count", type: "string", priority: 1, description: "How often this has happened.", cell: count },
  {
    name: "Name",
    type: "string",
    format: "name",
    priority: 1,
    description: "The name of the event itself.",
    cell: (object) => object.metadata.name ?? "",
  },
];

export const events: Resource = {
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  singular: "event",
  shortNames: ["ev"],
  categories: [],
  scope: "Namespaced",
  verbs: storedVerbs,
  get schema() {
    return published("io.k8s.api.core.v1.Event");
  },
  columns,
  subresources: {},
  // Clients put the involved object's name in front, and names of certificate requests and RBAC objects are no DNS names.
  names: "path",
  createOnUpdate: true,
  unconditionalUpdate: true,
  deleteReturnsObject: false,
  generation: false,
  validate: (object) => validateEvent(object),
  selectableFields: {
    "involvedObject.kind": (object) => stringAt(object, "involvedObject", "kind"),
    "involvedObject.namespace": (object) => stringAt(object, "involvedObject", "namespace"),
    "involvedObject.name": (object) => stringAt(object, "involvedObject", "name"),
    "involvedObject.uid": (object) => stringAt(object, "involvedObject", "uid"),
    "involvedObject.apiVersion": (object) => stringAt(object, "involvedObject", "apiVersion"),
    "involvedObject.resourceVersion": (object) => stringAt(object, "involvedObject", "resourceVersion"),
    "involvedObject.fieldPath": (object) => stringAt(object, "involvedObject", "fieldPath"),
    reason: (object) => stringAt(object, "reason"),
    reportingComponent: (object) => stringAt(object, "reportingComponent"),
    source: (object) => stringAt(object, "source", "component") || stringAt(object, "reportingComponent"),
    type: (object) => stringAt(object, "type"),
  },
};

/** Events of the older recorders have no eventTime and only need to lie in the right namespace. Source: pkg/apis/core/validation/events.go. */
function validateEvent(object: ApiObject): readonly FieldError[] {
  const namespace = object.metadata.namespace ?? "";
  const involved = stringAt(object, "involvedObject", "namespace");
  const elsewhere = invalid("involvedObject.namespace", involved, "does not match event.namespace");
  if (stringAt(object, "eventTime") === "") {
    const fits = involved === "" ? namespace === "" || namespace === "default" : namespace === involved;
    return fits ? [] : [elsewhere];
  }
  const component = stringAt(object, "reportingComponent");
  return [
    ...(involved === "" && namespace !== "default" && namespace !== "kube-system" ? [elsewhere] : []),
    ...(component === "" ? [required("reportingController")] : []),
    ...qualifiedNameProblems(component).map((why) => invalid("reportingController", component, why)),
    ...bounded(object, "reportingInstance", 128),
    ...bounded(object, "action", 128),
    ...bounded(object, "reason", 128),
    ...atMost(object, "message", 1024),
  ];
}

function bounded(object: ApiObject, field: string, limit: number): readonly FieldError[] {
  return stringAt(object, field) === "" ? [required(field)] : atMost(object, field, limit);
}

function atMost(object: ApiObject, field: string, limit: number): readonly FieldError[] {
  const bytes = Buffer.byteLength(stringAt(object, field));
  return bytes > limit ? [invalid(field, "", `can have at most ${limit} characters`)] : [];
}

function text(name: string, description: string, field: string): Column {
  return { name, type: "string", description, cell: (object) => stringAt(object, field) };
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

/** The event that began a series is not counted in it; an event outside a series happened once. */
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
