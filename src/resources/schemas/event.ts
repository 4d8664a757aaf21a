import type { ObjectSchema } from "../../core/schema.ts";
import { objectReference } from "./references.ts";
import { kind } from "./kind.ts";
import { about, int32, message, microTime, object, pointer, required, str, time } from "./shorthand.ts";

// Event. Source: k8s.io/api core/v1.

export const eventSource: ObjectSchema = message("io.k8s.api.core.v1.EventSource", {
  component: str(1),
  host: str(2),
});

export const eventSeries: ObjectSchema = message("io.k8s.api.core.v1.EventSeries", {
  count: int32(1),
  lastObservedTime: microTime(2),
});

export const eventSchema: ObjectSchema = kind(
  "io.k8s.api.core.v1.Event",
  "A report of something that happened to an object; kept for a short time only.",
  {
    involvedObject: about("The object the event is about.", required(object(2, objectReference))),
    reason: about("A short CamelCase word for why this happened.", str(3)),
    message: about("What happened, for people.", str(4)),
    source: about("The component that reported the event.", object(5, eventSource)),
    firstTimestamp: about("When the event was first seen.", time(6)),
    lastTimestamp: about("When the event was last seen.", time(7)),
    count: about("How often the event was seen.", int32(8)),
    type: about("Normal or Warning.", str(9)),
    eventTime: about("When the event was first observed, in microseconds.", microTime(10)),
    series: about("How the event goes on, when it repeats.", pointer(object(11, eventSeries))),
    action: about("What was done or failed about the object.", str(12)),
    related: about("A second object that has to do with the event.", pointer(object(13, objectReference))),
    reportingComponent: about("The controller that emitted the event.", str(14)),
    reportingInstance: about("Which instance of the controller that was.", str(15)),
  },
);
