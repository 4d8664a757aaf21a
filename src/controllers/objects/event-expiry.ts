import { versionOf } from "../object-status.ts";
import type { ControllerOptions } from "../shared-informers.ts";
import type { ObjectKey } from "../../apimachinery/object.ts";
import type { Event } from "../../apis/event.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome } from "../controller.ts";
import { events } from "../kinds.ts";

const serviceAccount = "event-expiry-controller";

/** How long an Event is kept after it was last counted, as kube-apiserver's `--event-ttl`. */
const ttlMs = 3_600_000;

/** Deletes Events that are an hour old, as an etcd lease does in Kubernetes. Without it, a client that may write Events fills the store. */
export function eventExpiry({ informers, clock }: ControllerOptions): Controller {
  const { client, reader } = informers.as(serviceAccount);
  const all = reader({ resource: events });

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const event = all.get(key) as Event | undefined;
    if (event === undefined) return done;
    const left = lastTime(event, clock.now()) + ttlMs - clock.now();
    if (left > 0) return { kind: "requeue", afterMs: left, why: "it is not old yet" };
    // An Event that has just been counted up is kept.
    await ignoreReasons(client.delete(events, key, { preconditions: versionOf(event) }), "NotFound", "Conflict");
    return done;
  }

  return { name: "event-expiry", serviceAccount, watches: [{ resource: events }], concurrency: 8, reconcile };
}

/** When it was last seen, in milliseconds since the epoch. Future times are ignored: such an Event would never expire. */
function lastTime({ metadata, lastTimestamp, eventTime, series }: Event, now: number): number {
  const times = [metadata.creationTimestamp, lastTimestamp, eventTime, series?.lastObservedTime]
    .map((time) => Date.parse(time ?? ""))
    .filter((time) => time <= now);
  return Math.max(0, ...times);
}
