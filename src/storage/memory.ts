import { openMvcc } from "./mvcc.ts";
import type { Store, StoreEvent } from "./store.ts";
import { emptyHeader, type LogHeader, type RevisionLog } from "./revision-log.ts";

/** A store that lives as long as its process: for tests, and for a hub that shall leave nothing behind. */
export async function openMemory(): Promise<Store> {
  return openMvcc(createMemoryLog());
}

/** A log in memory, which outlasts its closing: opening a store over it once more finds what was committed. */
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
