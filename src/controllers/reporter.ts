import type { Client } from "../client/client.ts";
import { logEntry } from "../apimachinery/log-entry.ts";
import type { Reason } from "../apimachinery/reasons.ts";
import type { EventRecorder } from "./event-recorder.ts";
import type { RunOptions } from "./runner.ts";
import type { Report } from "./report.ts";

export interface ReporterOptions {
  readonly controller: string;
  /** Writes the Events, under the controller's own account. */
  readonly client: Client;
  readonly record: EventRecorder;
  readonly log: RunOptions["log"];
  readonly count?: ((controller: string, reason: Reason) => void) | undefined;
}

/** Reports; `goesWithObject` says that the Event ends with its object. */
export type Reporter = (report: Report, goesWithObject?: boolean) => Promise<void>;

/** One log line, one Event and one count for each report; nothing where it was reported before and is to be once. Never rejects. */
export function reporter({ controller, client, record, log, count }: ReporterOptions): Reporter {
  let hasFailed = false;
  return async (report, goesWithObject = false) => {
    const { reason, about, message, details = {} } = report;
    const recorded = await record({ client, controller, goesWithObject }, report);
    if (recorded.kind === "known") return;
    count?.(controller, reason);
    const fields = Object.entries(details).map(([name, value]) => [name, shortened(value)] as const);
    const object = shortened(objectText(about));
    log(logEntry(reason, shortened(message), { controller, object, ...Object.fromEntries(fields) }));
    // Once, until one is written again: the line above has all that the Event would say.
    if (recorded.kind === "failed" && !hasFailed) {
      const { error } = recorded;
      log(logEntry("EventWriteFailed", "the controller cannot write Events", { controller, error }), error);
    }
    hasFailed = recorded.kind === "failed";
  };
}

function objectText({ kind = "", namespace, name = "" }: Report["about"]): string {
  return namespace === undefined ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

const maxText = 512;

/** Names and reasons of strangers may be long; the log escapes them. */
function shortened<T>(value: T): T | string {
  return typeof value === "string" && value.length > maxText ? `${value.slice(0, maxText)}…` : value;
}

const maxObstacles = 10_000;

/** Why keys are blocked, so that each reason is reported when it begins and when it becomes another. */
export interface ObstacleMemory {
  readonly isNew: (key: string, because: Report) => boolean;
  readonly forget: (key: string) => void;
}

/** Nothing is blocked yet; the key that was noted least lately is forgotten first. */
export function obstacleMemory(): ObstacleMemory {
  const known = new Map<string, string>();
  return {
    isNew: (key, { reason, message }) => {
      const text = `${reason} ${message}`;
      if (known.get(key) === text) return false;
      known.delete(key);
      known.set(key, text);
      const [oldest] = known.keys();
      if (known.size > maxObstacles && oldest !== undefined) known.delete(oldest);
      return true;
    },
    forget: (key) => void known.delete(key),
  };
}
