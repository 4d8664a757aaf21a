import { openMvcc } from "./mvcc.ts";
import type { Store, StoreEvent } from "./store.ts";
import { emptyHeader, type LogHeader, type RevisionLog } from "./revision-log.ts";

/** A store with the lifetime of its process: for tests, and for a hub that must leave nothing behind. */
export async function openMemory(): Promise<Store> {
  return openMvcc(createMemoryLog());
}

/** A log in memory, which outlasts its closing: a store opened over it again has all commits. */
export function createMemoryLog(): RevisionLog {
  const records = new Map<number, StoreEvent>();
  let header: LogHeader = emptyHeader;
  return {
    get header() {
      return header;
    },
    place: "memory",
    async commit(change) {
      for (const event of change.append) records.set(event.revision, event);
      for (const revision of change.remove) records.delete(revision);
      header = change.header;
    },
    establish: async () => header,
    hasRoom: () => true,
    makeRoom: async () => undefined,
    usage: async () => ({ sizeBytes: 0, usedBytes: 0, freeBytes: undefined, quotaBytes: undefined }),
    read: (revision) => records.get(revision),
    scan: () => records.values(),
    async close() {},
  };
}
