import { describe, expect, test } from "vitest";

import type { ApiObject } from "../apimachinery/object.ts";
import { events } from "./event.ts";
import { tableFor } from "../serializer/table.ts";

const now = Date.parse("2026-06-01T12:00:00Z");

function event(fields: object, namespace = "n"): ApiObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e", namespace },
    involvedObject: { kind: "Pod", namespace: "n", name: "p" },
    ...fields,
  };
}

const complete = {
  eventTime: "2026-06-01T11:59:00.000000Z",
  reportingComponent: "example.com/x",
  reportingInstance: "x-1",
  action: "Do",
  reason: "Done",
};

describe("an event", () => {
  const cases: Readonly<Record<string, { readonly object: ApiObject; readonly errors: readonly string[] }>> = {
    "of the older kind need only lie beside its object": { object: event({}), errors: [] },
    "about a cluster-scoped object lies in default": {
      object: event({ involvedObject: { kind: "Node", name: "x" } }, "default"),
      errors: [],
    },
    "about a cluster-scoped object may not lie elsewhere": {
      object: event({ involvedObject: { kind: "Node", name: "x" } }),
      errors: ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
    },
    "may not lie in another namespace than its object": {
      object: event({}, "other"),
      errors: ['involvedObject.namespace: Invalid value: "n": does not match event.namespace'],
    },
    "of the newer kind is accepted when complete": { object: event(complete), errors: [] },
    "of the newer kind needs an instance, an action and a reason": {
      object: event({ ...complete, reportingInstance: "", action: "", reason: "" }),
      errors: ["reportingInstance: Required value", "action: Required value", "reason: Required value"],
    },
    "of the newer kind has bounded texts": {
      object: event({ ...complete, action: "x".repeat(129), message: "x".repeat(1025) }),
      errors: [
        'action: Invalid value: "": can have at most 128 characters',
        'message: Invalid value: "": can have at most 1024 characters',
      ],
    },
  };
  test.each(Object.entries(cases))("%s", (_title, { object, errors }) => {
    const found = events.validate?.(object) ?? [];
    expect(found.map((error) => `${error.path}: ${error.message}`)).toStrictEqual(errors);
  });

  test("may be named after an object whose name is no DNS name", () => {
    expect(events.names).toBe("path");
  });
});

describe("an event's row", () => {
  const rows: Readonly<Record<string, { readonly fields: object; readonly cells: readonly unknown[] }>> = {
    "shows an event of the older kind": {
      fields: {
        type: "Normal",
        reason: "Started",
        message: " it runs \n",
        source: { component: "kubelet", host: "node-1" },
        firstTimestamp: "2026-06-01T11:00:00Z",
        lastTimestamp: "2026-06-01T11:58:00Z",
        count: 4,
      },
      cells: ["2m", "Normal", "Started", "pod/p", "", "kubelet, node-1", "it runs", "60m", 4, "e"],
    },
    "shows a single event of the newer kind": {
      fields: complete,
      cells: ["60s", "", "Done", "pod/p", "", "example.com/x, x-1", "", "60s", 1, "e"],
    },
    "counts the event before a series": {
      fields: { ...complete, series: { count: 2, lastObservedTime: "2026-06-01T11:59:50.000000Z" } },
      cells: ["10s", "", "Done", "pod/p", "", "example.com/x, x-1", "", "60s", 3, "e"],
    },
  };
  test.each(Object.entries(rows))("%s", (_title, { fields, cells }) => {
    expect(tableFor(events, [event(fields)], { now }).rows[0]?.cells).toStrictEqual(cells);
  });
});

test("is selected by all that describe asks for", () => {
  const one = event({ reason: "r", type: "Warning", reportingComponent: "c", source: { component: "s" } });
  const selected = Object.entries(events.selectableFields ?? {}).map(([label, value]) => `${label}=${value(one)}`);
  expect(selected).toStrictEqual([
    "involvedObject.kind=Pod",
    "involvedObject.namespace=n",
    "involvedObject.name=p",
    "involvedObject.uid=",
    "involvedObject.apiVersion=",
    "involvedObject.resourceVersion=",
    "involvedObject.fieldPath=",
    "reason=r",
    "reportingComponent=c",
    "source=s",
    "type=Warning",
  ]);
});
