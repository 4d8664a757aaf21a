import type { ApiObject } from "../core/object.ts";
import type { Resource } from "./resource.ts";
import { eventSeries, eventSource } from "./schemas/event.ts";
import { kind } from "./schemas/kind.ts";
import { objectReference } from "./schemas/references.ts";
import { about, int32, microTime, object, pointer, required, str, time } from "./schemas/shorthand.ts";

/**
 * An Event as recorders of today send it. It is made as a core Event, in which it is also read and followed: here it can be created
 * only. Source: api/events/v1 Event.
 */
export const reportedEvents: Resource = {
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  singular: "event",
  shortNames: [],
  categories: [],
  scope: "Namespaced",
  verbs: ["create"],
  description: "An Event reports something that happened to an object.",
  schema: kind("io.k8s.api.events.v1.Event", "A report of something that happened to an object.", {
    eventTime: about("When the event was first observed, in microseconds.", required(microTime(2))),
    series: about("How the event goes on, when it repeats.", pointer(object(3, eventSeries))),
    reportingController: about("The controller that emitted the event.", str(4)),
    reportingInstance: about("Which instance of the controller that was.", str(5)),
    action: about("What was done or failed about the object.", str(6)),
    reason: about("A short CamelCase word for why this happened.", str(7)),
    regarding: about("The object the event is about.", object(8, objectReference)),
    related: about("A second object that has to do with the event.", pointer(object(9, objectReference))),
    note: about("What happened, for people.", str(10)),
    type: about("Normal or Warning.", str(11)),
    deprecatedSource: about("The component that reported the event.", object(12, eventSource)),
    deprecatedFirstTimestamp: about("When the event was first seen.", time(13)),
    deprecatedLastTimestamp: about("When the event was last seen.", time(14)),
    deprecatedCount: about("How often the event was seen.", int32(15)),
  }),
  columns: [],
  subresources: {},
  names: "path",
  createOnUpdate: false,
  unconditionalUpdate: false,
  deleteReturnsObject: false,
  generation: false,
};

/** The fields that have another name in a core Event. */
const coreNames: readonly (readonly [reported: string, core: string])[] = [
  ["regarding", "involvedObject"],
  ["note", "message"],
  ["reportingController", "reportingComponent"],
  ["deprecatedSource", "source"],
  ["deprecatedFirstTimestamp", "firstTimestamp"],
  ["deprecatedLastTimestamp", "lastTimestamp"],
  ["deprecatedCount", "count"],
];

const sameNames: readonly string[] = [
  "eventTime",
  "series",
  "reportingInstance",
  "action",
  "reason",
  "related",
  "type",
];

/** The core Event that a reported one is. */
export function coreEventOf(reported: ApiObject): ApiObject {
  const names = [...coreNames, ...sameNames.map((name) => [name, name] as const)];
  const fields = names.flatMap(([from, to]) => (reported[from] === undefined ? [] : [[to, reported[from]] as const]));
  return {
    involvedObject: {},
    ...Object.fromEntries(fields),
    apiVersion: "v1",
    kind: "Event",
    metadata: reported.metadata,
  };
}
