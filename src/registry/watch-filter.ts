import { StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import type { Entry } from "../storage/stored-object.ts";
import type { CacheEvent, Subscription } from "../storage/watch-cache.ts";
import type { EntryVersions } from "./conversion.ts";

/** A change with its objects in the version that is watched. */
export interface SeenChange {
  readonly event: CacheEvent;
  readonly entry: Entry;
  readonly previous: Entry | undefined;
}

/** The changes of a subscription as a version of a kind shows them. */
export interface SeenChanges {
  /** The next ones, none if there are none; `pending` while a webhook converts them, which ends with a call of `wake`. */
  take(max: number): readonly SeenChange[] | "pending" | "expired" | StatusError;
}

/** What a watch ends with where a conversion failed for no reason that may be told. */
export const conversionFailed = "Internal error occurred: conversion failed";

/** How many changes are converted at once, and how many characters they have together, unless a single one has more. */
const convertedAtOnce = { max: 64, characters: 512 * 1024 } as const;

/** Reads a subscription; nothing is read ahead but the changes that a webhook converts at the moment. */
export function seenChanges(
  subscription: Pick<Subscription, "take">,
  about: { readonly versions: EntryVersions; readonly resource: Resource; readonly wake: () => void },
): SeenChanges {
  const { versions, resource, wake } = about;
  const { custom } = resource;
  if (custom === undefined) {
    return {
      take: (max) => {
        const events = subscription.take(max);
        return events === "expired" ? events : events.map(asItIs);
      },
    };
  }
  let ready: readonly SeenChange[] = [];
  let pending = false;
  let failure: StatusError | undefined;

  async function convert(converting: Promise<readonly SeenChange[]>): Promise<void> {
    try {
      ready = await converting;
    } catch (error) {
      failure = error instanceof StatusError ? error : new StatusError("InternalError", conversionFailed);
    }
    pending = false;
    wake();
  }

  return {
    take: (max) => {
      if (failure !== undefined) return failure;
      if (pending) return "pending";
      if (ready.length > 0) {
        const taken = ready.slice(0, max);
        ready = ready.slice(max);
        return taken;
      }
      const events = takeSome(subscription);
      if (events === "expired") return events;
      if (events.length === 0) return [];
      const now = seen(versions, resource, events);
      if (!(now instanceof Promise)) {
        ready = now.slice(max);
        return now.slice(0, max);
      }
      pending = true;
      void convert(now);
      return "pending";
    },
  };
}

/** As many events as are converted at once. */
function takeSome(subscription: Pick<Subscription, "take">): readonly CacheEvent[] | "expired" {
  const events: CacheEvent[] = [];
  let characters = 0;
  while (events.length < convertedAtOnce.max && characters < convertedAtOnce.characters) {
    const taken = subscription.take(1);
    if (taken === "expired") return events.length === 0 ? taken : events;
    if (taken.length === 0) break;
    events.push(...taken);
    characters += taken.reduce((sum, { entry }) => sum + entry.json.length, 0);
  }
  return events;
}

function asItIs(event: CacheEvent): SeenChange {
  return { event, entry: event.entry, previous: event.previous };
}

function seen(
  versions: EntryVersions,
  resource: Resource,
  events: readonly CacheEvent[],
): readonly SeenChange[] | Promise<readonly SeenChange[]> {
  const entries = events.flatMap(({ entry, previous }) => (previous === undefined ? [entry] : [entry, previous]));
  const joined = (shown: readonly Entry[]): readonly SeenChange[] => {
    let at = 0;
    const next = (): Entry => shown[at++] as Entry;
    return events.map((event) => {
      const entry = next();
      return { event, entry, previous: event.previous === undefined ? undefined : next() };
    });
  };
  const all = versions.shownAll(resource, entries);
  return all instanceof Promise ? all.then(joined) : joined(all);
}
