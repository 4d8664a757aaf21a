import type { ApiObject } from "../apimachinery/object.ts";
import type { Resource } from "./resource.ts";
import { published } from "./schemas/published.ts";

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
  get schema() {
    return published("io.k8s.api.events.v1.Event");
  },
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
