import { expect } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import type { LogEntry } from "../../src/apimachinery/log-entry.ts";
import type { Reason } from "../../src/apimachinery/reasons.ts";
import type { Event } from "../../src/apis/event.ts";
import { eventually } from "./peers-process.ts";

/** A hub of which is read what its controllers report. */
export interface ReportingHub {
  readonly log: readonly LogEntry[];
  /** The body of a GET with every right. */
  readonly read: (path: string) => Promise<{ readonly text: string }>;
}

/** Of what is looked for: who reports it, and about which object. */
export interface ReportOf {
  readonly controller: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

/** What an operator finds of one report. */
export interface Report {
  /** All log lines of the reason about the object. */
  readonly lines: readonly LogEntry[];
  readonly event: Event;
  /** How often the controller has reported this reason, of all objects. */
  readonly count: number;
}

/**
 * Waits until a reason is reported of an object in log, Event and metric, and checks what holds of each report: the Event is about that
 * very object, has the type that the log line's level says, and message and source agree with the line. @throws Error when it is not reported
 */
export async function reported(hub: ReportingHub, reason: Reason, of: ReportOf): Promise<Report> {
  const object = [of.kind, ...(of.namespace === undefined ? [] : [of.namespace]), of.name].join("/");
  const linesNow = (): readonly LogEntry[] =>
    hub.log.filter((entry) => entry["reason"] === reason && entry["object"] === object);
  const line = await eventually(`the log line ${reason} of ${object}`, async () => linesNow().at(-1));
  const selector = encodeURIComponent(`reason=${reason},involvedObject.name=${of.name},involvedObject.kind=${of.kind}`);
  const namespace = of.namespace ?? "default";
  const event = await eventually(`the Event ${reason} of ${object}`, async () => {
    const { text } = await hub.read(`/api/v1/namespaces/${namespace}/events?fieldSelector=${selector}`);
    return (JSON.parse(text) as { readonly items: readonly ApiObject[] }).items[0] as Event | undefined;
  });
  const metric = new RegExp(
    `^pratique_controller_events_total\\{controller="${of.controller}",reason="${reason}"\\} (\\d+)$`,
    "m",
  );
  const count = await eventually(
    `the count of ${reason}`,
    async () => metric.exec((await hub.read("/metrics")).text)?.[1],
  );
  expect(line).toMatchObject({ controller: of.controller, level: event.type === "Warning" ? "warn" : "info" });
  expect(event.message).toBe(line.message);
  expect(event.reportingComponent).toBe(`pratique.dev/${of.controller}`);
  expect(event.involvedObject.uid).toMatch(/^[0-9a-f-]{36}$/);
  return { lines: linesNow(), event, count: Number(count) };
}
