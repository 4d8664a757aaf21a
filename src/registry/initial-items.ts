import { StatusError } from "../apimachinery/status.ts";
import type { Resource } from "../apis/resource.ts";
import type { Entry } from "../storage/stored-object.ts";
import type { Backend } from "./backend.ts";
import { partsOf, type PartSize } from "./entry-parts.ts";
import type { Turn } from "./large-work.ts";
import { conversionFailed } from "./watch-filter.ts";
import type { Scope, WatchItem, WatchStart } from "./watch.ts";

/** What existed at the start: the next of it, none while more is looked through, `reported` behind its end. */
export interface InitialItems {
  take(max: number): readonly WatchItem[] | StatusError | "told";
}

/** Parsing and matching takes about 10 ms for each part. */
export const partSize: PartSize = { maxCharacters: 512 * 1024, maxEntries: 512 };
/** What a watch is of, and how it waits. */
export interface InitialOptions extends Scope {
  readonly backend: Backend;
  readonly resource: Resource;
  readonly start: WatchStart;
  readonly from: number;
  readonly turn: Turn;
  readonly wake: () => void;
}

/**
 * The state of this moment, held as references and looked through at the reader's pace.
 * @throws StatusError where the first of it cannot be converted
 */
export async function initialItems(options: InitialOptions): Promise<InitialItems> {
  const { backend, resource, prefix, key, selection, start, from, turn, wake } = options;
  const one = key === undefined ? undefined : backend.cache.get(key);
  const stored = key === undefined ? backend.cache.list(prefix) : one === undefined ? [] : [one];
  const isTakenWhole = selection.everything && resource.custom === undefined;
  const parts = isTakenWhole ? [stored] : partsOf(stored, partSize);
  const last: readonly WatchItem[] =
    start.state === "send-and-mark" ? [{ type: "BOOKMARK", revision: from, initialEnd: true }] : [];
  const look = async (part: readonly Entry[]): Promise<readonly Entry[]> => {
    const shown = await backend.versions.shownAll(resource, part);
    return selection.everything ? shown : shown.filter(selection.matches);
  };
  let ready: readonly Entry[] = await look(parts[0] ?? []);
  let [taken, part] = [0, 1];
  let state: "looking" | "marked" | StatusError | undefined;

  const lookOn = async (entries: readonly Entry[]): Promise<void> => {
    try {
      await turn();
      [ready, taken] = [await look(entries), 0];
      state = undefined;
    } catch (error) {
      state = error instanceof StatusError ? error : new StatusError("InternalError", conversionFailed);
    }
    wake();
  };
  return {
    take: (max) => {
      if (state instanceof StatusError) return state;
      if (state === "looking") return [];
      const entries = ready.slice(taken, taken + max);
      taken += entries.length;
      if (entries.length > 0) return entries.map((entry) => ({ type: "ADDED", entry, event: undefined }));
      const more = parts[part];
      if (more !== undefined) {
        part += 1;
        state = "looking";
        void lookOn(more);
        return [];
      }
      if (state === "marked" || last.length === 0) return "told";
      state = "marked";
      return last;
    },
  };
}
