import type { LogChange, RevisionLog } from "../../src/storage/revision-log.ts";
import { StorageError } from "../../src/storage/store.ts";

/** What becomes of one commit: it succeeds, fails with nothing written, fails though all is written, or leaves something else. */
export type CommitFault = "none" | "absent" | "present" | "foreign";

/** A log whose faults are told in advance. */
export interface FaultyLog {
  readonly log: RevisionLog;
  /** The faults of the next commits, in order; after them all succeed. */
  readonly commits: CommitFault[];
  /** How often establishing fails from now on. */
  establishFailures: number;
  /** The room that is left, in writes; it is given back by making it larger. */
  room: number;
  /** Everything that was durably there at some time, by revision. */
  readonly written: Map<number, LogChange["append"][number]>;
}

/** Puts faults before a log that has none. */
export function faultyLog(inner: RevisionLog, errno = "EIO"): FaultyLog {
  const failure = (): Error => Object.assign(new TypeError(`${errno}: the disk refuses`), { code: errno });
  const faulty: FaultyLog = {
    commits: [],
    establishFailures: 0,
    room: Number.POSITIVE_INFINITY,
    written: new Map(),
    log: {
      header: inner.header,
      place: inner.place,
      async commit(change) {
        const fault = faulty.commits.shift() ?? "none";
        if (fault === "absent") throw failure();
        if (fault === "foreign") {
          const header = { ...change.header, last: change.header.last + 7, count: change.header.count + 7 };
          await inner.commit({ append: [], remove: [], header });
          throw failure();
        }
        for (const event of change.append) faulty.written.set(event.revision, event);
        await inner.commit(change);
        faulty.room -= change.append.length;
        if (fault === "present") throw failure();
      },
      async establish() {
        faulty.establishFailures -= 1;
        if (faulty.establishFailures >= 0) throw failure();
        return inner.establish();
      },
      hasRoom: (change, reserve) => faulty.room >= change.append.length + (reserve > 0 ? 3 : 0),
      async makeRoom(change, reserve) {
        if (!faulty.log.hasRoom(change, reserve)) throw new StorageError("full", "no room in memory");
      },
      usage: () => inner.usage(),
      read: (revision) => inner.read(revision),
      scan: () => inner.scan(),
      close: () => inner.close(),
    },
  };
  return faulty;
}
