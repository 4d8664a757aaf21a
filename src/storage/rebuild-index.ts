import type { KeyIndex } from "./key-index.ts";
import type { RevisionLog } from "./revision-log.ts";
import { StorageError, type StoreEvent } from "./store.ts";

/**
 * Fills an empty index from a log, and proves on the way that the log is whole: an unbroken sequence of revisions up to the last
 * one, no record too few or too many, and each a change that was possible after those before it.
 * @throws StorageError corrupt, naming the place and what contradicts what.
 */
export function rebuildIndex(log: RevisionLog, index: KeyIndex): void {
  const { last, count, compacted, trimmed } = log.header;
  if (trimmed > compacted || compacted > last) {
    throw corrupt(log, `it is compacted to ${compacted} and trimmed to ${trimmed}, but its last revision is ${last}`);
  }
  let records = 0;
  let expected = trimmed + 1;
  for (const event of log.scan()) {
    records += 1;
    const { key, revision } = event;
    if (revision <= trimmed) {
      if (event.type !== "put" || index.latest(key) !== 0) throw corrupt(log, `revision ${revision} should be gone`);
      index.restore(key, revision);
      continue;
    }
    if (revision !== expected) throw corrupt(log, `revision ${expected} is missing`);
    if (!possible(event, index.latest(key))) throw corrupt(log, `revision ${revision} contradicts those before it`);
    expected += 1;
    index.apply(key, event.type === "put" ? revision : -revision);
  }
  if (expected !== last + 1) throw corrupt(log, `its last revision is ${expected - 1}, but should be ${last}`);
  if (records !== count) throw corrupt(log, `it has ${records} records, but should have ${count}`);
}

// A creation follows a deletion or nothing; everything else follows a put. `latest` is signed, as in the index.
function possible(event: StoreEvent, latest: number): boolean {
  const absent = latest <= 0;
  return event.type === "put" ? event.created === absent : !absent;
}

function corrupt(log: RevisionLog, what: string): StorageError {
  return new StorageError(
    "corrupt",
    `the store in ${log.place} is damaged: ${what}; restore the directory from a backup, or move it away to start with an empty store`,
  );
}
