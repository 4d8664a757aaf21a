import { createSortedKeys } from "./sorted-keys.ts";
import type { RevisionLog } from "./revision-log.ts";
import { damagedStore, type StoreEvent } from "./store.ts";

/**
 * Which revisions each key has, in memory; values are elsewhere. A revision is written with a sign:
 * positive where a value was put, negative where the key was deleted, 0 for never.
 */
export interface KeyIndex {
  /** Adds the record of a revision at or below the trimmed one, which is the only one of its key. */
  restore(key: string, revision: number): void;
  /** Adds the next revision, negative for a deletion. Revisions come in order and without gaps. */
  apply(key: string, signed: number): void;
  /** The newest revision of a key, signed. */
  latest(key: string): number;
  /** The revision whose value `key` has as of `revision`; 0 when it has none. */
  at(key: string, revision: number): number;
  /** Keys under a prefix that have a value as of a revision, in key order. */
  page(query: PageQuery): Page;
  /** The key of a revision above the trimmed one. */
  keyOf(revision: number): string | undefined;
  /** Removes superseded revisions at or below `through`, and returns the revisions whose records are no longer needed. */
  trim(through: number): number[];
}

export interface PageQuery {
  readonly prefix: string;
  /** Only keys after this one. */
  readonly after: string | undefined;
  readonly revision: number;
  /** Stops after this many keys, with a value or without. */
  readonly budget: number;
}

export interface Page {
  readonly found: readonly { readonly key: string; readonly revision: number }[];
  /** The key to continue after; undefined at the end. */
  readonly resume: string | undefined;
}

interface History {
  readonly key: string;
  /** Signed, ascending by magnitude. */
  revisions: number[];
}

/** An empty index, whose first `apply` is the revision after `trimmed`. */
export function createKeyIndex(trimmed: number): KeyIndex {
  const histories = new Map<string, History>();
  const sorted = createSortedKeys<History>();
  const journal = createJournal<History>(trimmed);

  const historyOf = (key: string): History => {
    const known = histories.get(key);
    if (known !== undefined) return known;
    const history: History = { key, revisions: [] };
    histories.set(key, history);
    sorted.add(history);
    return history;
  };

  return {
    restore(key, revision) {
      historyOf(key).revisions.push(revision);
    },

    apply(key, signed) {
      const history = historyOf(key);
      history.revisions.push(signed);
      journal.push(history);
    },

    latest: (key) => histories.get(key)?.revisions.at(-1) ?? 0,

    at: (key, revision) => putAsOf(histories.get(key)?.revisions ?? [], revision),

    page({ prefix, after, revision, budget }) {
      const found: { key: string; revision: number }[] = [];
      const from =
        after !== undefined && after >= prefix ? { key: after, exclusive: true } : { key: prefix, exclusive: false };
      let resume: string | undefined;
      let seen = 0;
      sorted.walk(from, (history) => {
        if (!history.key.startsWith(prefix)) return false;
        const put = putAsOf(history.revisions, revision);
        if (put > 0) found.push({ key: history.key, revision: put });
        seen += 1;
        if (seen < budget) return true;
        resume = history.key;
        return false;
      });
      return { found, resume };
    },

    keyOf: (revision) => journal.at(revision)?.key,

    trim(through) {
      const touched = new Set<History>();
      journal.shift(through, (history) => touched.add(history));
      const gone: number[] = [];
      for (const history of touched) {
        const { revisions } = history;
        let dropped = countThrough(revisions, through) - 1;
        if ((revisions[dropped] ?? 0) < 0) dropped += 1;
        if (dropped === 0) continue;
        for (const signed of revisions.splice(0, dropped)) gone.push(Math.abs(signed));
        if (revisions.length === 0) {
          histories.delete(history.key);
          sorted.remove(history.key);
        }
      }
      return gone;
    },
  };
}

function putAsOf(revisions: readonly number[], revision: number): number {
  const latest = revisions.at(-1) ?? 0;
  const signed = Math.abs(latest) <= revision ? latest : (revisions[countThrough(revisions, revision) - 1] ?? 0);
  return signed > 0 ? signed : 0;
}

/** How many of the revisions are at or below `through`. */
function countThrough(revisions: readonly number[], through: number): number {
  let low = 0;
  let high = revisions.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (Math.abs(revisions[middle] ?? 0) <= through) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A queue addressed by revision, from which the oldest are removed. */
function createJournal<T>(start: number): {
  push(item: T): void;
  at(revision: number): T | undefined;
  shift(through: number, visit: (item: T) => void): void;
} {
  let items: T[] = [];
  let base = start;
  let head = 0;
  return {
    push: (item) => void items.push(item),
    at: (revision) => items[revision - base - 1],
    shift(through, visit) {
      const end = Math.min(through - base, items.length);
      for (; head < end; head += 1) {
        const item = items[head];
        if (item !== undefined) visit(item);
      }
      // Cut in halves, so that the copying is a constant share of the shifting.
      if (head * 2 < items.length) return;
      items = items.slice(head);
      base += head;
      head = 0;
    },
  };
}

/**
 * Fills an empty index from a log, and verifies that the log is complete: an unbroken sequence of revisions up to the last
 * one, no record too few or too many, and each a change that was possible after those before it.
 * @throws StorageError corrupt, naming the place and the contradiction.
 */
export function rebuildIndex(log: RevisionLog, index: KeyIndex): void {
  const { last, count, trimmed } = log.header;
  checkHeader(log);
  let records = 0;
  let expected = trimmed + 1;
  for (const event of log.scan()) {
    records += 1;
    const { key, revision } = event;
    if (revision <= trimmed) {
      if (event.type !== "put" || index.latest(key) !== 0)
        throw damagedStore(log.place, `revision ${revision} should be gone`);
      index.restore(key, revision);
      continue;
    }
    if (revision !== expected) throw damagedStore(log.place, `revision ${expected} is missing`);
    if (!possible(event, index.latest(key)))
      throw damagedStore(log.place, `revision ${revision} contradicts those before it`);
    expected += 1;
    index.apply(key, event.type === "put" ? revision : -revision);
  }
  if (expected !== last + 1)
    throw damagedStore(log.place, `its last revision is ${expected - 1}, but should be ${last}`);
  if (records !== count) throw damagedStore(log.place, `it has ${records} records, but should have ${count}`);
}

function checkHeader({ header, place }: RevisionLog): void {
  const { last, compacted, trimmed } = header;
  if (trimmed <= compacted && compacted <= last) return;
  throw damagedStore(
    place,
    `it is compacted to ${compacted} and trimmed to ${trimmed}, but its last revision is ${last}`,
  );
}

// A creation follows a deletion or nothing; everything else follows a put. `latest` is signed, as in the index.
function possible(event: StoreEvent, latest: number): boolean {
  const absent = latest <= 0;
  return event.type === "put" ? event.created === absent : !absent;
}
