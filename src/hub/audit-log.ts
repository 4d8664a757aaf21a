import { createWriteStream, type WriteStream } from "node:fs";
import type { AuditSink } from "../http/audit.ts";

/** An audit log on disk. */
export interface AuditLog {
  readonly write: AuditSink;
  /** Resolves when everything written is with the operating system. */
  close(): Promise<void>;
}

/** Lines waiting for a slow disk, in bytes, before requests are told apart by `dropped`. */
const mostWaiting = 64 << 20;

/**
 * Appends to `path`, readable by its owner only. While the disk is so slow that 64 MiB wait, lines are dropped and counted; the count
 * is written once it moves again. `failed` hears of a disk that refuses.
 */
export async function openAuditLog(path: string, failed: (error: Error) => void): Promise<AuditLog> {
  const stream = createWriteStream(path, { flags: "a", mode: 0o600 });
  await opened(stream);
  stream.on("error", failed);
  let dropped = 0;
  return {
    write: (line) => {
      if (stream.writableLength > mostWaiting) {
        dropped += 1;
        return;
      }
      if (dropped > 0) {
        stream.write(`${JSON.stringify({ kind: "Dropped", count: dropped })}\n`);
        dropped = 0;
      }
      stream.write(line);
    },
    close: () => new Promise((resolve) => stream.end(() => resolve())),
  };
}

function opened(stream: WriteStream): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.once("open", () => resolve());
    stream.once("error", reject);
  });
}
