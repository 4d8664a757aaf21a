import type { AuditedRequest } from "../apiserver/audit/audited-request.ts";
import { readAuditedRequest } from "../apiserver/audit/audited-request.ts";
import { auditLines } from "./audit-lines.ts";
import type { NamedFiles } from "../host/read-text.ts";

/** What lines of the logs were not replayed. */
export interface NotReplayed {
  /** Events without a decision: not authenticated, or refused before. */
  undecided: number;
  /** Further events of requests that were counted before: the end of a watch. */
  repeated: number;
  /** Lines that are no event, or too long. */
  unreadable: number;
  /** The first of those: `audit.log:17`. */
  firstUnreadable: string | undefined;
}

/** How many requests are remembered, so that one which is told of in two stages or files counts once. */
const remembered = 200_000;

/** The authorized requests in the files, in their order, each once; what was left out is counted in `left`. @throws CliError usage */
export async function* replayedRequests(
  files: readonly string[],
  where: Pick<NamedFiles, "cwd">,
  left: NotReplayed,
): AsyncGenerator<AuditedRequest> {
  const recent = recentIds(remembered);
  // A watch may end long after it began.
  const open = recentIds(remembered);
  for (const file of files) {
    let number = 0;
    for await (const line of auditLines(file, where)) {
      number += 1;
      if (line?.length === 0) continue;
      const read = line === undefined ? "unreadable" : readAuditedRequest(parsed(line));
      if (typeof read !== "object") {
        if (read === "unreadable") {
          left.unreadable += 1;
          left.firstUnreadable ??= `${file}:${number}`;
        } else if (read === "undecided") left.undecided += 1;
        continue;
      }
      // Clients choose audit ids, and must not hide one request behind another; all stages of one have its time.
      const id = `${read.auditId} ${read.time}`;
      if (read.auditId !== "" && (recent.has(id) || open.take(id))) {
        left.repeated += 1;
        continue;
      }
      recent.add(id);
      if (read.stage === "ResponseStarted") open.add(id);
      yield read;
    }
  }
}

/** JSON, or undefined. */
function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8")) as unknown;
  } catch {
    return undefined;
  }
}

interface RecentIds {
  readonly has: (id: string) => boolean;
  readonly add: (id: string) => void;
  /** Whether it was there; it is not any more. */
  readonly take: (id: string) => boolean;
}

/** At most so many; the oldest go first. */
function recentIds(capacity: number): RecentIds {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add: (id) => {
      ids.add(id);
      for (const oldest of ids) {
        if (ids.size <= capacity) return;
        ids.delete(oldest);
      }
    },
    take: (id) => ids.delete(id),
  };
}
